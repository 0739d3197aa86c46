/** How many changes one apply may hold in memory: it needs a list of all of them, and must not end half-way for want of memory. */
import { freemem } from 'node:os';
import { applyHeap, applyMemory } from '../../base/limits/store.js';

export interface MemoryFacts {
  /** What Node lets its heap grow to. */
  readonly heap: number;
  /** Of the control group; none where it is 0 or more than the machine has. */
  readonly group: number;
  /** What programs could still take. */
  readonly free: number;
}

/** Pure. */
export function changesThatFit({ heap, group, free }: MemoryFacts): number {
  const memory = Math.min(free, group > 0 ? group : Number.POSITIVE_INFINITY);
  const inHeap = (heap - applyHeap.spareBytes) / applyHeap.changeBytes;
  const inMemory = (memory - applyMemory.spareBytes) / applyMemory.changeBytes;
  return Math.max(1, Math.floor(Math.min(inHeap, inMemory)));
}

export function appliedChangesNow(): number {
  const { heap_size_limit: heap } = process.getBuiltinModule('node:v8').getHeapStatistics();
  return changesThatFit({ heap, group: process.constrainedMemory(), free: freemem() });
}
