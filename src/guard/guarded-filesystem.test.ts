/** Which rights each operation needs: each of them taken away alone, and then only for one of two places. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFileSystem } from '../vfs/engines/memory/memory.js';
import type { FileSystem, Inode, OpenMode } from '../vfs/filesystem.js';
import type { TreeScope } from '../vfs/tree.js';
import { Guard, scopes, type VfsGrants, type VfsRefusal } from './guard.js';
import { guardedFileSystem } from './guarded-filesystem.js';

const creation = { mode: 0o644, uid: 0, gid: 0 };
const reading: OpenMode = { read: true, write: false };
const writing: OpenMode = { read: false, write: true };

interface World {
  readonly inner: FileSystem;
  readonly fs: FileSystem;
  readonly guard: Guard;
  readonly refusals: VfsRefusal[];
  inode(...names: readonly string[]): Promise<Inode>;
}

/** `/w` with files, a link and directories, and `/hidden`; everything of `/w` is granted but what `grants` says otherwise. */
async function world(grants: VfsGrants = {}): Promise<World> {
  const inner = memoryFileSystem({ writable: true, root: { mode: 0o755, uid: 0, gid: 0 } });
  const directory = async (above: Inode, name: string) => (await inner.mkdir(above, name, creation)).inode;
  const w = await directory(inner.root, 'w');
  const [from, to] = [await directory(w, 'from'), await directory(w, 'to')];
  for (const place of [w, from, to, await directory(inner.root, 'hidden')]) {
    for (const name of ['a', 'b']) {
      const { attributes, handle } = await inner.create(place, name, creation, writing);
      await inner.write(handle, 0, Buffer.from('text'));
      await inner.release(handle);
      await inner.setxattr(attributes.inode, 'user.x', Buffer.from('x'), 'any');
    }
    await directory(place, 'd');
    await inner.symlink(place, 'l', 'a', creation);
  }
  const refusals: VfsRefusal[] = [];
  const everything = Object.fromEntries(scopes.map((scope) => [scope, ['/w']]));
  const guard = new Guard({ ...everything, ...grants }, (refusal) => void refusals.push(refusal));
  const fs = guardedFileSystem(inner, guard);
  const inode = async (...names: readonly string[]) => {
    let at = fs.root;
    for (const name of names) at = (await fs.lookup(at, name))?.inode ?? 0;
    return at;
  };
  return { inner, fs, guard, refusals, inode };
}

