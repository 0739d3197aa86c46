/**
 * What every engine has to do, as a table: each case has a new tree. What an engine declares that it cannot do, it refuses with the
 * declared errno, and that is tested too.
 */
import assert from 'node:assert/strict';
import { ErrnoError } from '../../src/base/errno.js';
import type { Attributes, FileSystem, Handle, Inode, LockRequest } from '../../src/vfs/filesystem.js';
import { directoryMode, fileMode } from './engines.js';

const both = { read: true, write: true };

/** Engines may answer later: a case waits for everything. */
export class Subject {
  readonly fs: FileSystem;

  constructor(filesystem: FileSystem) {
    this.fs = filesystem;
  }

  async file(name: string, text = '', directory: Inode = this.fs.root): Promise<Attributes> {
    const { handle } = await this.fs.create(directory, name, fileMode, both);
    if (text !== '') await this.fs.write(handle, 0, Buffer.from(text));
    await this.fs.release(handle);
    return this.find(name, directory);
  }

  async directory(name: string, parent: Inode = this.fs.root): Promise<Attributes> {
    return this.fs.mkdir(parent, name, directoryMode);
  }

  async find(name: string, directory: Inode = this.fs.root): Promise<Attributes> {
    const found = await this.fs.lookup(directory, name);
    assert.ok(found, `expected ${name}`);
    return found;
  }

  async text(name: string, directory: Inode = this.fs.root): Promise<string> {
    const { inode } = await this.find(name, directory);
    const reading = { read: true, write: false };
    return this.with(inode, async (handle) => (await this.fs.read(handle, 0, 1 << 20)).toString(), reading);
  }

  async with<T>(inode: Inode, act: (handle: Handle) => Promise<T>, mode = both): Promise<T> {
    const handle = await this.fs.open(inode, mode);
    try {
      return await act(handle);
    } finally {
      await this.fs.release(handle);
    }
  }

  async names(directory: Inode = this.fs.root): Promise<string[]> {
    return (await this.fs.readdir(directory)).map(({ name }) => name).sort();
  }

  async refuses(code: string, act: () => unknown): Promise<void> {
    await assert.rejects(
      async () => act(),
      (error: unknown) => {
        assert.ok(error instanceof ErrnoError, String(error));
        assert.equal(error.code, code, error.message);
        return true;
      },
    );
  }
}

export type Case = (subject: Subject) => Promise<void>;

