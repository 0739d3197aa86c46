/** Which files enter a fork with another time than the person's, before, at and after each time that counts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FileTime } from '../tree/tree.js';
import { type Entered, shiftsOf } from './entered-times.js';

/** Without git, so that a product is known by its name. */
const root = '/nonexistent';
const file = (path: string, modified: number, more: Partial<FileTime> = {}): FileTime => ({
  ...{ path, state: 'added', modified: BigInt(modified), before: 0n, links: undefined },
  ...more,
});
const shifts = (given: Partial<Entered>) => shiftsOf({ root, files: [], written: [], end: 0n, ...given });

describe('a source that enters a fork', () => {
  it('is newer than all that the fork wrote before its last command ended, and else as the person has it', () => {
    for (const [written, end] of [
      [10, 0],
      [10, 9],
      [0, 10],
      [9, 10],
      [10, 10],
    ] as const)
      for (const [modified, isLate] of [
        [9, true],
        [10, true],
        [11, false],
      ] as const) {
        const found = shifts({
          files: [file('a.c', modified), file('b.c', 99)],
          written: [file('a.o', written)],
          end: BigInt(end),
        });
        const what = `written at ${written}, ended at ${end}, saved at ${modified}`;
        assert.deepEqual(found, isLate ? [{ paths: ['a.c', 'b.c'] }] : [], what);
      }
  });

  it('is not compared with what the fork holds as it was', () => {
    const same = (before: number) => [file('a.o', 10, { state: 'same', before: BigInt(before) })];
    assert.deepEqual(shifts({ files: [file('a.c', 5)], written: same(10) }), []);
    assert.deepEqual(shifts({ files: [file('a.c', 5)], written: same(9) }), [{ paths: ['a.c'] }]);
  });
});

describe('a product that enters a fork', () => {
  it('is older than the first source that the fork changed, and else as the person has it', () => {
    for (const [modified, isLate] of [
      [9, false],
      [10, true],
      [11, true],
    ] as const) {
      const written = [file('b.c', 20), file('a.c', 10), file('made.o', 1)];
      const found = shifts({ files: [file('a.o', modified)], written, end: 5n });
      assert.deepEqual(found, isLate ? [{ paths: ['a.o'], before: 10n }] : [], `${modified}`);
    }
    assert.deepEqual(shifts({ files: [file('a.o', 30)], written: [file('b.o', 10)] }), []);
  });
});
