import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addParents, clashing, inConflict } from './clashing.js';
import type { Change } from './tree.js';

const change = (path: string, more: Partial<Change> = {}): Change => ({
  kind: 'modified',
  type: 'file',
  mode: 0o644,
  size: 1,
  content: true,
  stamp: '',
  path,
  ...more,
});
const changes = (...paths: readonly string[]) => paths.map((path) => change(path));
const directory = (path: string, more: Partial<Change> = {}) => change(path, { type: 'directory', ...more });

test('an edit clashes with a change at it or above it, and with nothing beside it', () => {
  const entered = ['a', 'a/b', 'a/b/c', 'a/b/c/d/e', 'a/bc', 'ab', 'x/y', 'x'];
  assert.deepEqual(clashing(entered, changes('a/b/c')), ['a/b/c', 'a/b/c/d/e']);
  assert.deepEqual(clashing(entered, changes('x')), ['x/y', 'x']);
  assert.deepEqual(clashing(entered, []), []);
  assert.deepEqual(clashing([], changes('x')), []);
});

test('a directory that only gets another mode clashes with nothing below it; one that is made or goes does', () => {
  const entered = ['d', 'd/file'];
  assert.deepEqual(clashing(entered, [directory('d', { content: false })]), ['d']);
  assert.deepEqual(clashing(entered, [directory('d')]), entered);
  assert.deepEqual(clashing(entered, [directory('d', { kind: 'deleted' })]), entered);
  assert.deepEqual(clashing(['d'], changes('d/file')), []);
});

test('a conflict over a mode is the directory’s own, one over whether it is there holds for what is below', () => {
  const found = (made: readonly Change[], open: readonly string[]) => inConflict(made, open).map(({ path }) => path);
  const mode = directory('d', { content: false });
  assert.deepEqual(found([mode, ...changes('d/a', 'd/b')], ['d']), ['d']);
  assert.deepEqual(found([mode, ...changes('d/a', 'd/b')], ['d/a']), ['d/a']);
  const made = directory('d', { kind: 'added' });
  assert.deepEqual(found([made, ...changes('d/a', 'd/b')], ['d']), ['d', 'd/a', 'd/b']);
  assert.deepEqual(found([directory('d', { kind: 'deleted' }), ...changes('d/a', 'd/b')], ['d/a']), ['d', 'd/a']);
  assert.deepEqual(found(changes('d/a'), ['d']), ['d/a'], 'where the fork has nothing there, nobody knows better');
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
