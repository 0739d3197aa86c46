import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathWithin, rootOf, shownPath } from './root-paths.js';

const roots = { workspace: '/home/ada/project', abc: '/data', abd: '/data/inner' };

test('paths of the workspace are shown as they are in it, others in full, and each leads back', () => {
  for (const [key, path, shown] of [
    ['workspace', 'src/a', 'src/a'],
    ['workspace', '.', '.'],
    ['abc', 'x', '/data/x'],
    ['abc', '.', '/data'],
  ] as const) {
    assert.equal(shownPath(roots, key, path), shown);
    assert.deepEqual(rootOf(roots, shown), [key, path]);
  }
});

test('a path is of the most specific root, and of none where no root holds it', () => {
  assert.deepEqual(rootOf(roots, '/data/inner/x'), ['abd', 'x']);
  assert.equal(rootOf(roots, '/database'), undefined);
  assert.equal(pathWithin(roots, 'abc', '/database'), undefined);
  assert.equal(pathWithin(roots, 'workspace', '/data'), undefined);
});