const value = Buffer.from('y');
const operations: Readonly<Record<string, readonly [needs: string, act: (at: World) => Promise<unknown>]>> = {
  lookup: ['', async ({ inode }) => inode('w', 'a')],
  getattr: ['', async ({ fs, inode }) => fs.getattr(await inode('w', 'a'))],
  'setattr size': ['write', async ({ fs, inode }) => fs.setattr(await inode('w', 'a'), { size: 1 })],
  'setattr mode': ['metadata', async ({ fs, inode }) => fs.setattr(await inode('w', 'a'), { mode: 0o600 })],
  'setattr both': ['write metadata', async ({ fs, inode }) => fs.setattr(await inode('w', 'a'), { size: 1, uid: 7 })],
  'create to write': ['create write', async ({ fs, inode }) => fs.create(await inode('w'), 'n', creation, writing)],
  'create to read': ['create', async ({ fs, inode }) => fs.create(await inode('w'), 'n', creation, reading)],
  mkdir: ['create', async ({ fs, inode }) => fs.mkdir(await inode('w'), 'n', creation)],
  mknod: ['create', async ({ fs, inode }) => fs.mknod(await inode('w'), 'n', creation, 'fifo', 0)],
  symlink: ['create', async ({ fs, inode }) => fs.symlink(await inode('w'), 'n', 'a', creation)],
  link: ['read write create', async ({ fs, inode }) => fs.link(await inode('w', 'a'), await inode('w'), 'n')],
  'open to read': ['read', async ({ fs, inode }) => fs.open(await inode('w', 'a'), reading)],
  'open to write': ['write', async ({ fs, inode }) => fs.open(await inode('w', 'a'), writing)],
  'open for both': ['read write', async ({ fs, inode }) => fs.open(await inode('w', 'a'), { read: true, write: true })],
  readdir: ['read', async ({ fs, inode }) => fs.readdir(await inode('w'))],
  unlink: ['delete', async ({ fs, inode }) => fs.unlink(await inode('w'), 'a')],
  rmdir: ['delete', async ({ fs, inode }) => fs.rmdir(await inode('w'), 'd')],
  'rename to a new name': ['delete create', async ({ fs, inode }) => rename(fs, inode, 'n', 'replace')],
  'rename over another': ['delete create', async ({ fs, inode }) => rename(fs, inode, 'b', 'replace')],
  exchange: ['delete create', async ({ fs, inode }) => rename(fs, inode, 'b', 'exchange')],
  readlink: ['read', async ({ fs, inode }) => fs.readlink(await inode('w', 'l'))],
  getxattr: ['read', async ({ fs, inode }) => fs.getxattr(await inode('w', 'a'), 'user.x')],
  listxattr: ['read', async ({ fs, inode }) => fs.listxattr(await inode('w', 'a'))],
  setxattr: ['metadata', async ({ fs, inode }) => fs.setxattr(await inode('w', 'a'), 'user.x', value, 'any')],
  removexattr: ['metadata', async ({ fs, inode }) => fs.removexattr(await inode('w', 'a'), 'user.x')],
};

async function rename(fs: FileSystem, inode: World['inode'], name: string, rule: 'replace' | 'exchange') {
  return fs.rename(await inode('w', 'from'), 'a', await inode('w', 'to'), name, rule);
}

const needed = (needs: string) => needs.split(' ').map((each) => `fs.${each}`);

/** All that a tree holds, without times and numbers. */
async function held(fs: FileSystem, inode = fs.root): Promise<unknown> {
  const { kind, mode, uid, gid, size, links } = await fs.getattr(inode);
  const about = { kind, mode, uid, gid, links };
  const names = (await fs.listxattr(inode)).map(String);
  if (kind === 'symlink') return [about, await fs.readlink(inode)];
  if (kind === 'file') {
    const handle = await fs.open(inode, reading);
    const text = String(await fs.read(handle, 0, 99));
    await fs.release(handle);
    return [about, size, names, text];
  }
  if (kind !== 'directory') return about;
  const entries: [string, unknown][] = [];
  for (const { name } of await fs.readdir(inode)) {
    const found = await fs.lookup(inode, name);
    entries.push([String(name), found === undefined ? undefined : await held(fs, found.inode)]);
  }
  return [about, names, Object.fromEntries(entries.sort())];
}

