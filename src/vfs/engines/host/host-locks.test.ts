/** The kernel's locks on a host file beside the table of locks that other engines have: whatever is asked, both answer alike. */
import assert from 'node:assert/strict';
import { closeSync, constants, mkdtempSync, openSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../../test/property/seeded.js';
import { nativeProgram } from '../../../base/native-program.js';
import type { Handle, LockRequest } from '../../filesystem.js';
import { LockTable } from '../../locks.js';
import { HostLocks } from './host-locks.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-host-locks-'));
const file = join(directory, 'file');
writeFileSync(file, 'content');
after(() => rmSync(directory, { recursive: true }));

const owners = ['a', 'b'] as const;
interface Step {
  readonly owner: (typeof owners)[number];
  readonly kind: LockRequest['kind'];
  readonly start: number;
  readonly length: number;
  readonly act: 'lock' | 'test' | 'whole' | 'test whole' | 'release';
}
const step: fc.Arbitrary<Step> = fc.record({
  owner: fc.constantFrom(...owners),
  kind: fc.constantFrom('shared' as const, 'exclusive' as const, 'none' as const),
  start: fc.nat({ max: 8 }),
  /** Ten is without an end. */
  length: fc.integer({ min: 1, max: 10 }),
  act: fc.constantFrom('lock', 'lock', 'lock', 'test', 'test', 'whole', 'test whole', 'release'),
});

/** Others of this process may be closed meanwhile. */
function descriptorsOf(path: string): number {
  return readdirSync('/proc/self/fd').filter((each) => linkOf(`/proc/self/fd/${each}`) === path).length;
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // the one of the list itself
  }
}

/** Each owner has a handle of its own. */
function bothAsked(steps: readonly Step[]): void {
  const host = new HostLocks(nativeProgram('flock.node'), true);
  const table = new LockTable();
  const handles = new Map(owners.map((owner) => [owner, openSync(file, constants.O_RDWR) as Handle]));
  const opened = descriptorsOf(file);
  for (const { owner, kind, start, length, act } of steps) {
    const handle = handles.get(owner) ?? 0;
    const both = (request: LockRequest) =>
      [host.lock(1, handle, request), table.lock(1, handle, request)].map((each) => each !== undefined);
    if (act === 'release') {
      host.released(handle);
      table.released(handle);
    } else if (act === 'whole' || act === 'test whole') {
      const request = { family: 'whole', owner, start: 0, end: Infinity } as const;
      // The kernel gives one kind up before it has the other.
      both({ ...request, kind: 'none' });
      const [ours, tables] = both({ ...request, kind, test: act === 'test whole' });
      assert.equal(ours, tables, JSON.stringify({ owner, kind, act }));
    } else {
      const request = { family: 'ranges', owner, kind, start, end: length === 10 ? Infinity : start + length } as const;
      if (act === 'lock') {
        const [ours, tables] = both(request);
        assert.equal(ours, tables, JSON.stringify(request));
        continue;
      }
      const found = kind === 'none' ? undefined : host.lock(1, handle, { ...request, test: true });
      // Of several that are in the way either may name another.
      const inTable = table.lock(1, handle, { ...request, ...found, kind, test: true });
      assert.deepEqual(found, inTable, JSON.stringify(request));
    }
  }
  for (const handle of handles.values()) host.released(handle);
  assert.equal(descriptorsOf(file), opened, 'nothing stays open');
  for (const handle of handles.values()) closeSync(handle);
}

describe('locks of a host tree', () => {
  it('are held, given back and in the way as those of the table, for two owners of one file', () => {
    fc.assert(fc.property(fc.array(step, { maxLength: 30 }), bothAsked), seeded(300));
  });

  it('are in the way of other trees on this machine, and what nobody has is given back without a file', () => {
    const [one, other] = [true, true].map((writable) => new HostLocks(nativeProgram('flock.node'), writable));
    const handle = openSync(file, 'r+');
    for (const family of ['ranges', 'whole'] as const) {
      const request = { family, owner: 'a', kind: 'exclusive', start: 0, end: Infinity } as const;
      assert.equal(one?.lock(1, handle, request), undefined);
      assert.deepEqual(other?.lock(1, handle, request), { kind: 'exclusive', start: 0, end: Infinity });
      assert.deepEqual(other?.lock(1, handle, { ...request, kind: 'shared', test: true }), {
        kind: 'exclusive',
        start: 0,
        end: Infinity,
      });
      one?.lock(1, handle, { ...request, kind: 'none' });
      assert.equal(other?.lock(1, handle, request), undefined);
      other?.released(handle);
    }
    one?.released(handle);
    const opened = descriptorsOf(file);
    one?.lock(1, handle, { family: 'ranges', owner: 'never', kind: 'none', start: 0, end: 1 });
    assert.equal(descriptorsOf(file), opened);
    closeSync(handle);
  });

  it('are shared where the tree is only to be read, and of one inode and family alone', () => {
    const host = new HostLocks(nativeProgram('flock.node'), false);
    const handle = openSync(file, 'r');
    const request = { family: 'ranges', owner: 'a', kind: 'exclusive', start: 0, end: 1 } as const;
    assert.throws(() => host.lock(1, handle, request), { code: 'EBADF' });
    assert.equal(host.lock(1, handle, { ...request, kind: 'shared' }), undefined);
    assert.equal(host.lock(1, handle, { ...request, family: 'whole', owner: 'b', end: Infinity }), undefined);
    host.released(handle);
    assert.throws(() => host.lock(1, 1_000_000, { ...request, kind: 'shared' }), { code: 'ENOENT' });
    closeSync(handle);
  });

  it('are of one file alone, also where an owner has locks of two', () => {
    const [host, others] = [true, true].map((writable) => new HostLocks(nativeProgram('flock.node'), writable));
    const second = join(directory, 'second');
    writeFileSync(second, 'content');
    const handles = [openSync(file, 'r+'), openSync(second, 'r+')];
    const request = { family: 'ranges', owner: 'a', kind: 'exclusive', start: 0, end: 1 } as const;
    for (const [index, handle] of handles.entries()) host?.lock(index + 1, handle, request);
    host?.released(handles[0] ?? 0);
    const held = handles.map(
      (handle, index) => others?.lock(index + 1, handle, { ...request, test: true }) !== undefined,
    );
    assert.deepEqual(held, [false, true]);
    for (const handle of handles) {
      host?.released(handle);
      others?.released(handle);
      closeSync(handle);
    }
  });
});
