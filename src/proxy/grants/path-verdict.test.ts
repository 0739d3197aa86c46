import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { View } from '../../authority/view.js';
import { base, data, host, origin, place } from './authority-fixture.js';
import { type ResolvedAuthority, resolveAuthority } from './authority-of.js';
import type { FoundEntry, FoundInView } from './found-in-view.js';
import { accesses, type PathAccess, type PathCheck, pathVerdict } from './path-verdict.js';

const file = join(origin, 'file');
const bitsOf = { read: 4, write: 2, exec: 1 } as const;
const entry = (more: Partial<FoundEntry> = {}): FoundEntry => ({
  ...{ type: 'file', mode: 0o777, uid: 1000, gid: 1000, target: '', inFork: true },
  ...more,
});
const directory = (mode = 0o755, more: Partial<FoundEntry> = {}) => entry({ type: 'directory', mode, ...more });

async function checkOf(more: Partial<PathCheck> = {}): Promise<PathCheck> {
  const resolved = await resolveAuthority(host, { place, reads: [data] });
  return { host, place, resolved, readonly: false, now: 0, used: 0, ...more };
}

const foundAt = (path: string, found: FoundEntry | undefined, way: FoundInView['way'] = []): FoundInView => ({
  ...{ path, entry: found, way },
  above: way[0]?.[1],
});

function says(check: PathCheck, access: PathAccess, found: FoundInView): string {
  const verdict = pathVerdict(check, access, found);
  return verdict.allowed ? 'yes' : `${verdict.code} ${verdict.reason.kind}`;
}

describe('what mode bits say of a path', () => {
  it('is the one class of who asks: owner, group, one of the groups, others', async () => {
    const check = await checkOf();
    for (const [uid, gid, shift] of [
      [1000, 1000, 6],
      [1000, 7, 6],
      [7, 1000, 3],
      [7, 44, 3],
      [7, 7, 0],
      [0, 0, 0],
    ] as const) {
      for (const access of accesses) {
        for (const mode of [0o400, 0o200, 0o100, 0o040, 0o020, 0o010, 0o004, 0o002, 0o001, 0o777, 0]) {
          const may = ((mode >> shift) & bitsOf[access]) !== 0;
          const found = foundAt(file, entry({ mode, uid, gid }));
          const text = `${uid}:${gid} ${mode.toString(8)} ${access}`;
          assert.equal(says(check, access, found), may ? 'yes' : 'EACCES path mode', text);
        }
      }
    }
  });

  it('are of the groups that root’s command has, not of root’s own', async () => {
    const byRoot = { ...host, uid: 0, groups: [44] };
    const { resolved } = await checkOf();
    const identity = { ...resolved.authority.identity, groups: [55] };
    const shifted = { ...resolved, authority: { ...resolved.authority, identity } } as ResolvedAuthority;
    const check = await checkOf({ host: byRoot, resolved: shifted });
    const readable = (gid: number) => says(check, 'read', foundAt(file, entry({ mode: 0o040, uid: 7, gid })));
    assert.deepEqual([readable(55), readable(44)], ['yes', 'EACCES path mode']);
  });

  it('are those of the workspace’s owner in the fork, whatever uid the agent has there', async () => {
    const { resolved } = await checkOf();
    const identity = { ...resolved.authority.identity, uid: 5, gid: 6, isolation: 'uid' } as const;
    const apart = { ...resolved, authority: { ...resolved.authority, identity } } as ResolvedAuthority;
    const byRoot = { ...host, uid: 0 };
    const ofRoot = { ...place, owner: { ...place.owner, shift: 1 << 30 } };
    const check = await checkOf({ host: byRoot, place: ofRoot, resolved: apart });
    const own = (uid: number, inFork: boolean) => {
      const at = inFork ? file : join(data, 'x');
      return says(check, 'read', foundAt(at, entry({ mode: 0o400, uid, gid: 7, inFork })));
    };
    assert.deepEqual([own(1000, true), own(5, true)], ['yes', 'EACCES path mode']);
    assert.deepEqual([own(1000, false), own(5, false)], ['EACCES path mode', 'yes']);
  });

  it('are those of a stranger where root’s command writes the host’s own, and the kernel’s answer where it is not root', async () => {
    const { resolved } = await checkOf();
    const { surface } = resolved.authority;
    const granted = { source: data, target: data, mode: 'rw', options: ['rbind'] } as const;
    const view = new View(surface, [granted]);
    const written = { ...resolved, authority: { ...resolved.authority, view } } as ResolvedAuthority;
    const path = join(data, 'own');
    const own = (mode: number) => foundAt(path, entry({ mode, inFork: false }));
    const byRoot = await checkOf({ host: { ...host, uid: 0 }, resolved: written });
    for (const access of accesses) {
      assert.equal(says(byRoot, access, own(0o770)), 'EACCES path mode', access);
      assert.equal(says(byRoot, access, own(bitsOf[access])), 'yes', access);
    }
    const readOnly = await checkOf({ host: { ...host, uid: 0 } });
    assert.equal(says(readOnly, 'read', own(0o400)), 'yes', 'what is shown read-only is shifted with it');
    mkdirSync(data, { recursive: true });
    writeFileSync(path, '');
    const check = await checkOf({ resolved: written });
    for (const [mode, answer] of [
      [0o700, 'yes'],
      [0o600, 'EACCES path mode'],
    ] as const) {
      chmodSync(path, mode);
      // Also root may not run what no one may.
      assert.equal(says(check, 'exec', own(0)), answer, 'the bits that were looked up do not count');
    }
    assert.equal(says(check, 'read', foundAt(join(data, 'gone'), entry({ inFork: false }))), 'EACCES path mode');
  });
});

