/** A tree over a store of files, which is one in memory here: what it is asked for, when, and what is kept of its answers. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { ErrnoError } from '../../../base/errno.js';
import { remoteAttributeMilliseconds, remoteBlockBytes } from '../../../base/limits/trees.js';
import type { Attributes, Entry, FileSystem, Opened, OpenMode } from '../../filesystem.js';
import { remoteFileSystem } from './remote-filesystem.js';
import type { RemoteContent, RemoteEntry, RemotePath, RemoteStore } from './remote-store.js';

interface Stored extends RemoteEntry {
  readonly bytes: Buffer;
}

const refused = (code: 'EEXIST' | 'ESTALE' | 'ETIMEDOUT' | 'EIO' | 'ENOENT') =>
  new ErrnoError(code, { operation: 'store', reason: 'as the test has it' });

/** Directories are there by what is in them, or because they were kept, as on S3. */
class MemoryStore implements RemoteStore {
  readonly label = 'memory of a test';
  readonly pathBytes = 64;
  readonly asked: string[] = [];
  readonly files = new Map<RemotePath, Stored>();
  readonly kept = new Set<RemotePath>();
  failing: ErrnoError | undefined;
  #versions = 0;

  put(path: RemotePath, text: string | Buffer): Stored {
    const bytes = Buffer.from(text);
    const name = path.slice(path.lastIndexOf('/') + 1);
    const entry = {
      name,
      kind: 'file',
      size: bytes.length,
      modified: 5n,
      version: `${++this.#versions}`,
      bytes,
    } as const;
    this.files.set(path, entry);
    return entry;
  }

  take(): readonly string[] {
    return this.asked.splice(0);
  }

  #ask(what: string): void {
    this.asked.push(what);
    if (this.failing !== undefined) throw this.failing;
  }

  #entry(path: RemotePath): RemoteEntry | undefined {
    const file = this.files.get(path);
    if (file !== undefined) return file;
    const there =
      this.kept.has(path) || [...this.files.keys(), ...this.kept].some((each) => each.startsWith(`${path}/`));
    const name = path.slice(path.lastIndexOf('/') + 1);
    return there ? { name, kind: 'directory', size: 0, modified: 1n, version: '' } : undefined;
  }

  async stat(path: RemotePath) {
    this.#ask(`stat ${path}`);
    return this.#entry(path);
  }

  async list(path: RemotePath) {
    this.#ask(`list ${path}`);
    const below = path === '' ? '' : `${path}/`;
    const names = [...this.files.keys(), ...this.kept]
      .filter((each) => each.startsWith(below) && each !== path)
      .map((each) => each.slice(below.length).split('/')[0] ?? '');
    return [...new Set(names)].flatMap((name) => {
      const entry = this.#entry(`${below}${name}`);
      return entry === undefined ? [] : [{ ...entry, name }];
    });
  }

  async read(path: RemotePath, version: string, offset: number, length: number) {
    this.#ask(`read ${path} ${offset} ${length}`);
    const file = this.files.get(path);
    if (file?.version !== version) throw refused('ESTALE');
    return file.bytes.subarray(offset, offset + length);
  }

  async write(
    path: RemotePath,
    content: RemoteContent,
    expected: { readonly version: string } | 'nothing' | 'anything',
  ) {
    this.#ask(`write ${path} ${content.size}`);
    const there = this.files.get(path);
    if (expected === 'nothing' && there !== undefined) throw refused('EEXIST');
    if (typeof expected === 'object' && there?.version !== expected.version) throw refused('ESTALE');
    return this.put(path, content.read(0, content.size));
  }

  async remove(path: RemotePath) {
    this.#ask(`remove ${path}`);
    this.files.delete(path);
  }

  async makeDirectory(path: RemotePath) {
    this.#ask(`makeDirectory ${path}`);
    this.kept.add(path);
  }

  async removeDirectory(path: RemotePath) {
    this.#ask(`removeDirectory ${path}`);
    this.kept.delete(path);
  }

  async keepDirectory(path: RemotePath) {
    this.#ask(`keepDirectory ${path}`);
    this.kept.add(path);
  }

  async move(from: RemotePath, to: RemotePath) {
    this.#ask(`move ${from} ${to}`);
    const moved = (path: RemotePath) =>
      path === from || path.startsWith(`${from}/`) ? `${to}${path.slice(from.length)}` : path;
    const files = [...this.files].map(([path, file]) => [moved(path), file] as const);
    const kept = [...this.kept].map(moved);
    this.files.clear();
    this.kept.clear();
    for (const [path, file] of files.sort(([one], [other]) => Number(one === to) - Number(other === to)))
      this.files.set(path, file);
    for (const path of kept) this.kept.add(path);
  }

  async close() {
    this.asked.push('close');
  }
}

