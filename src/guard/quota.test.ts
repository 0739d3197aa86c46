/** Each limit of a tree, reached by each operation that could pass it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFileSystem } from '../vfs/engines/memory/memory.js';
import type { FileSystem } from '../vfs/filesystem.js';
import { Guard } from './guard.js';
import { type QuotaEvent, type VfsQuota, withQuota } from './quota.js';

const creation = { mode: 0o644, uid: 0, gid: 0 };
const writing = { read: true, write: true };
const exceeded = { code: 'EDQUOT' };

function limited(quota: VfsQuota) {
  const inner = memoryFileSystem({ writable: true, root: { mode: 0o755, uid: 0, gid: 0 } });
  const events: QuotaEvent[] = [];
  const fs = withQuota(inner, quota, (event) => void events.push(event));
  const file = async (name: string, append = false) => fs.create(fs.root, name, creation, { ...writing, append });
  return { inner, fs, events, file };
}

describe('a quota', () => {
  it('of inodes is of everything that is made', async () => {
    const make: Readonly<Record<string, (fs: FileSystem, name: string) => unknown>> = {
      create: (fs, name) => fs.create(fs.root, name, creation, writing),
      mkdir: (fs, name) => fs.mkdir(fs.root, name, creation),
      mknod: (fs, name) => fs.mknod(fs.root, name, creation, 'fifo', 0),
      symlink: (fs, name) => fs.symlink(fs.root, name, 'x', creation),
    };
    for (const [name, act] of Object.entries(make)) {
      // The root is one.
      const { fs, inner } = limited({ inodes: 3 });
      await act(fs, 'a');
      await act(fs, 'b');
      await assert.rejects(async () => act(fs, 'c'), exceeded, name);
      assert.equal(await inner.lookup(inner.root, 'c'), undefined, `${name} made nothing`);
      await assert.doesNotReject(async () => act(limited({}).fs, 'c'));
    }
  });

  it('of a file is of its end, however it grows', async () => {
    const { fs, file } = limited({ fileBytes: 10 });
    const { handle, attributes } = await file('a');
    await fs.write(handle, 2, Buffer.alloc(8));
    await assert.rejects(async () => fs.write(handle, 3, Buffer.alloc(8)), exceeded);
    await fs.setattr(attributes.inode, { size: 10 });
    await fs.setattr(attributes.inode, { mode: 0o600 });
    await assert.rejects(async () => fs.setattr(attributes.inode, { size: 11 }), exceeded);
    await fs.allocate(handle, 0, 10, 'extend');
    await assert.rejects(async () => fs.allocate(handle, 5, 6, 'extend'), exceeded);
    const appended = await file('b', true);
    await fs.write(appended.handle, 0, Buffer.alloc(6));
    await assert.rejects(async () => fs.write(appended.handle, 0, Buffer.alloc(5)), exceeded);
    await fs.write(appended.handle, 0, Buffer.alloc(4));
    const again = await fs.open(appended.attributes.inode, { ...writing, append: true });
    await assert.rejects(async () => fs.write(again, 0, Buffer.alloc(1)), exceeded);
  });

  it('of bytes is of all files together', async () => {
    const { fs, file, inner } = limited({ bytes: 100_000 });
    const { handle } = await file('a');
    await fs.write(handle, 0, Buffer.alloc(60_000));
    const other = await file('b');
    await assert.rejects(async () => fs.write(other.handle, 0, Buffer.alloc(60_000)), exceeded);
    assert.equal((await inner.getattr(other.attributes.inode)).size, 0);
    await fs.write(other.handle, 0, Buffer.alloc(20_000));
    await assert.rejects(async () => fs.allocate(other.handle, 0, 60_000, 'extend'), exceeded);
    const { blockSize, blocks, freeBlocks } = await inner.statfs();
    assert.ok((blocks - freeBlocks) * blockSize <= 100_000);
  });

  it('of bytes counts extended attributes, until they or their file are gone', async () => {
    const { fs, file, inner } = limited({ bytes: 100_000 });
    const value = Buffer.alloc(40_000);
    const [a, b, c] = [await file('a'), await file('b'), await file('c')].map(({ attributes }) => attributes.inode);
    const set = async (inode = 0, bytes = value) => fs.setxattr(inode, 'user.x', bytes, 'any');
    await set(a);
    await set(b);
    await assert.rejects(set(c), exceeded);
    await assert.rejects(async () => inner.getxattr(c ?? 0, 'user.x'), { code: 'ENODATA' });
    await fs.removexattr(a ?? 0, 'user.x');
    await set(c);
    await assert.rejects(set(a), exceeded);
    await set(b, Buffer.alloc(1_000));
    await set(a, Buffer.alloc(30_000));
  });

  it('of open files counts those that are open', async () => {
    const { fs, file } = limited({ openFiles: 2 });
    const first = await file('a');
    const second = await fs.open(first.attributes.inode, writing);
    await assert.rejects(async () => fs.open(first.attributes.inode, writing), exceeded);
    await assert.rejects(async () => file('b'), exceeded);
    await fs.release(second);
    const { handle } = await file('b');
    await fs.release(handle);
    await fs.open(first.attributes.inode, writing);
  });

  it('is told of once, at four fifths of its limit, and where there is none never', async () => {
    const { fs, file, events } = limited({ fileBytes: 10 });
    const { handle } = await file('a');
    await fs.write(handle, 0, Buffer.alloc(7));
    assert.deepEqual(events, []);
    await fs.write(handle, 0, Buffer.alloc(8));
    await fs.write(handle, 0, Buffer.alloc(9));
    assert.deepEqual(events, [{ setting: 'fileBytes', used: 8, limit: 10 }]);
  });
});

describe('a guard', () => {
  it('tells of each change of rights, until nobody listens any more', async () => {
    const guard = new Guard({});
    let heard = 0;
    const stop = guard.changed(() => {
      heard += 1;
    });
    await guard.grant({ 'fs.read': ['/'] });
    assert.equal(heard, 1);
    stop();
    await guard.grant({});
    assert.equal(heard, 1);
    for (const path of ['a', '/a/..', '/./a', '']) {
      await assert.rejects(guard.grant({ 'fs.read': [path] }), { code: 'EINVAL' });
    }
  });

  it('has taken a right away when nobody who was told goes by it any more', async () => {
    const guard = new Guard({ 'fs.read': ['/'] });
    const done: string[] = [];
    for (const who of ['one', 'other']) {
      guard.changed(async () => {
        await new Promise((resolve) => setImmediate(resolve));
        done.push(who);
      });
    }
    await guard.grant({});
    assert.deepEqual(done, ['one', 'other']);
  });
});
