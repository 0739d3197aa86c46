import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFileSystem } from './engines/memory/memory.js';
import type { FileSystem } from './filesystem.js';
import { ChangeLog, recordChanges } from './recorded-changes.js';

const creation = { mode: 0o644, uid: 0, gid: 0 };
const both = { read: true, write: true };
const lines = (log: { readonly changes: readonly { kind: string; path: string }[] }) =>
  log.changes.map(({ kind, path }) => `${kind} ${path}`);

async function make(fs: FileSystem, directory: number, name: string): Promise<number> {
  const { attributes, handle } = await fs.create(directory, name, creation, both);
  await fs.write(handle, 0, Buffer.from('text'));
  await fs.release(handle);
  return attributes.inode;
}

describe('what is changed in a tree', () => {
  it('is the sum of what was done: what was made and is gone again is nothing', () => {
    const log = new ChangeLog(100);
    log.added('new');
    log.deleted('new');
    log.deleted('old');
    log.added('old');
    log.modified('kept');
    log.deleted('kept');
    assert.deepEqual(lines(log.all()), ['deleted kept', 'modified old']);
  });

  it('moves with its directory', () => {
    const log = new ChangeLog(100);
    log.added('d/a');
    log.modified('d/b');
    log.moved('d', 'e', { replaces: false, isDirectory: true });
    assert.deepEqual(lines(log.all()), ['deleted d', 'added e', 'added e/a', 'modified e/b']);
  });

  it('is counted beyond the most that is listed', () => {
    const log = new ChangeLog(2);
    for (const path of ['a', 'b', 'c', 'd']) log.added(path);
    assert.deepEqual([lines(log.all()), log.all().more], [['added a', 'added b'], 2]);
  });

  it('is seen at the engine, whatever it is done by', async () => {
    const inner = memoryFileSystem({ writable: true, root: { mode: 0o755, uid: 0, gid: 0 } });
    const there = (await inner.mkdir(inner.root, 'there', creation)).inode;
    for (const name of ['read', 'written', 'removed', 'moved', 'chmod']) await make(inner, there, name);
    const { filesystem: fs, changes } = recordChanges(inner, 100);
    const at = (await fs.lookup(fs.root, 'there'))?.inode ?? 0;
    const inode = async (name: string) => (await fs.lookup(at, name))?.inode ?? 0;
    await fs.release(await fs.open(await inode('read'), both));
    const written = await fs.open(await inode('written'), both);
    for (const offset of [0, 4, 8]) await fs.write(written, offset, Buffer.from('more'));
    await fs.release(written);
    await fs.unlink(at, 'removed');
    await fs.rename(at, 'moved', fs.root, 'elsewhere', 'replace');
    await fs.setattr(await inode('chmod'), { mode: 0o600 });
    await fs.setattr(await inode('read'), { accessed: 'now' });
    await make(fs, at, 'temporary');
    await fs.rename(at, 'temporary', at, 'read', 'replace');
    await fs.symlink(fs.root, 'link', 'there', creation);
    assert.deepEqual(lines(changes()), [
      'added elsewhere',
      'added link',
      'modified there/chmod',
      'deleted there/moved',
      'modified there/read',
      'deleted there/removed',
      'modified there/written',
    ]);
  });
});
