import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { exchangedIds, identityShift, numberedIds, shiftedCount } from './id-maps.js';

/** As the kernel reads a map: what an id of the namespace is outside; undefined where it is nobody. */
function lookUp(map: string, id: number): number | undefined {
  for (const line of map.split('\n')) {
    const [first = 0, to = 0, count = 0] = line.split(' ').map(Number);
    if (id >= first && id < first + count) return id - first + to;
  }
  return undefined;
}

/** What the kernel refuses: an empty extent, and two that share an id on either side. */
function assertMap(map: string): void {
  const extents = map.split('\n').map((line) => line.split(' ').map(Number));
  for (const side of [0, 1]) {
    const sorted = extents.map((each) => [each[side] ?? 0, each[2] ?? 0] as const).sort(([a], [b]) => a - b);
    for (const [index, [first, count]] of sorted.entries()) {
      assert.ok(count > 0, map);
      const [next = Number.POSITIVE_INFINITY] = sorted[index + 1] ?? [];
      assert.ok(first + count <= next, map);
    }
  }
}

const last = shiftedCount - 1;
const edges = fc.constantFrom(0, 1, 2, 1000, last - 2, last - 1, last);
const id = fc.oneof(edges, fc.nat({ max: last }));

describe('the ids of root’s jails', () => {
  it('are below 2^31, and above what systems hand out', () => {
    assert.deepEqual([identityShift, shiftedCount], [0x70000000, 0x0ffe0000]);
    assert.ok(identityShift + shiftedCount < 2 ** 31);
  });

  it('change places in twos, each of the two with the other’s and no third with any', () => {
    fc.assert(
      fc.property(id, id, id, (one, other, third) => {
        const map = exchangedIds(one, other, identityShift);
        assertMap(map);
        assert.equal(lookUp(map, one + identityShift), other + identityShift);
        assert.equal(lookUp(map, other + identityShift), one + identityShift);
        if (third !== one && third !== other) assert.equal(lookUp(map, third + identityShift), third + identityShift);
        assert.equal(lookUp(map, third), third, 'what is not shifted stays');
        assert.equal(lookUp(map, identityShift + shiftedCount), undefined);
      }),
      seeded(300),
    );
  });

  it('have other numbers inside, shifted by as much, and none beyond the last', () => {
    fc.assert(
      fc.property(id, id, id, (inside, outside, third) => {
        const map = numberedIds(inside, outside, identityShift);
        assertMap(map);
        assert.equal(lookUp(map, inside), outside + identityShift);
        assert.equal(lookUp(map, outside), inside + identityShift);
        if (third !== inside && third !== outside) assert.equal(lookUp(map, third), third + identityShift);
        assert.equal(lookUp(map, shiftedCount), undefined);
      }),
      seeded(300),
    );
  });
});
