import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { mergedCount } from './flatten.js';

describe('which layers are merged', () => {
  it('is none while there are few', () => {
    assert.equal(
      mergedCount(
        Array.from({ length: 16 }, () => 1),
        16,
      ),
      0,
    );
  });

  it('is the small ones on top of a large one', () => {
    assert.equal(mergedCount([100_000, ...Array.from({ length: 16 }, () => 1)], 16), 16);
  });

  it('is always enough that the next command does not merge again', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 17, maxLength: 60 });
    fc.assert(
      fc.property(sizes, (list) => {
        const count = mergedCount(list, 16);
        assert.ok(count >= 8 && count <= list.length);
      }),
      seeded(300),
    );
  });

  it('stays in proportion to what is written, over many commands', () => {
    let stack: number[] = [];
    let moved = 0;
    const commands = 5_000;
    for (let command = 0; command < commands; command++) {
      stack.push(1);
      const count = mergedCount(stack, 16);
      if (count === 0) continue;
      const sum = stack.slice(-count).reduce((total, size) => total + size, 0);
      moved += sum;
      stack = [...stack.slice(0, -count), sum];
    }
    assert.ok(stack.length <= 17);
    assert.ok(moved < commands * Math.log2(commands), `${moved} entries moved for ${commands} written`);
  });
});
