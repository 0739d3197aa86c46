/** The chunk store: killed at any time it is whole and has what was synced; snapshots cost the same whatever they hold. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ErrnoError } from '../../src/base/errno.js';
import { checkStore, collect } from '../../src/vfs/engines/chunked/check.js';
import { chunkedFileSystem, openChunkedStore } from '../../src/vfs/engines/chunked/chunked.js';
import { ChunkDatabase } from '../../src/vfs/engines/chunked/database.js';
import type { FileSystem } from '../../src/vfs/filesystem.js';
import { directoryMode, fileMode, lockLibrary, scratch } from './engines.js';

const writer = fileURLToPath(new URL('./chunked-crash.js', import.meta.url));
const both = { read: true, write: true };
const optionsFor = (file: string) => ({ file, writable: true, create: true, lockLibrary, root: directoryMode });

/** The last number that it said, after it was killed at a time that differs. */
function killedWriter(file: string, from: number, lines: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [writer, file, String(from)], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.split('\n').length > lines) child.kill('SIGKILL');
    });
    child.on('error', reject);
    child.on('close', () => {
      const said = text
        .slice(0, text.lastIndexOf('\n') + 1)
        .trim()
        .split('\n');
      resolve(Number(said.at(-1)));
    });
  });
}

async function content(filesystem: FileSystem, name: string): Promise<Buffer | undefined> {
  const found = await filesystem.lookup(filesystem.root, name);
  if (found === undefined) return undefined;
  const handle = await filesystem.open(found.inode, { read: true, write: false });
  const bytes = await filesystem.read(handle, 0, found.size);
  await filesystem.release(handle);
  return bytes;
}

describe('a chunk store', () => {
  test('whose own words are damaged is refused where they are read, and not guessed at', async () => {
    const { path, remove } = scratch();
    const file = join(path, 'store');
    await (await chunkedFileSystem(optionsFor(file))).close();
    const isDamaged = (error: unknown) =>
      error instanceof ErrnoError && error.code === 'EIO' && error.reason === 'the chunk store is damaged';
    const database = await ChunkDatabase.open(file, true, false);
    const heading = database.heading();
    assert.ok(heading !== undefined);
    database.putRoot('kept', { ...heading.head, page: '1' } as never, heading);
    assert.throws(() => database.root('kept'), isDamaged);
    database.putRoot('other', heading.head, { ...heading, nextInode: undefined } as never);
    await database.close();
    await assert.rejects(() => ChunkDatabase.open(file, true, false), isDamaged);
    remove();
  });

  test('that is killed while it is written is whole, and has what was synced', async () => {
    const { path, remove } = scratch();
    const file = join(path, 'store');
    const rounds = process.env['CTX_SOAK'] === '1' ? 1_000 : 4;
    let from = 0;
    for (let round = 0; round < rounds; round += 1) {
      const last = await killedWriter(file, from, 1 + (round % 7) * 5);
      const filesystem = await chunkedFileSystem(optionsFor(file));
      const expected = Buffer.alloc(1 + ((last * 7_919) % 150_000), last & 255);
      const next = Buffer.alloc(1 + (((last + 20) * 7_919) % 150_000), (last + 20) & 255);
      const found = await content(filesystem, `f${last % 20}`);
      assert.ok(found?.equals(expected) === true || found?.equals(next) === true, `what ${last} wrote is there`);
      assert.ok(Number((await filesystem.getxattr(filesystem.root, 'user.last')).toString()) >= last);
      await filesystem.close();
      const database = await ChunkDatabase.open(file, true, false);
      assert.deepEqual(checkStore(database).problems, []);
      collect(database);
      assert.equal(checkStore(database).unused, 0);
      await database.close();
      from = last + 1;
    }
    // Twenty files of 75 kB on average are kept; what was replaced is used again.
    assert.ok(statSync(file).size < 64 * 1024 * 1024, `${statSync(file).size} bytes`);
    remove();
  });

  test('makes a snapshot of thousands of files with one record, and shares equal content', async () => {
    const { path, remove } = scratch();
    const file = join(path, 'store');
    const { store, database, release } = await openChunkedStore(optionsFor(file));
    const { InodeFileSystem } = await import('../../src/vfs/engines/inodes/inode-filesystem.js');
    const filesystem = new InodeFileSystem(store, { label: 'test', writable: true, durable: true });
    const bytes = Buffer.alloc(100_000, 7);
    for (let index = 0; index < 2_000; index += 1) {
      const { handle } = filesystem.create(filesystem.root, `f${index}`, fileMode, both);
      filesystem.write(handle, 0, bytes);
      filesystem.release(handle);
    }
    filesystem.sync();
    assert.equal([...database.chunkDigests()].length, 2, 'one whole chunk and one rest, for all of them');
    const pages = database.heading()?.nextPage;
    store.snapshot('before');
    assert.equal(database.heading()?.nextPage, pages, 'no page was written');
    filesystem.unlink(filesystem.root, 'f77');
    filesystem.sync();
    assert.ok((database.heading()?.nextPage ?? 0) - (pages ?? 0) < 16, 'only what changed was copied');
    assert.deepEqual(checkStore(database).problems, []);
    await filesystem.close();
    release();
    const before = await chunkedFileSystem({ ...optionsFor(file), writable: false, snapshot: 'before' });
    assert.equal((await before.readdir(before.root)).length, 2_000);
    assert.ok((await content(before, 'f77'))?.equals(bytes));
    await before.close();
    remove();
  });

  test('has one writer at a time, and readers beside it that see what was committed', async () => {
    const { path, remove } = scratch();
    const file = join(path, 'store');
    const writing = await chunkedFileSystem(optionsFor(file));
    const child = spawn(process.execPath, [writer, file], { stdio: ['ignore', 'pipe', 'pipe'] });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    assert.notEqual(code, 0);
    assert.match(errors, /EBUSY/);
    const reading = await chunkedFileSystem({ ...optionsFor(file), writable: false });
    assert.throws(
      () => reading.mkdir(reading.root, 'd', directoryMode),
      (error: unknown) => error instanceof ErrnoError && error.code === 'EROFS',
    );
    await writing.mkdir(writing.root, 'd', directoryMode);
    await writing.sync();
    const deadline = Date.now() + 10_000;
    while ((await reading.lookup(reading.root, 'd')) === undefined && Date.now() < deadline) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal((await reading.lookup(reading.root, 'd'))?.kind, 'directory');
    await reading.close();
    await writing.close();
    remove();
  });
});
