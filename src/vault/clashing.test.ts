import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addParents, clashing } from './clashing.js';

const changes = (...paths: readonly string[]) => paths.map((path) => ({ path }));

test('a path clashes with a change at it, above it or below it, and with nothing beside it', () => {
  const entered = ['a', 'a/b', 'a/b/c', 'a/b/c/d/e', 'a/bc', 'ab', 'x/y', 'x'];
  assert.deepEqual(clashing(entered, changes('a/b/c')), ['a', 'a/b', 'a/b/c', 'a/b/c/d/e']);
  assert.deepEqual(clashing(entered, changes('x')), ['x/y', 'x']);
  assert.deepEqual(clashing(entered, []), []);
  assert.deepEqual(clashing([], changes('x')), []);
});

test('parents are added once each', () => {
  const directories = new Set(['a', 'a/b']);
  addParents('a/b/c/file', directories);
  addParents('file', directories);
  assert.deepEqual([...directories], ['a', 'a/b', 'a/b/c']);
});

test('trees of thousands of levels on both sides are compared at once', () => {
  const deep = (name: string) => Array.from({ length: 4000 }, (_, level) => `${'directory/'.repeat(level)}${name}`);
  const found = clashing([...deep('mine'), ...deep('both')], changes(...deep('theirs'), ...deep('both')));
  assert.equal(found.length, 4000);
});
