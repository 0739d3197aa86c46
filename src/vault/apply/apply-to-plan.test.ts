import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, EntryType } from '../tree/tree.js';
import { fitSteps, type Held, obstacles } from './apply-to-plan.js';

function change(kind: Change['kind'], type: EntryType, path: string): Change {
  return { kind, type, mode: 0o644, size: 0, content: true, stamp: '', path };
}

const held = (entries: Readonly<Record<string, EntryType>>): Held => new Map(Object.entries(entries));

test('files the fork never saw below a directory it deletes stand in the way, and are never deleted', () => {
  const changes = [change('deleted', 'directory', 'd'), change('deleted', 'file', 'd/f')];
  const there = held({ d: 'directory', 'd/f': 'file', 'd/mine': 'file' });
  assert.deepEqual(obstacles(changes, there), ['d/mine']);
  const steps = [
    { action: 'remove', path: 'd/f' },
    { action: 'remove', path: 'd' },
  ] as const;
  const fit = fitSteps(steps, changes, there);
  assert.deepEqual(fit.steps, [{ action: 'remove', path: 'd/f' }]);
  assert.deepEqual(
    fit.leftOut.map(({ path, code }) => [path, code]),
    [['d', 'ENOTEMPTY']],
  );
});

test('the same where a file replaces the directory', () => {
  const changes = [change('modified', 'file', 'd')];
  const there = held({ d: 'directory', 'd/mine': 'file' });
  assert.deepEqual(obstacles(changes, there), ['d/mine']);
  assert.deepEqual(fitSteps([{ action: 'put', path: 'd' }], changes, there).steps, []);
});

test('directories that are missing there are made, from the top down', () => {
  const changes = [change('added', 'file', 'a/b/c')];
  const fit = fitSteps([{ action: 'put', path: 'a/b/c' }], changes, held({}));
  assert.deepEqual(
    fit.steps.map(({ path }) => path),
    ['a', 'a/b', 'a/b/c'],
  );
  assert.deepEqual(obstacles(changes, held({})), []);
});

test('a directory that the fork made is one step, and those above it come before it', () => {
  const changes = [change('added', 'directory', 'a/b'), change('added', 'file', 'a/b/c'), change('added', 'file', 'd')];
  const steps = changes.map(({ path }) => ({ action: 'put', path }) as const);
  const paths = (there: Held) => fitSteps(steps, changes, there).steps.map(({ path }) => path);
  assert.deepEqual(paths(held({})), ['a', 'a/b', 'a/b/c', 'd']);
  assert.deepEqual(paths(held({ a: 'directory' })), ['a/b', 'a/b/c', 'd']);
});

test('a link or a file where a directory is needed stands in the way', () => {
  const changes = [change('added', 'file', 'a/b/c')];
  assert.deepEqual(obstacles(changes, held({ a: 'symlink' })), ['a']);
  assert.deepEqual(obstacles(changes, held({ a: 'directory', 'a/b': 'file' })), ['a/b']);
});
