/** What a tree of inodes asks of its store: nothing that a store which writes, or which another process writes, cannot give. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ErrnoError, hasCode } from '../../../base/errno.js';
import type { Entry } from '../../filesystem.js';
import { MemoryStore } from '../memory/memory-store.js';
import { InodeFileSystem } from './inode-filesystem.js';
import type { InodeRecord } from './inode-store.js';

const root = { mode: 0o755, uid: 0, gid: 0 };
const mode = { read: true, write: true };
const options = { label: 'test', writable: true, durable: false };

/** What it gave before it was settled is not its own any more: it may have forgotten it. */
function settlingStore(): MemoryStore {
  const store = new MemoryStore(root);
  const fresh = new Set<InodeRecord>();
  const [get, put] = [store.get.bind(store), store.put.bind(store)];
  return Object.assign(store, {
    get: (inode: number) => {
      const record = get(inode);
      if (record !== undefined) fresh.add(record);
      return record;
    },
    put: (record: InodeRecord) => {
      if (get(record.inode) !== undefined) assert.ok(fresh.has(record), 'put after settled');
      put(record);
      fresh.add(record);
    },
    settled: () => fresh.clear(),
  });
}

it('what a store gave before it was settled is not put into it afterwards', () => {
  const tree = new InodeFileSystem(settlingStore(), options);
  const there = tree.mkdir(1, 'there', root).inode;
  for (const name of ['one', 'other', 'third']) {
    const { handle } = tree.create(1, name, root, mode);
    tree.write(handle, 0, Buffer.from(name));
    tree.allocate(handle, 0, 10, 'extend');
    tree.release(handle);
  }
  tree.mkdir(1, 'empty', root);
  tree.mkdir(there, 'empty', root);
  const one = tree.lookup(1, 'one')?.inode ?? 0;
  tree.link(one, there, 'one');
  tree.rename(1, 'other', there, 'other', 'replace');
  tree.rename(1, 'third', there, 'other', 'replace');
  tree.rename(1, 'empty', there, 'empty', 'replace');
  tree.rename(1, 'one', there, 'other', 'exchange');
  tree.rename(there, 'one', there, 'new', 'keep');
  tree.setattr(one, { size: 1, mode: 0o600 });
  tree.setxattr(one, 'user.a', Buffer.from('b'), 'any');
  tree.removexattr(one, 'user.a');
  tree.release(tree.open(one, { ...mode, truncate: true }));
  for (const name of ['new', 'other']) tree.unlink(there, name);
  tree.rmdir(there, 'empty');
  tree.close();
});

/** Another process removes entries of it whenever a record is read. */
class OthersStore extends MemoryStore {
  readonly gone: string[] = [];

  override get(inode: number): InodeRecord | undefined {
    const name = this.gone.shift();
    const removed = name === undefined ? undefined : this.child(1, name);
    if (name !== undefined && removed !== undefined) {
      this.removeChild(1, name);
      this.remove(removed);
    }
    return super.get(inode);
  }
}

it('a listing of a tree that another process writes to has what is there, and a name that goes is not there', () => {
  for (const changesOutside of [true, false]) {
    const store = new OthersStore(root);
    const made = new InodeFileSystem(store, options);
    for (const name of ['a', 'b', 'c', 'd']) made.mknod(1, name, root, 'file', 0);
    const tree = new InodeFileSystem(store, { ...options, writable: false, changesOutside });
    const names = () => (tree.readdir(1) as readonly Entry[]).map(({ name }) => name);
    // The directory's own record, then that of `a`: `b` and `c` have been named by then.
    store.gone.push('', 'c', 'b');
    if (changesOutside) assert.deepEqual(names(), ['a', 'd']);
    else assert.throws(names, (error) => error instanceof ErrnoError && hasCode(error, 'ESTALE'), 'it is damaged');
    store.gone.push('', 'd');
    if (changesOutside) assert.equal(tree.lookup(1, 'd'), undefined);
  }
});

it('what cannot be written when it is closed leaves neither its store open nor what it held', () => {
  const store = new MemoryStore(root);
  const done: string[] = [];
  const tree = new InodeFileSystem(store, { ...options, ended: () => void done.push('ended') });
  for (const name of ['one', 'other']) tree.create(1, name, root, mode);
  const settled = () => {
    throw new ErrnoError('ENOSPC', { operation: 'write', reason: 'the disk is full' });
  };
  Object.assign(store, { settled, close: () => void done.push('closed') });
  assert.throws(() => tree.close(), { code: 'ENOSPC' });
  assert.deepEqual(done, ['closed', 'ended']);
});
