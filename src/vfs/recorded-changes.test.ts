import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFileSystem } from './engines/memory/memory.js';
import type { FileSystem } from './filesystem.js';
import { ChangeLog, recordChanges } from './recorded-changes.js';

const creation = { mode: 0o644, uid: 0, gid: 0 };
const both = { read: true, write: true };
const lines = (log: { readonly changes: readonly { kind: string; path: string }[] }) =>
  log.changes.map(({ kind, path }) => `${kind} ${path}`);

const byPath = (one: string, other: string) => ((one.split(' ')[1] ?? '') < (other.split(' ')[1] ?? '') ? -1 : 1);

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
    // Beside it, by names that begin alike.
    for (const path of ['d.x', 'd2', 'd2/a', 'c/d/a']) log.modified(path);
    log.moved('d', 'e', { replaces: false, isDirectory: true });
    const beside = ['modified d.x', 'modified d2', 'modified d2/a'];
    const moved = ['deleted d', ...beside, 'added e', 'added e/a', 'modified e/b'];
    assert.deepEqual(lines(log.all()), ['modified c/d/a', ...moved]);
  });

  it('is counted beyond the most that is listed', () => {
    const log = new ChangeLog(2);
    for (const path of ['a', 'b', 'c', 'd']) log.added(path);
    assert.deepEqual([lines(log.all()), log.all().more], [['added a', 'added b'], 2]);
  });

  it('follows what is renamed: over another, in exchange, onto itself, and as a directory', async () => {
    const world = async () => {
      const inner = memoryFileSystem({ writable: true, root: { mode: 0o755, uid: 0, gid: 0 } });
      for (const name of ['a', 'b']) await make(inner, inner.root, name);
      await make(inner, (await inner.mkdir(inner.root, 'd', creation)).inode, 'in');
      const { filesystem: fs, changes } = recordChanges(inner, 100);
      const inode = async (...names: readonly string[]) => {
        let at = fs.root;
        for (const name of names) at = (await fs.lookup(at, name))?.inode ?? 0;
        return at;
      };
      const write = async (...names: readonly string[]) => {
        const handle = await fs.open(await inode(...names), both);
        await fs.write(handle, 0, Buffer.from('x'));
        await fs.release(handle);
      };
      return { fs, inode, write, said: () => lines(changes()) };
    };
    {
      const { fs, said } = await world();
      await fs.rename(fs.root, 'a', fs.root, 'b', 'replace');
      assert.deepEqual(said(), ['deleted a', 'modified b']);
    }
    {
      const { fs, said } = await world();
      await fs.rename(fs.root, 'a', fs.root, 'n', 'keep');
      assert.deepEqual(said(), ['deleted a', 'added n']);
    }
    {
      const { fs, said } = await world();
      await fs.rename(fs.root, 'a', fs.root, 'a', 'replace');
      assert.deepEqual(said(), []);
    }
    {
      const { fs, inode, said } = await world();
      const [a, b] = [await inode('a'), await inode('b')];
      await fs.rename(fs.root, 'a', fs.root, 'b', 'exchange');
      assert.deepEqual(said(), ['modified a', 'modified b']);
      await fs.rename(fs.root, 'd', fs.root, 'e', 'keep');
      // By their new names, whoever knows them from before.
      await fs.setattr(a, { mode: 0o600 });
      await fs.rename(fs.root, 'a', fs.root, 'c', 'keep');
      await fs.setattr(b, { mode: 0o600 });
      assert.deepEqual(said(), ['deleted a', 'modified b', 'added c', 'deleted d', 'added e']);
    }
    {
      const { fs, inode, write, said } = await world();
      const inside = await inode('d', 'in');
      await write('d', 'in');
      await make(fs, await inode('d'), 'new');
      await fs.unlink(await inode('d'), 'new');
      await fs.rename(fs.root, 'd', fs.root, 'e', 'replace');
      assert.deepEqual(said(), ['deleted d', 'added e', 'modified e/in']);
      await fs.setattr(inside, { mode: 0o600 });
      assert.deepEqual(said(), ['deleted d', 'added e', 'modified e/in']);
      await fs.rename(fs.root, 'a', await inode('e'), 'moved', 'keep');
      assert.deepEqual(said(), ['deleted a', 'deleted d', 'added e', 'modified e/in', 'added e/moved']);
    }
    {
      // What is written to a file that has lost its name is no change of that name.
      const { fs, inode, said } = await world();
      await make(fs, fs.root, 'new');
      const [made, there] = [await fs.open(await inode('new'), both), await fs.open(await inode('a'), both)];
      await fs.unlink(fs.root, 'new');
      await fs.unlink(fs.root, 'a');
      await fs.write(made, 0, Buffer.from('x'));
      assert.deepEqual(said(), ['deleted a']);
      await make(fs, fs.root, 'new');
      const other = await fs.open(await inode('new'), both);
      await fs.rename(fs.root, 'b', fs.root, 'new', 'replace');
      await fs.unlink(fs.root, 'new');
      await fs.write(other, 0, Buffer.from('x'));
      await fs.write(there, 0, Buffer.from('x'));
      assert.deepEqual(said(), ['deleted a', 'deleted b']);
    }
    {
      // What is below a directory is named by where it is after an exchange.
      const { fs, inode, said } = await world();
      await make(fs, await inode('d'), 'new');
      await fs.rename(fs.root, 'a', fs.root, 'd', 'exchange');
      assert.deepEqual(said(), ['modified a', 'added a/new', 'modified d']);
      await fs.unlink(await inode('a'), 'new');
      assert.deepEqual(said(), ['modified a', 'modified d']);
    }
    {
      // Names that begin alike are not in it; a file has nothing below it.
      const log = new ChangeLog(100);
      log.modified('d2/x');
      log.modified('d/x');
      log.moved('d', 'e', { replaces: true, isDirectory: false });
      assert.deepEqual(lines(log.all()), ['modified d/x', 'modified d2/x', 'deleted d', 'modified e'].sort(byPath));
    }
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
