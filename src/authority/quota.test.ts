/** Limits of every kind, on both sides. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lifetimeFault, lifetimeFields, makeLifetime, makeQuota, numberExcess, quotaFields } from './quota.js';

const refused = { name: 'ErrnoError', code: 'EINVAL' };
const never = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1];

describe('a quota', () => {
  it('has these members', () => {
    assert.deepEqual([...quotaFields], ['cpu', 'memory', 'pids', 'disk', 'inodes', 'wallTime']);
    assert.deepEqual([...lifetimeFields], ['expiresAt', 'uses']);
  });

  it('has positive numbers, and whole ones but for processors', () => {
    for (const field of quotaFields) {
      assert.deepEqual(makeQuota({ [field]: 1 }), { [field]: 1 });
      for (const value of [...never, 0, -0.5]) assert.throws(() => makeQuota({ [field]: value }), refused, field);
      if (field === 'cpu') assert.deepEqual(makeQuota({ cpu: 0.5 }), { cpu: 0.5 });
      else for (const value of [1.5, 2 ** 53]) assert.throws(() => makeQuota({ [field]: value }), refused, field);
    }
  });

  it('has no other member, and none that is left out', () => {
    assert.throws(() => makeQuota({ cpus: 1 } as never), refused);
    assert.throws(() => makeLifetime({ uses: 1, cpu: 1 } as never), refused);
    assert.deepEqual(Object.keys(makeQuota({ cpu: undefined, pids: 2 } as never)), ['pids']);
    assert.ok(Object.isFrozen(makeQuota({})) && Object.isFrozen(makeLifetime({})));
  });

  it('is exceeded by more, not by as much, and not where either has no limit', () => {
    for (const field of quotaFields) {
      const excess = (asked: number | undefined, held: number | undefined) =>
        numberExcess(quotaFields, { [field]: asked } as never, { [field]: held } as never);
      assert.deepEqual(excess(2, 1), [{ field, asked: 2, held: 1 }]);
      for (const [asked, held] of [
        [1, 1],
        [1, 2],
        [undefined, 1],
        [1, undefined],
      ])
        assert.deepEqual(excess(asked, held), []);
    }
  });
});

describe('a lifetime', () => {
  it('has whole numbers, and nothing may be left of it', () => {
    for (const field of lifetimeFields) {
      assert.deepEqual(makeLifetime({ [field]: 0 }), { [field]: 0 });
      for (const value of [...never, 0.5, 2 ** 53]) assert.throws(() => makeLifetime({ [field]: value }), refused);
    }
  });

  it('is over at its end, after the last use, and where clock or counter is not a number', () => {
    const at = (now: number, used: number) => lifetimeFault({ expiresAt: 10, uses: 3 }, now, used);
    assert.equal(at(9, 2), undefined);
    for (const now of [10, 11, Number.NaN]) assert.equal(at(now, 0), 'expired');
    for (const used of [3, 4, Number.NaN]) assert.equal(at(0, used), 'used up');
    assert.equal(at(10, 3), 'expired');
    assert.equal(lifetimeFault({}, Number.NaN, Number.NaN), undefined);
    assert.equal(lifetimeFault({ uses: 1 }, Number.NaN, 0), undefined);
    assert.equal(lifetimeFault({ expiresAt: 1 }, 0, Number.NaN), undefined);
    assert.equal(lifetimeFault({ expiresAt: 0 }, 0, 0), 'expired');
    assert.equal(lifetimeFault({ uses: 0 }, 0, 0), 'used up');
  });
});