const both: OpenMode = { read: true, write: true };
const owner = { mode: 0o644, uid: 0, gid: 0 };
/** Milliseconds of the clock that only goes forward. */
let clock = 0;
let store: MemoryStore;
let tree: FileSystem;

beforeEach(() => {
  clock = 1_000_000;
  mock.method(process, 'hrtime', () => [Math.floor(clock / 1_000), (clock % 1_000) * 1_000_000]);
  store = new MemoryStore();
  tree = remoteFileSystem(store, true);
});
afterEach(() => mock.restoreAll());

const later = (milliseconds = remoteAttributeMilliseconds) => {
  clock += milliseconds;
};
const refuses = (code: string, act: () => unknown) => assert.rejects(async () => act(), { code });
const at = async (name: string, directory = tree.root) =>
  (await tree.lookup(directory, name)) as Attributes | undefined;
const found = async (name: string, directory = tree.root): Promise<Attributes> => {
  const there = await at(name, directory);
  assert.ok(there !== undefined, name);
  return there;
};
const made = async (name: string, directory = tree.root, mode = both) =>
  (await tree.create(directory, name, owner, mode)) as Opened;
const stored = (path: RemotePath) => store.files.get(path)?.bytes.toString();

describe('what is known of a remote entry', () => {
  it('is not asked for again within a second, and is after it', async () => {
    store.put('f', 'one');
    assert.equal((await found('f')).size, 3);
    assert.deepEqual(store.take(), ['stat f']);
    store.put('f', 'longer');
    later(remoteAttributeMilliseconds - 1);
    assert.equal((await found('f')).size, 3);
    assert.deepEqual(store.take(), []);
    later(1);
    const { size, inode } = await found('f');
    assert.deepEqual([size, store.take()], [6, ['stat f']]);
    assert.equal(((await tree.getattr(inode)) as Attributes).size, 6);
    assert.deepEqual(store.take(), []);
    later();
    assert.equal(((await tree.getattr(inode)) as Attributes).size, 6);
    assert.deepEqual(store.take(), ['stat f']);
  });

  it('is gone when the store says so, or has another kind there', async () => {
    store.put('f', 'one');
    const file = await found('f');
    store.files.delete('f');
    assert.ok((await at('f')) !== undefined);
    later();
    assert.equal(await at('f'), undefined);
    assert.equal(((await tree.getattr(file.inode)) as Attributes).links, 0);
    store.put('g', 'one');
    const { inode } = await found('g');
    store.files.delete('g');
    store.put('g/below', 'x');
    later();
    await refuses('ESTALE', () => tree.getattr(inode));
    const directory = await found('g');
    assert.deepEqual([directory.kind, directory.mode, directory.links, directory.size], ['directory', 0o755, 2, 0]);
    assert.notEqual(directory.inode, inode);
    await refuses('ESTALE', () => tree.getattr(99));
    tree.forget?.(directory.inode);
    await refuses('ESTALE', () => tree.getattr(directory.inode));
    tree.forget?.(tree.root);
    assert.equal(((await tree.getattr(tree.root)) as Attributes).kind, 'directory');
  });

  it('is asked for as one listing where one name after another is looked for', async () => {
    for (let count = 0; count < 8; count += 1) store.put(`d/${count}`, 'x');
    const { inode } = await found('d');
    assert.equal(((await tree.readdir(inode)) as unknown[]).length, 8);
    store.take();
    for (let count = 0; count < 8; count += 1) await found(`${count}`, inode);
    assert.deepEqual(store.take(), []);
    later();
    store.files.delete('d/7');
    for (let count = 0; count < 7; count += 1) await found(`${count}`, inode);
    assert.equal(await at('7', inode), undefined);
    assert.deepEqual(store.take(), ['stat d/0', 'stat d/1', 'stat d/2', 'list d', 'list d', 'stat d/7']);
    later(remoteAttributeMilliseconds + 1);
    for (let count = 0; count < 3; count += 1) await found(`${count}`, inode);
    assert.deepEqual(store.take(), ['stat d/0', 'stat d/1', 'stat d/2']);
  });

  it('of a directory with more than a thousand entries is asked for one by one', async () => {
    for (const [directory, count] of [
      ['few', 1_000],
      ['many', 1_001],
    ] as const) {
      for (let each = 0; each < count; each += 1) store.put(`${directory}/${each}`, 'x');
      const { inode } = await found(directory);
      await tree.readdir(inode);
      later();
      store.take();
      for (let each = 0; each < 5; each += 1) await found(`${each}`, inode);
      assert.equal(store.take().includes(`list ${directory}`), directory === 'few');
    }
  });

  it('is not waited for twice in a second where the store takes too long', async () => {
    store.put('f', 'x');
    store.failing = refused('ETIMEDOUT');
    await refuses('ETIMEDOUT', () => at('f'));
    store.take();
    store.failing = undefined;
    await refuses('ETIMEDOUT', () => at('f'));
    await refuses('ETIMEDOUT', () => at('other'));
    assert.deepEqual(store.take(), []);
    later();
    await found('f');
    assert.deepEqual(store.take(), ['stat f']);
    later();
    store.failing = refused('EIO');
    await refuses('EIO', () => at('f'));
    store.failing = undefined;
    await found('f');
  });

  it('are names in UTF-8 of a length that there is, and no others', async () => {
    for (const name of ['', '.', '..', 'a/b', '\xff', 'a\0b']) {
      assert.equal(await at(name), undefined);
    }
    assert.deepEqual(store.take(), []);
    store.put('d/x', 'x');
    const names = ['', '.', '..', 'n'.repeat(256), 'é'];
    for (const name of names) store.files.set(`d/${name}`, { ...store.put('y', 'y'), name });
    store.list = async () => names.map((name) => ({ name, kind: 'file', size: 0, modified: 0n, version: '1' }));
    const { inode } = await found('d');
    assert.deepEqual(
      ((await tree.readdir(inode)) as readonly Entry[]).map(({ name }) => name),
      ['Ã©'],
    );
    await refuses('ENAMETOOLONG', () => tree.lookup(tree.root, 'n'.repeat(256)));
    for (const [name, code] of [
      ['\xff', 'EINVAL'],
      ['n'.repeat(65), 'ENAMETOOLONG'],
    ] as const) {
      await refuses(code, () => made(name));
      await refuses(code, () => tree.mkdir(tree.root, name, owner));
      await refuses(code, () => tree.rename(tree.root, 'y', tree.root, name, 'replace'));
    }
    await made('n'.repeat(64));
  });
});

