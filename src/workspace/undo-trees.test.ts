import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Checkpoint, CheckpointTree } from '../vault/store/fork-meta.js';
import { treesToUndo } from './undo-trees.js';

const tree = (file: string, before: string, after: number): CheckpointTree => ({ file, before, after });
const checkpoint = (id: number, trees: readonly CheckpointTree[], undone?: true) =>
  ({ id, trees, ...(undone === undefined ? {} : { undone }) }) as unknown as Checkpoint;

describe('trees that a rollback takes back', () => {
  const all = [
    checkpoint(1, [tree('/a', 'a1', 10)]),
    checkpoint(2, [tree('/a', 'a2', 20), tree('/b', 'b2', 5)]),
    checkpoint(3, [], true),
    checkpoint(4, [tree('/a', 'a4', 40)], true),
    checkpoint(5, [tree('/a', 'a5', 50)]),
    { ...checkpoint(6, []), trees: undefined } as unknown as Checkpoint,
  ];
  const to = (id: number) => treesToUndo(all, all.find((each) => each.id === id) as Checkpoint);

  it('go to the oldest state since then, where they are in the newest', () => {
    assert.deepEqual(to(1), [tree('/a', 'a1', 50), tree('/b', 'b2', 5)]);
    assert.deepEqual(to(2), [tree('/a', 'a2', 50), tree('/b', 'b2', 5)]);
    assert.deepEqual(to(5), [tree('/a', 'a5', 50)]);
    assert.deepEqual(to(6), []);
  });

  it('are not those of commands that were undone before, but for the one that is gone back to', () => {
    assert.deepEqual(to(3), [tree('/a', 'a5', 50)]);
    assert.deepEqual(to(4), [tree('/a', 'a4', 50)]);
  });
});