describe('what is said of a path', () => {
  it('is first what the authority says', async () => {
    const check = await checkOf();
    assert.equal(says(check, 'read', foundAt(join(base, 'elsewhere'), entry())), 'ENOENT outside the view');
    assert.match(says(check, 'write', foundAt(join(data, 'x'), entry())), /^(EACCES|EROFS) (?!path mode)/);
    assert.equal(says(check, 'read', foundAt(join(data, 'x'), entry())), 'yes');
  });

  it('is that a command which only reads writes nothing in the workspace', async () => {
    const check = await checkOf({ readonly: true });
    assert.equal(says(check, 'write', foundAt(file, entry())), 'EROFS run read-only');
    const inside = { source: data, target: join(origin, 'inside'), mode: 'rw', options: ['rbind'] } as const;
    const view = new View(check.resolved.authority.surface, [inside]);
    const resolved = { ...check.resolved, authority: { ...check.resolved.authority, view } } as ResolvedAuthority;
    const mounted = foundAt(join(inside.target, 'x'), entry());
    assert.equal(says({ ...check, resolved }, 'write', mounted), 'EROFS run read-only', 'what is mounted in it, too');
    assert.deepEqual(
      [says(check, 'read', foundAt(file, entry())), says(check, 'exec', foundAt(file, entry()))],
      ['yes', 'yes'],
    );
  });

  it('is which directory on the way is closed, of those that it sees', async () => {
    const check = await checkOf();
    const way = (mode: number, at = origin) => foundAt(join(origin, 'a/file'), entry(), [[at, directory(mode)]]);
    assert.equal(says(check, 'read', way(0o100)), 'yes');
    for (const access of accesses) assert.equal(says(check, access, way(0o677 & ~0o100)), 'EACCES path mode', access);
    assert.equal(says(check, 'read', way(0, base)), 'yes', 'what only leads there is the jail’s own');
    const { reason } = pathVerdict(check, 'read', way(0o604)) as { reason: object };
    assert.deepEqual(reason, { kind: 'path mode', path: origin, needed: 'search', mode: 0o604 });
  });

  it('is whether it may be made where nothing is there', async () => {
    const check = await checkOf();
    const made = (mode: number) => foundAt(file, undefined, [[origin, directory(mode)]]);
    assert.equal(says(check, 'write', made(0o300)), 'yes');
    assert.equal(says(check, 'write', made(0o500)), 'EACCES path mode');
    const { reason } = pathVerdict(check, 'write', made(0o500)) as { reason: object };
    assert.deepEqual(reason, { kind: 'path mode', path: origin, needed: 'write', mode: 0o500 });
    for (const access of ['read', 'exec'] as const)
      assert.equal(says(check, access, made(0o700)), 'ENOENT no such path');
    assert.equal(says(check, 'write', foundAt(file, undefined)), 'ENOENT no such path', 'nothing is above it either');
  });

  it('is that only a file is a program, and none where programs do not run', async () => {
    const check = await checkOf();
    for (const [type, is] of [
      ['directory', 'a directory'],
      ['other', 'not a file'],
      ['symlink', 'not a file'],
    ] as const) {
      const verdict = pathVerdict(check, 'exec', foundAt(file, entry({ type })));
      assert.deepEqual(verdict.allowed ? undefined : verdict.reason, { kind: 'no program', path: file, is });
      assert.equal(says(check, 'read', foundAt(file, entry({ type }))), 'yes');
    }
    const { resolved } = check;
    const path = join(data, 'tool');
    for (const [options, answer] of [
      [['rbind', 'noexec'], 'EACCES no execution'],
      [['rbind'], 'yes'],
    ] as const) {
      const view = new View(resolved.authority.surface, [{ source: data, target: data, mode: 'ro', options }]);
      const mounted = { ...resolved, authority: { ...resolved.authority, view } } as ResolvedAuthority;
      const there = await checkOf({ resolved: mounted });
      assert.equal(says(there, 'exec', foundAt(path, entry())), answer);
      assert.equal(says(there, 'read', foundAt(path, entry())), 'yes');
    }
  });
});
