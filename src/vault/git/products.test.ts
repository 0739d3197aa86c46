import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ignoredBy, ignoreRules, productsIn } from './products.js';

test('products are what git ignores, and without git what is usually built', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'ctx-products-'));
  t.after(() => rmSync(root, { recursive: true }));
  const paths = ['main.c', 'main.o', 'lib/libx.so.1', 'target/debug/x', 'src/target.rs', 'x.made', 'd/keep.made'];
  const products = () => paths.filter(productsIn(root));
  assert.deepEqual(products(), ['main.o', 'lib/libx.so.1', 'target/debug/x']);
  mkdirSync(join(root, '.git'));
  assert.deepEqual(products(), []);
  mkdirSync(join(root, 'd'));
  writeFileSync(join(root, '.gitignore'), '*.made\n/target\n');
  writeFileSync(join(root, 'd/.gitignore'), '!keep.made\n');
  assert.deepEqual(products(), ['target/debug/x', 'x.made']);
});

test('a plain rule is of whole names, at any depth, and an ending of all that end so', () => {
  const isIgnored = ignoredBy((directory) => (directory === '' ? ignoreRules('out\n*.o\n*-old\ndir/\n') : []));
  for (const path of ['out', 'a/out', 'a/out/x', 'x.o', 'a/b/x.o', '.o', 'x-old', 'a/dir/x', 'dir/x'])
    assert.ok(isIgnored(path), path);
  for (const path of ['outx', 'xout', 'a/xout', 'out.c', 'a/outx/b', 'x.oo', 'o', 'dir', 'xdir/a', 'old'])
    assert.ok(!isIgnored(path), path);
});