export const cases: Readonly<Record<string, Case>> = {
  'a new tree is an empty directory': async (s) => {
    const root = await s.fs.getattr(s.fs.root);
    assert.equal(root.kind, 'directory');
    assert.deepEqual(await s.names(), []);
    assert.equal(await s.fs.lookup(s.fs.root, 'nothing'), undefined);
  },
  'what is written is read back, over and past the end': async (s) => {
    const { inode } = await s.file('f', 'hello world');
    await s.with(inode, async (handle) => {
      await s.fs.write(handle, 6, Buffer.from('there'));
      assert.equal((await s.fs.read(handle, 0, 100)).toString(), 'hello there');
      assert.equal((await s.fs.read(handle, 6, 3)).toString(), 'the');
      assert.equal((await s.fs.read(handle, 11, 5)).length, 0);
      assert.equal((await s.fs.read(handle, 500, 5)).length, 0);
    });
    assert.equal((await s.fs.getattr(inode)).size, 11);
  },
  'a lock keeps others out of its range, and ends with what it was taken through': async (s) => {
    const { inode } = await s.file('f', 'text');
    const [one, other] = [await s.fs.open(inode, both), await s.fs.open(inode, both)];
    const ask = (handle: Handle, kind: LockRequest['kind'], start = 0, end = Infinity, more = {}) =>
      s.fs.lock(handle, { family: 'ranges', owner: `owner ${handle}`, kind, start, end, ...more });
    assert.equal(await ask(one, 'exclusive', 0, 10), undefined);
    assert.deepEqual(await ask(other, 'shared', 5, 6, { test: true }), { kind: 'exclusive', start: 0, end: 10 });
    assert.ok(await ask(other, 'exclusive', 9, 20));
    assert.equal(await ask(other, 'exclusive', 10, 20), undefined);
    // What an owner has of a range is replaced by what it asks for there.
    assert.equal(await ask(one, 'shared', 4, 6), undefined);
    assert.equal(await ask(other, 'shared', 4, 6), undefined);
    assert.ok(await ask(other, 'shared', 3, 5));
    assert.equal(await ask(one, 'none', 0, 4), undefined);
    assert.equal(await ask(other, 'exclusive', 0, 4), undefined);
    assert.ok(await ask(one, 'exclusive'), 'the whole file');
    const whole = { family: 'whole' };
    assert.equal(await ask(one, 'exclusive', 0, Infinity, whole), undefined, 'the families know nothing of each other');
    assert.ok(await ask(other, 'shared', 0, Infinity, whole));
    await s.fs.release(one);
    assert.equal(await ask(other, 'exclusive'), undefined);
    assert.equal(await ask(other, 'shared', 0, Infinity, whole), undefined);
    await s.fs.release(other);
    await s.with(inode, async (handle) => assert.equal(await ask(handle, 'exclusive'), undefined));
  },
  'a lock is refused where its range is empty, or the handle is not open for it': async (s) => {
    const { inode } = await s.file('f', 'text');
    const reading = await s.fs.open(inode, { read: true, write: false });
    const range = { family: 'ranges', owner: 'a', start: 0, end: Infinity } as const;
    await s.refuses('EBADF', () => s.fs.lock(reading, { ...range, kind: 'exclusive' }));
    assert.equal(await s.fs.lock(reading, { ...range, kind: 'exclusive', test: true }), undefined);
    await s.refuses('EINVAL', () => s.fs.lock(reading, { ...range, kind: 'shared', end: 0 }));
    await s.refuses('EINVAL', () => s.fs.lock(reading, { ...range, kind: 'shared', start: -1 }));
    assert.equal(await s.fs.lock(reading, { ...range, kind: 'shared' }), undefined);
    await s.fs.release(reading);
    await s.refuses('EBADF', () => s.fs.lock(reading, { ...range, kind: 'shared' }));
  },
  'a gap before a write reads as zeros': async (s) => {
    const { inode } = await s.file('f', 'ab');
    await s.with(inode, async (handle) => {
      await s.fs.write(handle, 200_000, Buffer.from('end'));
      const bytes = await s.fs.read(handle, 0, 300_000);
      assert.equal(bytes.length, 200_003);
      assert.equal(bytes.toString('latin1', 0, 2), 'ab');
      assert.ok(bytes.subarray(2, 200_000).every((byte) => byte === 0));
      assert.equal(bytes.toString('latin1', 200_000), 'end');
    });
  },
  'a read may begin and end anywhere, also where nothing was written': async (s) => {
    const { inode } = await s.file('f', 'x'.repeat(20_000));
    await s.fs.setattr(inode, { size: 200_000 });
    await s.with(inode, async (handle) => {
      await s.fs.write(handle, 150_000, Buffer.from('y'));
      for (const [offset, length] of [
        [19_990, 20],
        [40_000, 10],
        [60_000, 10_000],
        [149_990, 20],
        [199_990, 100],
      ] as const) {
        const expected = Buffer.alloc(Math.min(length, 200_000 - offset));
        for (const index of expected.keys()) {
          const at = offset + index;
          expected[index] = at < 20_000 ? 0x78 : at === 150_000 ? 0x79 : 0;
        }
        assert.deepEqual(await s.fs.read(handle, offset, length), expected, `${offset}`);
      }
    });
  },
  'a file that shrank and grew again holds zeros': async (s) => {
    const { inode } = await s.file('f', 'x'.repeat(100_000));
    await s.fs.setattr(inode, { size: 10 });
    await s.fs.setattr(inode, { size: 90_000 });
    await s.with(inode, async (handle) => {
      const bytes = await s.fs.read(handle, 0, 100_000);
      assert.equal(bytes.length, 90_000);
      assert.ok(bytes.subarray(10).every((byte) => byte === 0));
    });
  },
  'large writes cross every boundary': async (s) => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) & 255));
    const { inode } = await s.file('f');
    await s.with(inode, async (handle) => {
      await s.fs.write(handle, 5, bytes);
      assert.deepEqual(await s.fs.read(handle, 5, bytes.length), bytes);
      assert.deepEqual(await s.fs.read(handle, 65_530, 20), bytes.subarray(65_525, 65_545));
    });
  },
  'appending goes to the end wherever it says': async (s) => {
    const { inode } = await s.file('f', 'one');
    const mode = { read: true, write: true, append: true };
    await s.with(inode, async (handle) => void (await s.fs.write(handle, 0, Buffer.from('two'))), mode);
    assert.equal(await s.text('f'), 'onetwo');
  },
  'opening to truncate empties it': async (s) => {
    const { inode } = await s.file('f', 'one');
    await s.with(inode, async () => undefined, { ...both, truncate: true } as typeof both);
    assert.equal((await s.find('f')).size, 0);
  },
  'a handle does what it was opened for': async (s) => {
    const { inode } = await s.file('f', 'x');
    const reading = await s.fs.open(inode, { read: true, write: false });
    await s.refuses('EBADF', () => s.fs.write(reading, 0, Buffer.from('y')));
    await s.fs.release(reading);
    const writing = await s.fs.open(inode, { read: false, write: true });
    await s.refuses('EBADF', () => s.fs.read(writing, 0, 1));
    await s.fs.release(writing);
    await s.refuses('EBADF', () => s.fs.read(reading, 0, 1));
    await s.refuses('EBADF', () => s.fs.release(writing));
  },
  'a name exists once': async (s) => {
    await s.file('f');
    await s.directory('d');
    for (const name of ['f', 'd']) {
      await s.refuses('EEXIST', () => s.fs.create(s.fs.root, name, fileMode, both));
      await s.refuses('EEXIST', () => s.fs.mkdir(s.fs.root, name, directoryMode));
      if (s.fs.capabilities.symlinks) await s.refuses('EEXIST', () => s.fs.symlink(s.fs.root, name, 'x', fileMode));
    }
  },
  'a name is bytes': async (s) => {
    // rclone, which serves the trees of this suite, shows control characters as pictures when it reads a directory anew.
    const controls = s.fs.label.startsWith('webdav') ? [] : ['a\nb'];
    const text = ['caf\xc3\xa9', ' ', '-rf', ...controls, '...', '%2e', '?x#y', 'x'.repeat(255)];
    if (!s.fs.capabilities.byteNames) await s.refuses('EINVAL', () => s.file('\xff\xfe'));
    const names = s.fs.capabilities.byteNames ? ['\xff\xfe', ...text] : text;
    for (const name of names) await s.file(name, 'x');
    assert.deepEqual(await s.names(), [...names].sort());
    for (const name of names) assert.equal((await s.find(name)).size, 1);
  },
  'what is no name is refused': async (s) => {
    for (const name of ['.', '..', '', 'a/b', 'a\0b']) await s.refuses('EINVAL', () => s.directory(name));
    await s.refuses('ENAMETOOLONG', () => s.directory('x'.repeat(256)));
    await s.refuses('ENAMETOOLONG', () => s.fs.lookup(s.fs.root, 'x'.repeat(256)));
  },
  'a file is no directory': async (s) => {
    const { inode } = await s.file('f');
    await s.refuses('ENOTDIR', () => s.fs.lookup(inode, 'x'));
    await s.refuses('ENOTDIR', () => s.fs.readdir(inode));
    await s.refuses('ENOTDIR', () => s.fs.mkdir(inode, 'x', directoryMode));
    await s.refuses('ENOTDIR', () => s.fs.rmdir(s.fs.root, 'f'));
  },
  'a directory is no file': async (s) => {
    const { inode } = await s.directory('d');
    await s.refuses('EISDIR', () => s.fs.open(inode, both));
    await s.refuses('EISDIR', () => s.fs.unlink(s.fs.root, 'd'));
    await s.refuses('EISDIR', () => s.fs.setattr(inode, { size: 0 }));
  },
  'directories go when they are empty': async (s) => {
    const { inode } = await s.directory('d');
    await s.file('f', '', inode);
    await s.refuses('ENOTEMPTY', () => s.fs.rmdir(s.fs.root, 'd'));
    await s.fs.unlink(inode, 'f');
    await s.fs.rmdir(s.fs.root, 'd');
    assert.deepEqual(await s.names(), []);
    await s.refuses('ENOENT', () => s.fs.rmdir(s.fs.root, 'd'));
    await s.refuses('ENOENT', () => s.fs.unlink(s.fs.root, 'f'));
  },
  'a directory counts its subdirectories': async (s) => {
    const { inode, links } = await s.directory('d');
    await s.directory('one', inode);
    await s.directory('two', inode);
    const counted = (await s.fs.getattr(inode)).links;
    // Some disks count none: then it stays the same.
    assert.ok(counted === links + 2 || counted === links, `${links} then ${counted}`);
  },
  'an open file outlives its name': async (s) => {
    const { inode } = await s.file('f', 'still');
    await s.with(inode, async (handle) => {
      await s.fs.unlink(s.fs.root, 'f');
      assert.equal(await s.fs.lookup(s.fs.root, 'f'), undefined);
      assert.equal((await s.fs.read(handle, 0, 9)).toString(), 'still');
    });
  },
  'rename moves and replaces': async (s) => {
    const { inode: directory } = await s.directory('d');
    const { inode } = await s.file('f', 'new');
    await s.file('g', 'old', directory);
    await s.fs.rename(s.fs.root, 'f', directory, 'g', 'replace');
    assert.deepEqual(await s.names(), ['d']);
    assert.equal(await s.text('g', directory), 'new');
    assert.equal((await s.find('g', directory)).inode, inode);
    await s.refuses('ENOENT', () => s.fs.rename(s.fs.root, 'f', directory, 'h', 'replace'));
  },
  'rename of directories': async (s) => {
    const { inode: one } = await s.directory('one');
    const { inode: two } = await s.directory('two');
    await s.file('f', 'x', one);
    await s.refuses('EINVAL', () => s.fs.rename(s.fs.root, 'one', one, 'below', 'replace'));
    await s.refuses('ENOTEMPTY', () => s.fs.rename(s.fs.root, 'two', s.fs.root, 'one', 'replace'));
    await s.file('g');
    await s.refuses('ENOTDIR', () => s.fs.rename(s.fs.root, 'one', s.fs.root, 'g', 'replace'));
    await s.refuses('EISDIR', () => s.fs.rename(s.fs.root, 'g', s.fs.root, 'two', 'replace'));
    await s.fs.rename(s.fs.root, 'one', two, 'moved', 'replace');
    const moved = await s.find('moved', two);
    assert.equal(await s.text('f', moved.inode), 'x');
    await s.directory('empty');
    await s.fs.rename(two, 'moved', s.fs.root, 'empty', 'replace');
    assert.deepEqual(await s.names(), ['empty', 'g', 'two']);
  },
  'rename that must not replace': async (s) => {
    await s.file('f', 'f');
    await s.file('g', 'g');
    await s.directory('d');
    await s.refuses('EEXIST', () => s.fs.rename(s.fs.root, 'f', s.fs.root, 'g', 'keep'));
    await s.refuses('EEXIST', () => s.fs.rename(s.fs.root, 'd', s.fs.root, 'g', 'keep'));
    await s.fs.rename(s.fs.root, 'f', s.fs.root, 'h', 'keep');
    await s.fs.rename(s.fs.root, 'd', s.fs.root, 'e', 'keep');
    assert.deepEqual(await s.names(), ['e', 'g', 'h']);
  },
  'rename that exchanges, where it can': async (s) => {
    const { inode } = await s.directory('d');
    await s.file('f', 'f');
    await s.file('below', 'below', inode);
    const exchange = () => s.fs.rename(s.fs.root, 'f', inode, 'below', 'exchange');
    if (!s.fs.capabilities.exchange) {
      await s.refuses('ENOTSUP', exchange);
      return;
    }
    await exchange();
    assert.equal(await s.text('f'), 'below');
    assert.equal(await s.text('below', inode), 'f');
    await s.refuses('ENOENT', () => s.fs.rename(s.fs.root, 'f', inode, 'nothing', 'exchange'));
    await s.fs.rename(s.fs.root, 'f', s.fs.root, 'd', 'exchange');
    assert.equal((await s.find('f')).kind, 'directory');
  },
  'hard links are one file, where there are any': async (s) => {
    const { inode } = await s.file('f', 'one');
    const { inode: directory } = await s.directory('d');
    if (!s.fs.capabilities.hardLinks) {
      await s.refuses('EPERM', () => s.fs.link(inode, s.fs.root, 'g'));
      return;
    }
    assert.equal((await s.fs.link(inode, directory, 'g')).links, 2);
    await s.with(inode, async (handle) => void (await s.fs.write(handle, 0, Buffer.from('two'))));
    assert.equal(await s.text('g', directory), 'two');
    await s.fs.unlink(s.fs.root, 'f');
    assert.equal((await s.find('g', directory)).links, 1);
    assert.equal(await s.text('g', directory), 'two');
    await s.refuses('EPERM', () => s.fs.link(directory, s.fs.root, 'e'));
    await s.refuses('EEXIST', () => s.fs.link(inode, directory, 'g'));
  },
  'links hold their text, where there are any': async (s) => {
    if (!s.fs.capabilities.symlinks) {
      await s.refuses('EPERM', () => s.fs.symlink(s.fs.root, 'l', 'x', fileMode));
      const { inode } = await s.file('f');
      await s.refuses('EINVAL', () => s.fs.readlink(inode));
      return;
    }
    const made = await s.fs.symlink(s.fs.root, 'l', '../out/\xff', fileMode);
    assert.equal(made.kind, 'symlink');
    assert.equal(await s.fs.readlink(made.inode), '../out/\xff');
    await s.refuses('ELOOP', () => s.fs.open(made.inode, both));
    const { inode } = await s.file('f');
    await s.refuses('EINVAL', () => s.fs.readlink(inode));
    await s.refuses('ENOENT', () => s.fs.symlink(s.fs.root, 'm', '', fileMode));
  },
  'modes and times stay as they are set, where there are any': async (s) => {
    const { inode, mode } = await s.file('f');
    if (!s.fs.capabilities.modes) {
      await s.refuses('ENOTSUP', () => s.fs.setattr(inode, { mode: 0o1640 }));
      await s.refuses('ENOTSUP', () => s.fs.setattr(inode, { modified: 0n }));
      assert.equal((await s.fs.setattr(inode, { mode, modified: 'now' })).mode, mode);
      await s.refuses('EINVAL', () => s.fs.setattr(inode, { size: -1 }));
      return;
    }
    const times = { accessed: 1_000_000_000_123_456_000n, modified: 1_100_000_000_654_321_000n };
    const set = await s.fs.setattr(inode, { mode: 0o1640, ...times });
    assert.equal(set.mode, 0o1640);
    assert.equal(set.accessed, times.accessed);
    assert.equal(set.modified, times.modified);
    await s.refuses('EINVAL', () => s.fs.setattr(inode, { size: -1 }));
  },
  'a change in a directory changes its time, where it has one': async (s) => {
    if (!s.fs.capabilities.modes) return;
    const { inode } = await s.directory('d');
    await s.fs.setattr(inode, { modified: 0n });
    await s.file('f', '', inode);
    assert.ok((await s.fs.getattr(inode)).modified > 0n);
  },
  'attributes, where there are any': async (s) => {
    const { inode } = await s.file('f');
    const set = (value: string, rule: 'create' | 'replace' | 'any') =>
      s.fs.setxattr(inode, 'user.x', Buffer.from(value), rule);
    if (!s.fs.capabilities.attributes) {
      await s.refuses('ENOTSUP', () => set('1', 'any'));
      return;
    }
    await s.refuses('ENODATA', () => s.fs.getxattr(inode, 'user.x'));
    await s.refuses('ENODATA', () => set('0', 'replace'));
    // No one would go by an ACL.
    for (const name of ['system.posix_acl_access', 'system.posix_acl_default', 'other'])
      await s.refuses('ENOTSUP', () => s.fs.setxattr(inode, name, Buffer.from('x'), 'any'));
    await s.refuses('EINVAL', () => s.fs.setxattr(inode, 'user.', Buffer.from('x'), 'any'));
    await set('1', 'create');
    await s.refuses('EEXIST', () => set('2', 'create'));
    await set('', 'replace');
    assert.equal((await s.fs.getxattr(inode, 'user.x')).length, 0);
    assert.deepEqual(await s.fs.listxattr(inode), ['user.x']);
    await s.fs.removexattr(inode, 'user.x');
    await s.refuses('ENODATA', () => s.fs.removexattr(inode, 'user.x'));
  },
  'devices and pipes, where there are any': async (s) => {
    const make = () => s.fs.mknod(s.fs.root, 'p', fileMode, 'fifo', 0);
    if (!s.fs.capabilities.devices) {
      await s.refuses('EPERM', make);
      return;
    }
    const { inode } = await make();
    assert.equal((await s.find('p')).kind, 'fifo');
    await s.refuses('ENXIO', () => s.fs.open(inode, both));
    assert.equal((await s.fs.mknod(s.fs.root, 'c', fileMode, 'character', 259)).device, 259);
  },
  'holes are made and found, where there are any': async (s) => {
    const { inode } = await s.file('f', 'x'.repeat(300_000));
    await s.with(inode, async (handle) => {
      const punch = () => s.fs.allocate(handle, 65_536, 131_072, 'punch');
      if (!s.fs.capabilities.holes) {
        await s.refuses('ENOTSUP', punch);
        return;
      }
      await punch();
      assert.ok((await s.fs.read(handle, 65_536, 131_072)).every((byte) => byte === 0));
      assert.equal((await s.fs.read(handle, 65_535, 1)).toString(), 'x');
      assert.equal(await s.fs.seek(handle, 0, 'hole'), 65_536);
      assert.equal(await s.fs.seek(handle, 65_536, 'data'), 196_608);
      assert.equal(await s.fs.seek(handle, 200_000, 'hole'), 300_000);
      await s.refuses('ENXIO', () => s.fs.seek(handle, 300_000, 'data'));
      await s.fs.allocate(handle, 0, 400_000, 'extend');
      assert.equal((await s.fs.getattr(inode)).size, 400_000);
    });
  },
  'a directory of many': async (s) => {
    // Of a remote engine each file takes several round trips; that its listings have pages is a test of its own.
    const count = s.fs.capabilities.immediate ? 400 : 24;
    const names = Array.from({ length: count }, (_, index) => `file-${index * 7919}`);
    for (const name of names) await s.file(name);
    assert.deepEqual(await s.names(), [...names].sort());
    for (const name of names) await s.fs.unlink(s.fs.root, name);
    assert.deepEqual(await s.names(), []);
  },
};