describe('what is written to a remote tree', () => {
  it('is collected here, and becomes the whole file at fsync, and when the last one closes it', async () => {
    const { handle, attributes } = await made('f');
    assert.deepEqual([attributes.size, attributes.mode, attributes.links, stored('f')], [0, 0o644, 1, '']);
    const other = (await tree.open(attributes.inode, both)) as number;
    assert.equal(await tree.write(handle, 2, Buffer.from('cd')), 2);
    assert.equal(await tree.write(handle, 0, Buffer.from('ab')), 2);
    assert.equal((await found('f')).size, 4);
    later();
    assert.equal((await found('f')).size, 4);
    assert.deepEqual([stored('f'), ((await tree.read(other, 1, 10)) as Buffer).toString()], ['', 'bcd']);
    await tree.fsync(handle);
    assert.equal(stored('f'), 'abcd');
    store.take();
    await tree.fsync(handle);
    await tree.flush?.(handle);
    await tree.sync();
    assert.deepEqual(store.take(), []);
    await tree.write(handle, 0, Buffer.from('X'));
    await tree.release(handle);
    assert.equal(stored('f'), 'abcd');
    await tree.release(other);
    assert.equal(stored('f'), 'Xbcd');
    await refuses('EBADF', () => tree.read(handle, 0, 1));
    const reader = (await tree.open(attributes.inode, { read: true, write: false })) as number;
    assert.equal(((await tree.read(reader, 0, 10)) as Buffer).toString(), 'Xbcd');
    await refuses('EBADF', () => tree.write(reader, 0, Buffer.from('x')));
    await refuses('EINVAL', () => tree.read(reader, -1, 1));
    await refuses('EINVAL', () => tree.read(reader, 0, -1));
    const writer = (await tree.open(attributes.inode, { read: false, write: true, append: true })) as number;
    await refuses('EBADF', () => tree.read(writer, 0, 1));
    await refuses('EINVAL', () => tree.write(writer, -1, Buffer.from('x')));
    await tree.write(writer, 0, Buffer.from('!'));
    await tree.sync();
    assert.equal(stored('f'), 'Xbcd!');
    const larger = 5 * 2 ** 40;
    await refuses('EFBIG', () => tree.setattr(attributes.inode, { size: larger + 1 }));
    const plain = (await tree.open(attributes.inode, both)) as number;
    await refuses('EFBIG', () => tree.write(plain, larger, Buffer.from('x')));
  });

  it('is cut and grown, as it is opened or by its size', async () => {
    store.put('f', 'content');
    const { inode } = await found('f');
    await tree.setattr(inode, { size: 3 });
    assert.equal(stored('f'), 'con');
    await tree.setattr(inode, { size: 5 });
    assert.equal(stored('f'), 'con\0\0');
    store.take();
    const handle = (await tree.open(inode, { ...both, truncate: true })) as number;
    await tree.setattr(inode, { size: 2 });
    assert.deepEqual(store.take(), []);
    await tree.release(handle);
    assert.equal(stored('f'), '\0\0');
    await tree.release((await tree.open(inode, { read: true, write: false, truncate: true })) as number);
    assert.equal(stored('f'), '\0\0');
    store.put('d/x', '');
    const directory = await found('d');
    await refuses('EISDIR', () => tree.setattr(directory.inode, { size: 0 }));
    await refuses('EISDIR', () => tree.open(directory.inode, both));
    await refuses('EINVAL', () => tree.setattr(inode, { size: -1 }));
    await refuses('EINVAL', () => tree.setattr(inode, { size: Number.NaN }));
    const listed = (await tree.open(directory.inode, { read: true, write: false })) as number;
    await refuses('EISDIR', () => tree.read(listed, 0, 1));
  });

  it('is never written over what others wrote meanwhile, nor made over what others made', async () => {
    store.put('f', 'one');
    const { inode } = await found('f');
    const handle = (await tree.open(inode, both)) as number;
    await tree.write(handle, 0, Buffer.from('mine'));
    store.put('f', 'theirs');
    await refuses('ESTALE', () => tree.fsync(handle));
    await refuses('ESTALE', () => tree.release(handle));
    assert.equal(stored('f'), 'theirs');
    later();
    assert.equal((await found('f')).size, 6);
    assert.equal(await at('g'), undefined);
    store.put('g', 'theirs');
    await refuses('EEXIST', () => made('g'));
    await refuses('EEXIST', () => tree.mkdir(tree.root, 'g', owner));
    assert.equal(stored('g'), 'theirs');
    const write = store.write.bind(store);
    store.write = async (path, content, expected) => {
      store.put(path, 'quicker');
      return write(path, content, expected);
    };
    await refuses('EEXIST', () => made('h'));
    assert.equal(stored('h'), 'quicker');
  });

  it('is not written over what others wrote after it was staged, although a listing has told of that', async () => {
    store.put('f', 'one');
    const { inode } = await found('f');
    const handle = (await tree.open(inode, both)) as number;
    await tree.write(handle, 0, Buffer.from('mine'));
    await tree.fsync(handle);
    store.put('f', 'theirs');
    later();
    await tree.readdir(tree.root);
    await tree.write(handle, 4, Buffer.from(' too'));
    await refuses('ESTALE', () => tree.fsync(handle));
    await refuses('ESTALE', () => tree.release(handle));
    assert.equal(stored('f'), 'theirs');
  });

  it('is staged from one version, although another one is heard of meanwhile', async () => {
    store.put('f', Buffer.alloc(3 * remoteBlockBytes, 'a'));
    const { inode } = await found('f');
    const handle = (await tree.open(inode, both)) as number;
    for (let at = 0; at < 3; at += 1) await tree.read(handle, at * remoteBlockBytes, remoteBlockBytes);
    const written = tree.write(handle, 0, Buffer.from('mine'));
    store.put('f', 'theirs');
    later();
    await Promise.all([tree.readdir(tree.root), written]);
    await refuses('ESTALE', () => tree.release(handle));
    assert.equal(stored('f'), 'theirs');
  });

  it('is written although it is closed while a write still waits for its turn', async () => {
    store.put('f', 'one');
    const { inode } = await found('f');
    const handle = (await tree.open(inode, both)) as number;
    await Promise.all([tree.write(handle, 0, Buffer.from('two')), tree.release(handle)]);
    assert.equal(stored('f'), 'two');
  });

  it('follows the move of its directory with what is staged, whatever version it has there', async () => {
    const d = (await tree.mkdir(tree.root, 'd', owner)) as Attributes;
    const { handle } = await made('f', d.inode);
    await tree.write(handle, 0, Buffer.from('one'));
    const move = store.move.bind(store);
    store.move = async (from, to) => {
      await move(from, to);
      store.put(`${to}/f`, stored(`${to}/f`) ?? '');
    };
    await tree.rename(tree.root, 'd', tree.root, 'e', 'replace');
    assert.equal(stored('e/f'), 'one');
    await tree.write(handle, 0, Buffer.from('two'));
    await tree.release(handle);
    assert.equal(stored('e/f'), 'two');
  });

  it('is moved although what is there afterwards cannot be asked', async () => {
    store.put('f', 'one');
    await found('f');
    const move = store.move.bind(store);
    store.move = async (from, to) => {
      await move(from, to);
      store.failing = refused('EIO');
    };
    await tree.rename(tree.root, 'f', tree.root, 'g', 'replace');
    store.failing = undefined;
    assert.deepEqual([...store.files.keys()], ['g']);
    assert.equal((await found('g')).size, 3);
  });

  it('can be read on by who has it open when its name is gone, and goes nowhere', async () => {
    store.put('d/f', 'content');
    const directory = await found('d');
    const { inode } = await found('f', directory.inode);
    const handle = (await tree.open(inode, both)) as number;
    await tree.unlink(directory.inode, 'f');
    assert.deepEqual([store.files.size, store.kept.has('d')], [0, true]);
    assert.equal(((await tree.read(handle, 0, 10)) as Buffer).toString(), 'content');
    await tree.write(handle, 0, Buffer.from('CON'));
    await tree.fsync(handle);
    await tree.release(handle);
    assert.equal(store.files.size, 0);
    await refuses('ENOENT', () => tree.unlink(directory.inode, 'f'));
  });

  it('is made, moved and removed by name, with the rules of each', async () => {
    const d = (await tree.mkdir(tree.root, 'd', owner)) as Attributes;
    const e = (await tree.mkdir(d.inode, 'e', owner)) as Attributes;
    const f = await made('f', e.inode);
    await tree.write(f.handle, 0, Buffer.from('text'));
    await refuses('ENOTEMPTY', () => tree.rmdir(tree.root, 'd'));
    await refuses('ENOTDIR', () => tree.rmdir(e.inode, 'f'));
    await refuses('EISDIR', () => tree.unlink(tree.root, 'd'));
    await refuses('EINVAL', () => tree.rename(tree.root, 'd', e.inode, 'x', 'replace'));
    await refuses('ENOTSUP', () => tree.rename(tree.root, 'd', tree.root, 'x', 'exchange'));
    await refuses('ENOENT', () => tree.rename(tree.root, 'nosuch', tree.root, 'x', 'replace'));
    await tree.rename(tree.root, 'd', tree.root, 'd', 'replace');
    await tree.rename(tree.root, 'd', tree.root, 'moved', 'keep');
    assert.equal(await at('d'), undefined);
    assert.deepEqual([...store.files.keys(), ...store.kept].sort(), ['moved', 'moved/e', 'moved/e/f']);
    assert.equal((await found('f', e.inode)).inode, f.attributes.inode);
    await tree.release(f.handle);
    assert.equal(stored('moved/e/f'), 'text');
    const g = await made('g');
    await tree.release(g.handle);
    await refuses('EEXIST', () => tree.rename(tree.root, 'g', e.inode, 'f', 'keep'));
    await refuses('EISDIR', () => tree.rename(tree.root, 'g', tree.root, 'moved', 'replace'));
    await refuses('ENOTDIR', () => tree.rename(tree.root, 'moved', tree.root, 'g', 'replace'));
    await refuses('ENOTEMPTY', () => tree.rename(d.inode, 'e', tree.root, 'moved', 'replace'));
    const empty = (await tree.mkdir(tree.root, 'empty', owner)) as Attributes;
    await tree.rename(d.inode, 'e', tree.root, 'empty', 'replace');
    assert.equal((await found('empty')).inode, e.inode);
    assert.equal(((await tree.getattr(empty.inode)) as Attributes).links, 0);
    assert.deepEqual(await tree.readdir(empty.inode), []);
    await refuses('ENOENT', () => made('x', empty.inode));
    await refuses('ENOENT', () => tree.mkdir(empty.inode, 'x', owner));
    await refuses('ENOENT', () => tree.rename(tree.root, 'g', empty.inode, 'x', 'replace'));
    assert.equal(await at('x', empty.inode), undefined);
    await tree.rename(tree.root, 'g', e.inode, 'f', 'replace');
    assert.deepEqual([stored('empty/f'), ((await tree.getattr(f.attributes.inode)) as Attributes).links], ['', 0]);
    await tree.unlink(e.inode, 'f');
    await tree.rmdir(tree.root, 'empty');
    await tree.rmdir(tree.root, 'moved');
    assert.deepEqual(
      [...store.files.keys(), ...store.kept.keys()].filter((path) => path !== ''),
      [],
    );
  });

  it('is nothing that a store does not have', async () => {
    const { attributes, handle } = await made('f');
    const { inode, uid, gid } = attributes;
    for (const changes of [{ mode: 0o600 }, { uid: uid + 1 }, { gid: gid + 1 }, { accessed: 1n }, { modified: 1n }]) {
      await refuses('ENOTSUP', () => tree.setattr(inode, changes));
    }
    await tree.setattr(inode, { mode: 0o644, uid, gid, accessed: 'now', modified: 'now' });
    for (const kind of ['fifo', 'socket', 'character', 'block'] as const) {
      await refuses('EPERM', () => tree.mknod(tree.root, 'x', owner, kind, 0));
    }
    for (const kind of ['directory', 'symlink'] as const) {
      await refuses('EINVAL', () => tree.mknod(tree.root, 'x', owner, kind, 0));
    }
    assert.equal(((await tree.mknod(tree.root, 'x', owner, 'file', 0)) as Attributes).kind, 'file');
    await refuses('EPERM', () => tree.link(inode, tree.root, 'l'));
    await refuses('EPERM', () => tree.symlink(tree.root, 'l', 'x', owner));
    await refuses('EINVAL', () => tree.readlink(inode));
    await refuses('ENOTSUP', () => tree.getxattr(inode, 'user.a'));
    await refuses('ENOTSUP', () => tree.setxattr(inode, 'user.a', Buffer.alloc(1), 'any'));
    await refuses('ENOTSUP', () => tree.removexattr(inode, 'user.a'));
    await refuses('ENOTSUP', () => tree.allocate(handle, 0, 1, 'keep'));
    await refuses('ENOTSUP', () => tree.watch(() => undefined));
    assert.deepEqual(await tree.listxattr(inode), []);
    await tree.write(handle, 0, Buffer.from('data'));
    assert.deepEqual([await tree.seek(handle, 1, 'data'), await tree.seek(handle, 1, 'hole')], [1, 4]);
    for (const offset of [-1, 4]) await refuses('ENXIO', () => tree.seek(handle, offset, 'data'));
    for (const [name, act] of Object.entries({
      lookup: () => tree.lookup(inode, 'x'),
      readdir: () => tree.readdir(inode),
      create: () => made('x', inode),
      mkdir: () => tree.mkdir(inode, 'x', owner),
      unlink: () => tree.unlink(inode, 'x'),
      rmdir: () => tree.rmdir(inode, 'x'),
      rename: () => tree.rename(tree.root, 'f', inode, 'x', 'replace'),
    })) {
      await assert.rejects(async () => act(), { code: 'ENOTDIR' }, name);
    }
  });

  it('goes to the store when the tree is closed, and the store is closed in any case', async () => {
    const { handle } = await made('f');
    await tree.write(handle, 0, Buffer.from('last'));
    await tree.close();
    assert.deepEqual([stored('f'), store.asked.at(-1)], ['last', 'close']);
    tree = remoteFileSystem(store, true);
    const again = (await tree.open((await found('f')).inode, both)) as number;
    await tree.write(again, 0, Buffer.from('more'));
    store.failing = refused('EIO');
    await refuses('EIO', () => tree.close());
    assert.equal(store.asked.at(-1), 'close');
  });

  it('goes to the store also where that of another file is refused, unless the store does not answer', async () => {
    for (const way of ['sync', 'close'] as const) {
      for (const [at, name] of ['first', 'second', 'third'].entries()) {
        const { handle } = await made(`${way}-${name}`);
        await tree.write(handle, 0, Buffer.from(`ours ${at}`));
      }
      store.put(`${way}-first`, 'theirs');
      await refuses('ESTALE', () => tree[way]());
      const now = ['first', 'second', 'third'].map((name) => stored(`${way}-${name}`));
      assert.deepEqual(now, ['theirs', 'ours 1', 'ours 2'], way);
    }
    tree = remoteFileSystem(store, true);
    for (const name of ['one', 'other']) {
      const { handle } = await made(name);
      await tree.write(handle, 0, Buffer.from('ours'));
    }
    store.take();
    store.failing = refused('ETIMEDOUT');
    await refuses('ETIMEDOUT', () => tree.sync());
    assert.equal(store.take().length, 1);
  });

  it('is refused by one that was opened to be read, which shows that in its modes', async () => {
    store.put('d/f', 'text');
    tree = remoteFileSystem(store, false);
    const directory = await found('d');
    const file = await found('f', directory.inode);
    assert.deepEqual([directory.mode, file.mode], [0o555, 0o444]);
    await refuses('EROFS', () => made('x'));
    await refuses('EROFS', () => tree.open(file.inode, both));
    await refuses('EROFS', () => tree.unlink(directory.inode, 'f'));
    assert.deepEqual(store.take(), ['stat d', 'stat d/f']);
  });

  it('has its parts read once while it stays, and of a larger file only those that are needed', async () => {
    const bytes = Buffer.alloc(2 * remoteBlockBytes + 5, 'x');
    store.put('f', bytes);
    const { inode, blocks } = await found('f');
    assert.equal(blocks, Math.ceil(bytes.length / 512));
    const handle = (await tree.open(inode, both)) as number;
    store.take();
    assert.equal(((await tree.read(handle, remoteBlockBytes + 1, 3)) as Buffer).toString(), 'xxx');
    assert.deepEqual(store.take(), [`read f ${remoteBlockBytes} ${remoteBlockBytes}`]);
    assert.equal(((await tree.read(handle, 2 * remoteBlockBytes, 100)) as Buffer).length, 5);
    assert.ok(store.take().includes(`read f ${2 * remoteBlockBytes} 5`));
    assert.equal(((await tree.read(handle, bytes.length, 1)) as Buffer).length, 0);
    await tree.setattr(inode, { size: 1 });
    assert.ok(!store.take().some((each) => each.includes(`${remoteBlockBytes} `) && !each.includes(' 0 ')));
    await tree.release(handle);
    assert.equal(stored('f'), 'x');
  });
});
