/** What engines refuse: both sides of each limit, and each rule that holds whatever the engine is made of. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { nativeProgram } from '../../base/native-program.js';
import type { Attributes, FileSystem, Kind, Opened, TreeChange } from '../filesystem.js';
import { chunkedFileSystem } from './chunked/chunked.js';
import { memoryFileSystem } from './memory/memory.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-limits-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const lockLibrary = nativeProgram('flock.node');
const root = { mode: 0o755, uid: 5, gid: 6 };
const both = { read: true, write: true };
const refuses = (code: string, act: () => unknown) => assert.throws(act, { code });

const makers: Readonly<Record<string, () => Promise<FileSystem>>> = {
  memory: async () => memoryFileSystem({ root }),
  chunked: () => chunkedFileSystem({ file: join(directory, 'store'), writable: true, create: true, lockLibrary, root }),
};

const made = (filesystem: FileSystem, name: string, within = filesystem.root) =>
  filesystem.create(within, name, root, both) as Opened;

for (const [engine, make] of Object.entries(makers)) {
  describe(`an engine of inodes (${engine})`, () => {
    it('holds names, targets and attributes up to their limits', async () => {
      const filesystem = await make();
      const { root: top } = filesystem;
      const { inode } = filesystem.mkdir(top, 'n'.repeat(255), root) as Attributes;
      refuses('ENAMETOOLONG', () => filesystem.mkdir(top, 'n'.repeat(256), root));
      refuses('ENAMETOOLONG', () => filesystem.lookup(top, 'n'.repeat(256)));
      filesystem.symlink(top, 'long', 't'.repeat(4095), root);
      refuses('ENAMETOOLONG', () => filesystem.symlink(top, 'longer', 't'.repeat(4096), root));
      refuses('ENOENT', () => filesystem.symlink(top, 'none', '', root));
      const set = (name: string, bytes: number, rule: 'create' | 'replace' | 'any' = 'any') =>
        filesystem.setxattr(inode, name, Buffer.alloc(bytes, 1), rule);
      refuses('ERANGE', () => set('', 1));
      refuses('ERANGE', () => set('a'.repeat(256), 1));
      refuses('E2BIG', () => set('user.a', 65_537));
      refuses('ENOSPC', () => set('user.a', 65_536));
      set('user.a', 65_536 - 6);
      refuses('ENOSPC', () => set('user.b', 0));
      refuses('EEXIST', () => set('user.a', 1, 'create'));
      refuses('ENODATA', () => set('user.b', 1, 'replace'));
      set('user.a', 1, 'replace');
      const longest = `user.${'a'.repeat(250)}`;
      set(longest, 1, 'create');
      refuses('ENODATA', () => filesystem.removexattr(inode, 'user.b'));
      filesystem.removexattr(inode, 'user.a');
      assert.deepEqual(filesystem.listxattr(inode), [longest]);
      refuses('ENODATA', () => filesystem.getxattr(inode, 'user.a'));
      await filesystem.close();
      if (engine === 'chunked') rmSync(join(directory, 'store'));
    });

    it('makes each kind for its owner, whose group a directory may hand on', async () => {
      const filesystem = await make();
      const { root: top } = filesystem;
      const kinds = ['file', 'fifo', 'socket', 'character', 'block'] as const;
      for (const kind of kinds) {
        const found = filesystem.mknod(top, kind, { mode: 0o107_4640, uid: 1, gid: 2 }, kind, 0x103) as Attributes;
        const device = kind === 'character' || kind === 'block' ? 0x103 : 0;
        assert.deepEqual(
          [found.kind, found.mode, found.links, found.uid, found.gid, found.device],
          [kind, 0o4640, 1, 1, 2, device],
        );
        if (kind !== 'file') refuses('ENXIO', () => filesystem.open(found.inode, both));
        if (kind !== 'file') refuses('EINVAL', () => filesystem.setattr(found.inode, { size: 0 }));
      }
      for (const kind of ['directory', 'symlink'] as const)
        refuses('EINVAL', () => filesystem.mknod(top, 'x', root, kind as Kind, 0));
      const shared = filesystem.mkdir(top, 'shared', { mode: 0o2775, uid: 1, gid: 77 }) as Attributes;
      const below = filesystem.mkdir(shared.inode, 'below', { mode: 0o755, uid: 1, gid: 2 }) as Attributes;
      const file = made(filesystem, 'file', shared.inode).attributes;
      assert.deepEqual([below.gid, below.mode, file.gid, file.mode], [77, 0o2755, 77, 0o755]);
      const changed = filesystem.setattr(file.inode, { mode: 0o17777, uid: 8, gid: 9 }) as Attributes;
      assert.deepEqual([changed.mode, changed.uid, changed.gid], [0o7777, 8, 9]);
      await filesystem.close();
      if (engine === 'chunked') rmSync(join(directory, 'store'));
    });

    it('reads, writes, seeks and makes room within a file, and nowhere else', async () => {
      const filesystem = await make();
      const { attributes, handle } = made(filesystem, 'file');
      const largest = 2 ** 43; // beyond what every engine holds
      for (const act of [
        () => filesystem.read(handle, -1, 1),
        () => filesystem.read(handle, 0, -1),
        () => filesystem.write(handle, -1, Buffer.from('x')),
        () => filesystem.allocate(handle, -1, 1, 'extend'),
        () => filesystem.allocate(handle, 0, 0, 'extend'),
        () => filesystem.setattr(attributes.inode, { size: -1 }),
        () => filesystem.setattr(attributes.inode, { size: Number.NaN }),
      ]) {
        refuses('EINVAL', act);
      }
      refuses('EFBIG', () => filesystem.setattr(attributes.inode, { size: largest * 1024 }));
      refuses('EFBIG', () => filesystem.write(handle, largest * 1024, Buffer.from('x')));
      refuses('EFBIG', () => filesystem.allocate(handle, largest * 1024, 1, 'keep'));
      refuses('EISDIR', () => filesystem.setattr(filesystem.root, { size: 0 }));
      assert.equal(filesystem.write(handle, 500_000, Buffer.alloc(0)), 0);
      refuses('ENXIO', () => filesystem.seek(handle, 0, 'data'));
      filesystem.write(handle, 300_000, Buffer.from('data'));
      const size = () => (filesystem.getattr(attributes.inode) as Attributes).size;
      const data = filesystem.seek(handle, 0, 'data') as number;
      assert.ok(data > 0 && data <= 300_000);
      assert.equal(filesystem.seek(handle, 300_001, 'data'), 300_001);
      assert.equal(filesystem.seek(handle, 0, 'hole'), 0);
      assert.equal(filesystem.seek(handle, 300_001, 'hole'), size());
      for (const offset of [-1, size()]) refuses('ENXIO', () => filesystem.seek(handle, offset, 'hole'));
      filesystem.allocate(handle, 0, 400_000, 'keep');
      assert.equal(size(), 300_004);
      filesystem.allocate(handle, 0, 400_000, 'extend');
      assert.equal(size(), 400_000);
      filesystem.allocate(handle, 300_001, 900_000, 'punch');
      assert.deepEqual([size(), String(filesystem.read(handle, 300_000, 4))], [400_000, 'd\0\0\0']);
      refuses('EBADF', () => filesystem.read(handle + 1, 0, 1));
      const reader = filesystem.open(attributes.inode, { read: true, write: false }) as number;
      refuses('EBADF', () => filesystem.write(reader, 0, Buffer.from('x')));
      refuses('EBADF', () => filesystem.allocate(reader, 0, 1, 'keep'));
      await filesystem.close();
      if (engine === 'chunked') rmSync(join(directory, 'store'));
    });

    it('tells watchers of names that come, go and move, until they have had enough', async () => {
      const filesystem = await make();
      const { root: top } = filesystem;
      const told: string[] = [];
      const stop = filesystem.watch(({ kind, directory: where, name }: TreeChange) =>
        told.push(`${kind} ${where} ${name}`),
      );
      const { inode } = filesystem.mkdir(top, 'd', root) as Attributes;
      const { attributes } = made(filesystem, 'f', inode);
      filesystem.link(attributes.inode, top, 'l');
      filesystem.rename(top, 'l', inode, 'm', 'replace');
      filesystem.unlink(inode, 'm');
      filesystem.unlink(inode, 'f');
      filesystem.rmdir(top, 'd');
      stop();
      filesystem.mkdir(top, 'e', root);
      assert.deepEqual(told, [
        `rename ${top} d`,
        `rename ${inode} f`,
        `rename ${top} l`,
        `rename ${top} l`,
        `rename ${inode} m`,
        `rename ${inode} m`,
        `rename ${inode} f`,
        `rename ${top} d`,
      ]);
      await filesystem.close();
      if (engine === 'chunked') rmSync(join(directory, 'store'));
    });
  });
}

describe('a tree in memory', () => {
  it('holds so many bytes and files, and not one more', () => {
    const filesystem = memoryFileSystem({ root, capacity: 4096, inodes: 3 });
    const { handle } = made(filesystem, 'one');
    filesystem.write(handle, 0, Buffer.alloc(2048));
    filesystem.write(handle, 2048, Buffer.alloc(2048));
    refuses('ENOSPC', () => filesystem.write(handle, 4096, Buffer.alloc(1)));
    refuses('ENOSPC', () => filesystem.allocate(handle, 0, 4097, 'extend'));
    filesystem.write(handle, 0, Buffer.alloc(4096, 1));
    filesystem.mkdir(filesystem.root, 'two', root);
    refuses('ENOSPC', () => filesystem.mkdir(filesystem.root, 'three', root));
    const { blocks, freeBlocks, files, freeFiles, nameBytes } = filesystem.statfs() as Exclude<
      ReturnType<FileSystem['statfs']>,
      Promise<unknown>
    >;
    assert.deepEqual([blocks, freeBlocks, files, freeFiles, nameBytes], [1, 0, 3, 0, 255]);
    filesystem.rmdir(filesystem.root, 'two');
    filesystem.mkdir(filesystem.root, 'three', root);
  });

  it('has at most 65000 names of one file, and directories in one', () => {
    const filesystem = memoryFileSystem({ root });
    const { attributes } = made(filesystem, 'f');
    for (let count = 1; count < 65_000; count += 1) filesystem.link(attributes.inode, filesystem.root, `${count}`);
    refuses('EMLINK', () => filesystem.link(attributes.inode, filesystem.root, 'one more'));
    const { inode } = filesystem.mkdir(filesystem.root, 'd', root) as Attributes;
    for (let count = 2; count < 65_000; count += 1) filesystem.mkdir(inode, `${count}`, root);
    refuses('EMLINK', () => filesystem.mkdir(inode, 'one more', root));
    made(filesystem, 'a file', inode);
  });

  it('takes nothing into a directory that was removed', () => {
    const filesystem = memoryFileSystem({ root });
    const { inode } = filesystem.mkdir(filesystem.root, 'd', root) as Attributes;
    const { attributes } = made(filesystem, 'f');
    const open = filesystem.open(inode, { read: true, write: false }) as number;
    filesystem.rmdir(filesystem.root, 'd');
    refuses('ENOENT', () => filesystem.mkdir(inode, 'x', root));
    refuses('ENOENT', () => filesystem.rename(filesystem.root, 'f', inode, 'x', 'replace'));
    refuses('ENOENT', () => filesystem.link(attributes.inode, inode, 'x'));
    filesystem.release(open);
    refuses('ESTALE', () => filesystem.getattr(inode));
  });
});
