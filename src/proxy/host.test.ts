import assert from 'node:assert/strict';
import {
  chmodSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { identityShift } from '../jail/id-maps.js';
import { vaultId, vaultPaths } from '../vault/store/layout.js';
import { refuseForeignLinks } from './canonical-paths.js';
import { type Host, placeOf } from './host.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-place-')));
after(() => rmSync(base, { recursive: true }));
const at = (...names: readonly string[]) => join(base, ...names);
const made = (...names: readonly string[]) => {
  mkdirSync(at(...names), { recursive: true });
  return at(...names);
};
const store = made('store');
const uid = process.geteuid?.() ?? 0;
const gid = process.getegid?.() ?? 0;
const noRoot = uid === 0 ? false : 'only root gives files to another user';

const hostOf = (more: Partial<Host> = {}) =>
  ({ uid, gid, home: at('home'), store: { directory: store }, ...more }) as Host;

describe('the place of a command', () => {
  it('is the directory, its workspace, and whom its files belong to', () => {
    const deep = made('repository', 'a', 'b');
    mkdirSync(at('repository', '.git'));
    const owner = { uid, gid, shift: uid === 0 ? identityShift : 0 };
    assert.deepEqual(placeOf(hostOf(), deep), { directory: deep, origin: at('repository'), owner });
    const known = made('known', 'inner', 'c');
    mkdirSync(at('known', 'inner', '.git'));
    const { meta } = vaultPaths(store, vaultId(at('known')));
    mkdirSync(join(meta, '..'), { recursive: true });
    assert.equal(placeOf(hostOf(), known).origin, at('known', 'inner'), 'a vault that has no files yet is none');
    writeFileSync(meta, '');
    assert.equal(placeOf(hostOf(), known).origin, at('known'));
    const plain = made('plain');
    assert.deepEqual(placeOf(hostOf({ uid: 4711, gid: 4712 }), plain), {
      ...{ directory: plain, origin: plain },
      owner: { uid: 4711, gid: 4712, shift: 0 },
    });
  });

  it('is, for root, whoever owns the workspace: not root, nor whoever owns a directory in it', { skip: noRoot }, () => {
    const inner = made('owned', 'inner');
    mkdirSync(at('owned', '.git'));
    lchownSync(at('owned'), 4711, 4712);
    lchownSync(inner, 4713, 4714);
    const { owner } = placeOf(hostOf(), inner);
    assert.deepEqual(owner, { uid: 4711, gid: 4712, shift: identityShift });
  });

  it('is found through links, by the name that is no link', () => {
    const real = made('real');
    symlinkSync(real, at('link'));
    assert.equal(placeOf(hostOf(), at('link')).directory, real);
    assert.equal(placeOf(hostOf(), `${base}/./real/../real/`).directory, real);
  });

  it('is not where a link of another user leads that does not own it', { skip: noRoot }, () => {
    const [target, theirs] = [made('target'), made('theirs')];
    lchownSync(theirs, 4711, 4711);
    for (const [name, to, maker, isRefused] of [
      ['by-root', target, 0, false],
      ['by-other', target, 4711, true],
      ['to-its-own', theirs, 4711, false],
      ['to-another', theirs, 4712, true],
    ] as const) {
      symlinkSync(to, at(name));
      lchownSync(at(name), maker, maker);
      const look = () => placeOf(hostOf(), at(name)).directory;
      if (isRefused) assert.throws(look, { code: 'EACCES', path: at(name) }, name);
      else assert.equal(look(), to, name);
      const through = () => refuseForeignLinks(`${at(name)}/below/../x`, 4712);
      const byHim = isRefused && maker !== 4712;
      if (byHim) assert.throws(through, { code: 'EACCES', path: at(name) }, name);
      else assert.doesNotThrow(through, name);
    }
  });

  it('is refused where the directory that this process is in was replaced by a link', () => {
    const [was, now] = [made('here', 'a'), made('elsewhere')];
    const before = process.cwd();
    process.chdir(was);
    try {
      renameSync(was, at('here', 'moved'));
      symlinkSync(now, was);
      // The kernel knows where we are; a caller that says the old name means what is there no longer.
      const known = process.cwd;
      process.cwd = () => was;
      try {
        assert.throws(() => placeOf(hostOf(), was), { code: 'ESTALE', path: was, reason: new RegExp(`${now}$`) });
      } finally {
        process.cwd = known;
      }
      assert.equal(placeOf(hostOf(), was).directory, now, 'named from elsewhere it is what the link says');
    } finally {
      process.chdir(before);
    }
  });

  it('is refused where there is none: missing, a file, a loop, or closed to us', () => {
    writeFileSync(at('file'), '');
    symlinkSync('loop', at('loop'));
    for (const [name, code] of [
      ['missing', 'ENOENT'],
      ['file', 'ENOTDIR'],
      ['file/below', 'ENOTDIR'],
      ['loop', 'ELOOP'],
    ] as const) {
      assert.throws(() => placeOf(hostOf(), at(name)), { code, operation: 'open the directory' }, name);
    }
    if (uid === 0) return;
    const closed = made('closed', 'in');
    chmodSync(at('closed'), 0);
    assert.throws(() => placeOf(hostOf(), closed), { code: 'EACCES' });
    chmodSync(at('closed'), 0o700);
  });

  it('is a workspace of its own where a repository above cannot be told from here', {
    skip: uid === 0 ? 'root sees all' : false,
  }, () => {
    const inner = made('half', 'inner');
    chmodSync(at('half'), 0o100);
    try {
      assert.equal(placeOf(hostOf(), inner).origin, inner);
    } finally {
      chmodSync(at('half'), 0o700);
    }
  });
});
