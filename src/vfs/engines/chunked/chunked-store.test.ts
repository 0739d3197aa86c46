/** What becomes of a chunked tree whose transactions fail, and of one that nobody asks for anything any more. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { ErrnoError } from '../../../base/errno.js';
import { nativeProgram } from '../../../base/native-program.js';
import type { Attributes, Entry, FileSystem, Opened, Space } from '../../filesystem.js';
import { chunkedFileSystem } from './chunked.js';
import { ChunkDatabase } from './database.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-chunked-store-'));
after(() => rmSync(directory, { recursive: true }));
const lockLibrary = nativeProgram('flock.node');
const root = { mode: 0o755, uid: 0, gid: 0 };
const both = { read: true, write: true };
const { commit } = ChunkDatabase.prototype;
afterEach(() => {
  ChunkDatabase.prototype.commit = commit;
});
const fail = () => {
  ChunkDatabase.prototype.commit = () => {
    throw new ErrnoError('ENOSPC', { operation: 'write', reason: 'as the test has it' });
  };
};
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
let number = 0;
const opened = (writable = true, file = join(directory, `${++number}`)) =>
  chunkedFileSystem({ file, writable, create: true, lockLibrary, root });
const names = (filesystem: FileSystem) =>
  (filesystem.readdir(filesystem.root) as readonly Entry[]).map(({ name }) => name);

describe('a chunked tree that cannot be written to its file', () => {
  it('has done each call that succeeded, and nothing of one that was refused, and goes on when there is room', async () => {
    const filesystem = await opened();
    const { handle } = filesystem.create(filesystem.root, 'f', root, both) as Opened;
    fail();
    let written = 0;
    assert.throws(
      () => {
        for (; written < 64; written += 1) filesystem.write(handle, written * 2 ** 20, Buffer.alloc(2 ** 20, written));
      },
      { code: 'ENOSPC' },
    );
    assert.equal((filesystem.lookup(filesystem.root, 'f') as Attributes).size, written * 2 ** 20);
    for (const act of [
      () => filesystem.mkdir(filesystem.root, 'd', root),
      () => filesystem.rename(filesystem.root, 'f', filesystem.root, 'g', 'replace'),
      () => filesystem.unlink(filesystem.root, 'f'),
      () => filesystem.setattr(2, { mode: 0 }),
      () => filesystem.open(2, { read: true, write: true, truncate: true }),
      () => filesystem.fsync(handle),
    ])
      assert.throws(act, { code: 'ENOSPC' });
    assert.deepEqual(names(filesystem), ['f']);
    ChunkDatabase.prototype.commit = commit;
    await pause(1_050);
    filesystem.mkdir(filesystem.root, 'd', root);
    assert.equal((filesystem.read(handle, (written - 1) * 2 ** 20, 1) as Buffer)[0], written - 1);
    await filesystem.close();
  });
});

describe('the file of a chunked tree', () => {
  it('is a file: a pipe is not waited for, and a device ends no process', async () => {
    const pipe = join(directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const file of [pipe, '/dev/null', '/dev/zero'])
      for (const writable of [true, false])
        await assert.rejects(opened(writable, file), { code: 'EINVAL', path: file }, `${file} ${writable}`);
  });
});

describe('the lock file beside a chunked tree', () => {
  const planted: Readonly<Record<string, (path: string, own: string) => void>> = {
    'a link to a file': (path, own) => symlinkSync(own, path),
    'a link to nothing': (path) => symlinkSync(join(directory, 'made by a link'), path),
    'another file': (path) => writeFileSync(path, 'notes of a person\n'),
    'a second name of a file': (path, own) => linkSync(own, path),
    'a directory': (path) => mkdirSync(path),
    'a pipe': (path) => execFileSync('mkfifo', [path]),
  };
  for (const [what, plant] of Object.entries(planted)) {
    it(`is not ${what}: that is refused by name, and nothing is written to it`, async () => {
      const file = join(directory, `${++number}`);
      await (await opened(true, file)).close();
      const own = join(directory, `own ${number}`);
      writeFileSync(own, 'a file of the person\n');
      rmSync(`${file}-lock`);
      plant(`${file}-lock`, own);
      for (const writable of [true, false])
        await assert.rejects(opened(writable, file), { code: 'EINVAL', path: `${file}-lock` }, `${writable}`);
      assert.equal(readFileSync(own, 'utf8'), 'a file of the person\n');
      assert.throws(() => statSync(join(directory, 'made by a link')), { code: 'ENOENT' });
    });
  }

  it('may be empty, or without a mark, as a kill leaves it', async () => {
    const file = join(directory, `${++number}`);
    await (await opened(true, file)).close();
    for (const bytes of [0, 1, 8272, 100_000]) {
      truncateSync(`${file}-lock`, 0);
      truncateSync(`${file}-lock`, bytes);
      for (const writable of [true, false]) await (await opened(writable, file)).close();
    }
  });

  it('is to be opened again by its maker, whatever the umask is, and so is the tree', async () => {
    const before = process.umask(0o777);
    try {
      const file = join(directory, `${++number}`);
      await (await opened(true, file)).close();
      for (const name of [file, `${file}-lock`]) assert.equal(statSync(name).mode & 0o777, 0o600, name);
      process.umask(0o027);
      await (await opened(true, `${file} too`)).close();
      for (const name of [`${file} too`, `${file} too-lock`]) assert.equal(statSync(name).mode & 0o777, 0o640, name);
    } finally {
      process.umask(before);
    }
  });
});

describe('a chunked tree that is asked for nothing any more', () => {
  it('is in its file after a second', async () => {
    const filesystem = await opened();
    filesystem.mkdir(filesystem.root, 'd', root);
    await pause(1_300);
    const reader = await opened(false, join(directory, `${number}`));
    assert.deepEqual(names(reader), ['d']);
    await reader.close();
    await filesystem.close();
  });
});

describe('what was written into one chunk', () => {
  it('is whole in the file, in whichever order its parts came', async () => {
    const parts = [
      [0, 40],
      [30, 20],
      [10, 5],
      [60, 10],
    ] as const;
    const ordersOf = (left: readonly number[]): readonly (readonly number[])[] =>
      left.length === 0
        ? [[]]
        : left.flatMap((first) => ordersOf(left.filter((each) => each !== first)).map((rest) => [first, ...rest]));
    const filesystem = await opened();
    const written = ordersOf([0, 1, 2, 3]).map((order) => {
      const whole = Buffer.alloc(70);
      const { handle } = filesystem.create(filesystem.root, order.join(''), root, both) as Opened;
      for (const part of order) {
        const [at = 0, length = 0] = parts[part] ?? [];
        const bytes = Buffer.alloc(length, part + 1);
        bytes.copy(whole, at);
        filesystem.write(handle, at, bytes);
      }
      filesystem.release(handle);
      return [order.join(''), whole] as const;
    });
    await filesystem.close();
    const reader = await opened(false, join(directory, `${number}`));
    for (const [name, whole] of written) {
      const { inode } = reader.lookup(reader.root, name) as Attributes;
      const handle = reader.open(inode, { read: true, write: false }) as Opened['handle'];
      assert.deepEqual(reader.read(handle, 0, whole.length), whole, name);
    }
    await reader.close();
  });
});

it('a chunked tree counts extended attributes as bytes, over its end, a snapshot and the removal of their file', async () => {
  const file = join(directory, `${++number}`);
  const used = (filesystem: FileSystem) => {
    const { blocks, freeBlocks, blockSize } = filesystem.statfs() as Space;
    return (blocks - freeBlocks) * blockSize;
  };
  let filesystem = await opened(true, file);
  const { attributes, handle } = filesystem.create(filesystem.root, 'f', root, both) as Opened;
  filesystem.release(handle);
  assert.equal(used(filesystem), 0);
  filesystem.setxattr(attributes.inode, 'user.x', Buffer.alloc(60_000), 'any');
  const full = used(filesystem);
  assert.ok(full >= 60_000 && full < 70_000, `${full}`);
  await filesystem.close();
  filesystem = await opened(true, file);
  assert.equal(used(filesystem), full);
  filesystem.setxattr(attributes.inode, 'user.x', Buffer.alloc(10_000), 'replace');
  assert.ok(used(filesystem) < 20_000);
  filesystem.unlink(filesystem.root, 'f');
  assert.equal(used(filesystem), 0);
  await filesystem.close();
});

describe('a chunked tree while the clock is set back', () => {
  it('shows its readers what was committed, and is written to again once there is room', async (t) => {
    const file = join(directory, `${++number}`);
    const writer = await opened(true, file);
    writer.sync();
    const reader = await opened(false, file);
    assert.deepEqual(names(reader), []);
    const { now } = Date;
    t.mock.method(Date, 'now', () => now() - 60 * 60_000);
    writer.mkdir(writer.root, 'made', root);
    writer.sync();
    await pause(50);
    assert.deepEqual(names(reader), ['made']);
    t.mock.restoreAll();
    fail();
    writer.mkdir(writer.root, 'unwritten', root);
    assert.throws(() => writer.sync(), { code: 'ENOSPC' });
    ChunkDatabase.prototype.commit = commit;
    t.mock.method(Date, 'now', () => now() - 60 * 60_000);
    await pause(1_100);
    writer.mkdir(writer.root, 'next', root);
    for (const each of [reader, writer]) await each.close();
  });
});
