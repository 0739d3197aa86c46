/** Locks of a file against a naive table: who has which byte, and how. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import type { FileSystem, LockRequest } from './filesystem.js';
import { checkLock, LockTable, waitForLock } from './locks.js';

const bytes = 8;
/** The last stands for all that are behind it. */
const places = Array.from({ length: bytes + 1 }, (_, at) => at);
const end = (last: number) => (last > bytes ? Infinity : last);

interface Step {
  readonly request: LockRequest;
  readonly handle: number;
  readonly inode: number;
  readonly releases: boolean;
}

const range = fc.tuple(fc.nat({ max: bytes }), fc.integer({ min: 1, max: bytes + 1 })).map(([start, length]) => ({
  start,
  end: end(Math.min(start + length, bytes + 1)),
}));
const step: fc.Arbitrary<Step> = fc
  .record({
    family: fc.constantFrom('ranges' as const, 'whole' as const),
    owner: fc.constantFrom('a', 'b', 'c'),
    kind: fc.constantFrom('shared' as const, 'exclusive' as const, 'none' as const),
    range,
    test: fc.constantFrom(true, false, undefined),
    inode: fc.constantFrom(1, 2),
    handle: fc.constantFrom(1, 2),
    releases: fc.constantFrom(true, false, false, false, false),
  })
  .map(({ family, owner, kind, range: of, test, inode, handle, releases }) => ({
    request: { family, owner, kind, ...(family === 'ranges' ? of : { start: 0, end: Infinity }), test },
    // A handle is of one file.
    handle: inode * 10 + handle,
    inode,
    releases,
  }));

class Naive {
  /** `inode family owner byte` to its kind. */
  readonly #held = new Map<string, string>();
  readonly #taken = new Map<number, Set<string>>();

  conflicts({ inode, request: { family, owner, kind, ...of } }: Step): boolean {
    if (kind === 'none') return false;
    return ['a', 'b', 'c'].some((other) =>
      places.some((at) => {
        const has = this.#held.get(`${inode} ${family} ${other} ${at}`);
        const isIn = at >= of.start && at < of.end;
        return other !== owner && isIn && has !== undefined && (kind === 'exclusive' || has === 'exclusive');
      }),
    );
  }

  take({ inode, handle, request: { family, owner, kind, ...of } }: Step): void {
    for (const at of places) {
      if (at < of.start || at >= of.end) continue;
      if (kind === 'none') this.#held.delete(`${inode} ${family} ${owner} ${at}`);
      else this.#held.set(`${inode} ${family} ${owner} ${at}`, kind);
    }
    if (kind === 'none') return;
    this.#taken.set(handle, (this.#taken.get(handle) ?? new Set()).add(`${inode} ${family} ${owner}`));
  }

  release(handle: number): void {
    for (const whose of this.#taken.get(handle) ?? []) for (const at of places) this.#held.delete(`${whose} ${at}`);
    this.#taken.delete(handle);
  }
}

describe('locks of a file', () => {
  it('are as if each byte had its own, and end with the handle they were taken through', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30, size: 'max' }), (steps) => {
        const table = new LockTable();
        const naive = new Naive();
        for (const each of steps) {
          const { request, inode, handle } = each;
          if (each.releases) {
            table.released(handle);
            naive.release(handle);
            continue;
          }
          const found = table.lock(inode, handle, request);
          assert.equal(found !== undefined, naive.conflicts(each), JSON.stringify(request));
          if (found !== undefined) {
            assert.ok(found.start < request.end && request.start < found.end);
            assert.ok(request.kind === 'exclusive' || found.kind === 'exclusive');
          } else if (request.test !== true) naive.take(each);
        }
      }),
      seeded(1500),
    );
  });

  it('are as many as a file may have; one that continues another is none more', () => {
    const request = (start: number, owner = 'a', kind: LockRequest['kind'] = 'shared') =>
      ({ family: 'ranges', owner, kind, start, end: start + 1 }) as const;
    const most = 8;
    const apart = new LockTable(most);
    for (let each = 0; each < most; each += 1) apart.lock(1, 1, request(2 * each));
    assert.throws(() => apart.lock(1, 1, request(2 * most)), { code: 'ENOLCK' });
    assert.deepEqual(apart.lock(1, 2, { ...request(0, 'b', 'exclusive'), end: Infinity, test: true }), {
      kind: 'shared',
      start: 0,
      end: 1,
    });
    assert.equal(apart.lock(2, 3, request(0)), undefined, 'another file has its own');
    for (const order of [(each: number) => each, (each: number) => most - each]) {
      const joined = new LockTable(most);
      for (let each = 0; each <= most; each += 1) joined.lock(1, 1, request(order(each)));
      const whole = { kind: 'shared', start: 0, end: most + 1 };
      assert.deepEqual(joined.lock(1, 2, { ...request(3, 'b', 'exclusive'), test: true }), whole);
    }
  });

  it('need a handle that is open for them, and a range', () => {
    const ask = (more: Partial<LockRequest>, read: boolean, write: boolean) =>
      checkLock({ family: 'ranges', owner: 'a', kind: 'shared', start: 0, end: 1, ...more }, { read, write });
    for (const [read, write] of [
      [true, false],
      [false, true],
      [true, true],
    ] as const) {
      for (const [kind, isOpen] of [
        ['shared', read],
        ['exclusive', write],
        ['none', true],
      ] as const) {
        if (isOpen) ask({ kind }, read, write);
        else assert.throws(() => ask({ kind }, read, write), { code: 'EBADF' });
        ask({ kind, family: 'whole', end: Infinity }, read, write);
      }
    }
    const [none, negative] = [{ code: 'EINVAL' }, { start: -1, end: 1 }];
    for (const range of [{ start: 1, end: 1 }, { start: 2, end: 1 }, negative]) {
      assert.throws(() => ask(range, true, true), none);
    }
    for (const range of [{ end: 5 }, { start: 1, end: Infinity }]) {
      ask(range, true, true);
      assert.throws(() => ask({ ...range, family: 'whole' }, true, true), none);
    }
  });

  it('are waited for until they are free, or given up', async () => {
    let tries = 0;
    const lock = () => {
      tries += 1;
      return tries < 4 ? ({ kind: 'shared', start: 0, end: 1 } as const) : undefined;
    };
    const filesystem = { lock } as unknown as FileSystem;
    const request: LockRequest = { family: 'ranges', owner: 'a', kind: 'shared', start: 0, end: 1 };
    await waitForLock(filesystem, 1, request, () => false);
    assert.equal(tries, 4);
    tries = 0;
    await assert.rejects(
      waitForLock(filesystem, 1, request, () => tries === 2),
      { code: 'EINTR' },
    );
  });
});
