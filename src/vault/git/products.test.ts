import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { productsIn } from './products.js';

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