describe('an operation on a guarded tree', () => {
  it('that is allowed does and answers what its engine does and answers', async () => {
    const plainOf = (value: unknown) =>
      JSON.stringify(value, (key, each) =>
        /^(?:inode|handle)$/.test(key) || typeof each === 'bigint' ? undefined : each,
      );
    for (const [name, [, act]] of Object.entries(operations)) {
      const [guarded, plain] = [await world(), await world()];
      const inode = async (...names: readonly string[]) => {
        let at = plain.inner.root;
        for (const each of names) at = (await plain.inner.lookup(at, each))?.inode ?? 0;
        return at;
      };
      const answers = [await act(guarded), await act({ ...plain, fs: plain.inner, inode })];
      assert.equal(plainOf(answers[0]), plainOf(answers[1]), name);
      assert.equal(plainOf(await held(guarded.inner)), plainOf(await held(plain.inner)), name);
    }
  });

  for (const [name, [needs, act]] of Object.entries(operations)) {
    it(`${name} needs ${needs === '' ? 'nothing that is shown without' : needs}, and nothing else`, async () => {
      for (const missing of [undefined, ...scopes]) {
        const at = await world(missing === undefined ? {} : { [missing]: [] });
        const code = await act(at).then(
          () => 'done',
          (error) => error.code,
        );
        const isNeeded = missing !== undefined && needed(needs).includes(missing);
        assert.equal(code, isNeeded ? 'EACCES' : 'done', `without ${missing}`);
        const told = at.refusals.map(({ scope }) => scope);
        assert.deepEqual(told, isNeeded ? [missing] : [], 'each refusal is reported once');
      }
    });
  }

  it('needs its rights at both places: what is replaced is deleted, what comes back is made', async () => {
    const code = async (grants: VfsGrants, name: string, rule: 'replace' | 'exchange') => {
      const { fs, inode } = await world(grants);
      return rename(fs, inode, name, rule).then(
        () => 'done',
        (error) => error.code,
      );
    };
    const onlyFrom: VfsGrants = { 'fs.delete': ['/w/from'] };
    assert.equal(await code(onlyFrom, 'n', 'replace'), 'done');
    assert.equal(await code(onlyFrom, 'b', 'replace'), 'EACCES');
    assert.equal(await code(onlyFrom, 'b', 'exchange'), 'EACCES');
    const onlyTo: VfsGrants = { 'fs.create': ['/w/to'] };
    assert.equal(await code(onlyTo, 'b', 'replace'), 'done');
    assert.equal(await code(onlyTo, 'b', 'exchange'), 'EACCES');
    assert.equal(await code({ 'fs.create': ['/w/from'] }, 'n', 'replace'), 'EACCES');
    assert.equal(await code({ 'fs.delete': ['/w/to'] }, 'n', 'replace'), 'EACCES');
    // What could not be read where it was cannot be where it comes to.
    assert.equal(await code({ 'fs.read': ['/w/to'] }, 'n', 'replace'), 'EACCES');
    assert.equal(await code({ 'fs.read': ['/w/to/n/below'] }, 'n', 'replace'), 'EACCES');
    assert.equal(await code({ 'fs.read': ['/w/from'] }, 'n', 'replace'), 'done');
    assert.equal(await code({ 'fs.read': ['/w/from/a', '/w/to'] }, 'n', 'replace'), 'done');
    assert.equal(await code({ 'fs.read': ['/w/from'] }, 'b', 'exchange'), 'EACCES');
  });

  it('finds nothing of what no grant shows, by name and in a listing', async () => {
    const { fs, inode } = await world();
    await assert.rejects(async () => fs.lookup(fs.root, 'hidden'), { code: 'ENOENT' });
    const names = (await fs.readdir(fs.root)).map(({ name }) => name);
    assert.deepEqual(names, ['w']);
    assert.equal((await fs.readdir(await inode('w'))).length, 6);
  });

  it('is refused through what is open, when its right is taken away', async () => {
    const acts: readonly (readonly [TreeScope, (fs: FileSystem, handle: number) => unknown])[] = [
      ['fs.read', (fs, handle) => fs.read(handle, 0, 4)],
      ['fs.read', (fs, handle) => fs.seek(handle, 0, 'data')],
      ['fs.write', (fs, handle) => fs.write(handle, 0, value)],
      ['fs.write', (fs, handle) => fs.allocate(handle, 0, 4, 'extend')],
    ];
    for (const [scope, act] of acts) {
      const { fs, guard, inode } = await world();
      const handle = await fs.open(await inode('w', 'a'), { read: true, write: true });
      await act(fs, handle);
      const everything = Object.fromEntries(scopes.map((each) => [each, ['/w']]));
      await guard.grant({ ...everything, [scope]: ['/w/to'] });
      await assert.rejects(async () => act(fs, handle), { code: 'EACCES' });
      await guard.grant(everything);
      await act(fs, handle);
      await fs.release(handle);
    }
  });
});
