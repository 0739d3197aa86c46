import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyHeap, applyMemory } from '../../base/limits/store.js';
import { appliedChangesNow, changesThatFit } from './change-room.js';

const gigabyte = 1024 ** 3;

test('the least of heap, control group and free memory says how many changes fit', () => {
  const fitting = (bytes: number, { spareBytes, changeBytes }: typeof applyMemory | typeof applyHeap = applyMemory) =>
    Math.floor((bytes - spareBytes) / changeBytes);
  assert.equal(changesThatFit({ heap: 4 * gigabyte, group: 0, free: 20 * gigabyte }), fitting(4 * gigabyte, applyHeap));
  assert.equal(changesThatFit({ heap: 4 * gigabyte, group: 2 ** 64, free: 2 * gigabyte }), fitting(2 * gigabyte));
  assert.equal(changesThatFit({ heap: 4 * gigabyte, group: gigabyte, free: 20 * gigabyte }), fitting(gigabyte));
  assert.equal(changesThatFit({ heap: gigabyte, group: 1024, free: gigabyte }), 1, 'never none at all');
});

test('here there is room for some', () => {
  assert.ok(appliedChangesNow() > 1000);
});
