/** A chunk store that is damaged: every kind of damage is found, and nothing is deleted, given out or gone back to because of it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { nativeProgram } from '../../../base/native-program.js';
import type { Attributes, FileSystem, Opened } from '../../filesystem.js';
import { checkStore, collect } from './check.js';
import { chunkBytes } from './chunk-content.js';
import { chunkedFileSystem } from './chunked.js';
import { ChunkDatabase, type Heading } from './database.js';
import { decodePage, encodePage, type Page } from './page.js';
import { childKey, chunkKey, decodeRecord, encodeRecord, inodeKey } from './records.js';
import { deleteSnapshot, editsOf, listSnapshots, makeClone, makeSnapshot, restoreSnapshot } from './snapshots.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-chunked-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const lockLibrary = nativeProgram('flock.node');
const root = { mode: 0o755, uid: 0, gid: 0 };
const both = { read: true, write: true };
const attribute = { name: 'user.n', value: Buffer.from('value') };

function write(filesystem: FileSystem, name: string, bytes: Buffer): number {
  const { attributes, handle } = filesystem.create(filesystem.root, name, root, both) as Opened;
  filesystem.write(handle, 0, bytes);
  filesystem.release(handle);
  return attributes.inode;
}

let number = 0;

/** A file with two chunks, a directory with a link in it, an attribute; and its numbers. */
async function stored() {
  number += 1;
  const file = join(directory, `store-${number}`);
  const open = (more: object = {}) =>
    chunkedFileSystem({ file, writable: true, create: true, lockLibrary, root, ...more });
  const filesystem = await open();
  const inode = write(filesystem, 'file', Buffer.concat([Buffer.alloc(chunkBytes, 1), Buffer.from('end')]));
  const below = (filesystem.mkdir(filesystem.root, 'dir', root) as Attributes).inode;
  filesystem.symlink(below, 'link', 'file', root);
  filesystem.setxattr(inode, attribute.name, attribute.value, 'any');
  await filesystem.close();
  return { file, open, lockLibrary, inode, below };
}

type Made = Awaited<ReturnType<typeof stored>>;

async function inDatabase<T>(file: string, act: (database: ChunkDatabase, heading: Heading) => T): Promise<T> {
  const database = await ChunkDatabase.open(file, true, false);
  try {
    return act(database, database.heading() as Heading);
  } finally {
    await database.close();
  }
}

/** The only page of a small tree, changed and put back. */
function changePage(database: ChunkDatabase, heading: Heading, change: (page: Page) => Page) {
  const page = decodePage(heading.head.page, database.page(heading.head.page) as Buffer);
  const changed = change(page);
  const least = { ...changed, bytes: 1 << 16 };
  const whole = encodePage(least);
  // As long as its entries are.
  let at = 16;
  for (const [index, key] of changed.keys.entries()) {
    at += 2 + key.length + (changed.isLeaf ? 4 + (changed.values[index]?.length ?? 0) : 8);
  }
  const pages = [[page.number, whole.subarray(0, at)] as const];
  database.commit({ heading, pages, dropped: [], chunks: [] });
}

const at = (page: Page, key: string) => {
  const index = page.keys.indexOf(key);
  assert.ok(index >= 0);
  return index;
};
const drop = (page: Page, key: string) => {
  const index = at(page, key);
  page.keys.splice(index, 1);
  page.values.splice(index, 1);
};
const insert = (page: Page, key: string, value: Buffer) => {
  const index = page.keys.findIndex((each) => each > key);
  page.keys.splice(index < 0 ? page.keys.length : index, 0, key);
  page.values.splice(index < 0 ? page.values.length : index, 0, value);
};
const changeRecord = (page: Page, inode: number, change: object) => {
  const index = at(page, inodeKey(inode));
  page.values[index] = encodeRecord({ ...decodeRecord(inode, page.values[index] as Buffer), ...change });
};

const damages: Readonly<Record<string, readonly [RegExp, (page: Page, made: Made) => unknown]>> = {
  'a name without its file': [/^'file' in directory 1 leads nowhere/, (page, { inode }) => drop(page, inodeKey(inode))],
  'a name in a file': [
    /^'x' is in \d+, not a directory/,
    (page, { inode }) => {
      const value = page.values[at(page, childKey(1, 'file'))] as Buffer;
      insert(page, childKey(inode, 'x'), value);
    },
  ],
  'a directory of another parent': [
    /^directory \d+ has another parent than 1/,
    (page, { below }) => changeRecord(page, below, { parent: 9 }),
  ],
  'too few links': [/^inode \d+ has 1 links and says 2/, (page, { inode }) => changeRecord(page, inode, { links: 2 })],
  'a file that lost its name': [/^inode \d+ has 0 links and says 1/, (page) => drop(page, childKey(1, 'file'))],
  'content past the end': [
    /^inode \d+ has content past its end/,
    (page, { inode }) => changeRecord(page, inode, { size: chunkBytes }),
  ],
  'another number of chunks': [
    /^inode \d+ has 2 chunks, not 3/,
    (page, { inode }) => changeRecord(page, inode, { chunks: 3 }),
  ],
  'a lost chunk': [/^inode \d+ has 1 chunks, not 2/, (page, { inode }) => drop(page, chunkKey(inode, 0))],
  'content of no file': [
    /^content of inode 99, which is gone/,
    (page, { inode }) => insert(page, chunkKey(99, 0), page.values[at(page, chunkKey(inode, 0))] as Buffer),
  ],
  'a chunk that is not there': [
    /^chunk 2a2a2a2a2a2a2a2a is missing/,
    (page, { inode }) => {
      page.values[at(page, chunkKey(inode, 0))] = Buffer.alloc(32, '*');
    },
  ],
  'entries in another order': [
    /^page \d+ is not in order\nthe tree is not in order/,
    (page) => {
      page.keys.reverse();
      page.values.reverse();
    },
  ],
  'a record that is too short': [
    /^an entry of page \d+ is too short/,
    (page, { inode }) => {
      page.values[at(page, inodeKey(inode))] = Buffer.alloc(9);
    },
  ],
  'a name whose number is too short': [
    /^an entry of page \d+ is too short/,
    (page) => {
      page.values[at(page, childKey(1, 'file'))] = Buffer.alloc(2);
    },
  ],
  'a page below itself': [
    /^page (\d+) is in its tree twice\npage \1 is in its tree twice/,
    (page) => ({ ...page, isLeaf: false, keys: ['', 'x'], values: [], children: [page.number, page.number] }),
  ],
  'a page that is missing': [
    /^page 77 is missing/,
    (page) => ({ ...page, isLeaf: false, keys: [''], values: [], children: [77] }),
  ],
};

describe('the check of a chunk store', () => {
  it('finds nothing in one that is whole, and counts what is in it', async () => {
    const { file } = await stored();
    const { problems, files, chunks, unused, snapshots } = await inDatabase(file, checkStore);
    assert.deepEqual([problems, files, chunks, unused, snapshots], [[], 3, 2, 0, []]);
  });

  for (const [name, [expected, damage]] of Object.entries(damages)) {
    it(`finds ${name}, in the tree and in a snapshot of it`, async () => {
      const made = await stored();
      await makeSnapshot(made, 'kept');
      await inDatabase(made.file, (database, heading) => {
        changePage(database, heading, (page) => (damage(page, made) as Page | undefined) ?? page);
        const { problems } = checkStore(database);
        assert.match(problems.join('\n'), expected);
        assert.ok(problems.some((each) => each.startsWith('snapshot kept: ') || each.startsWith('chunk ')));
      });
    });
  }

  it('finds a chunk whose bytes are others, and a read of it fails', async () => {
    for (const isGone of [false, true]) {
      const { file, open, inode } = await stored();
      await inDatabase(file, (database, heading) => {
        const [digest = ''] = database.chunkDigests();
        const size = database.chunk(digest)?.length ?? 0;
        if (isGone)
          database.sweep(
            () => true,
            (each) => each !== digest,
          );
        else database.commit({ heading, pages: [], dropped: [], chunks: [[digest, Buffer.alloc(size, 7)]] });
        assert.match(
          checkStore(database).problems.join('\n'),
          isGone ? /^chunk \w{16} is missing$/ : /^chunk \w{16} is damaged$/,
        );
      });
      const filesystem = await open();
      const handle = filesystem.open(inode, both) as number;
      assert.throws(
        () => {
          for (const offset of [0, chunkBytes]) filesystem.read(handle, offset, 3);
        },
        { code: 'EIO' },
      );
      await filesystem.close();
    }
  });

  it('counts what nothing leads to, which is deleted only where all of the rest is known', async () => {
    const { file, open } = await stored();
    const filesystem = await open();
    write(filesystem, 'more', Buffer.alloc(chunkBytes, 9));
    await filesystem.sync();
    filesystem.unlink(filesystem.root, 'more');
    await filesystem.close();
    await inDatabase(file, (database, heading) => {
      assert.equal(checkStore(database).unused, 1);
      const whole = database.page(heading.head.page) as Buffer;
      const put = (bytes: Buffer) =>
        database.commit({ heading, pages: [[heading.head.page, bytes]], dropped: [], chunks: [] });
      for (const damaged of [whole.subarray(0, -1), Buffer.concat([whole, Buffer.alloc(1)]), whole.subarray(0, 10)]) {
        put(damaged);
        assert.equal(collect(database), 0);
        assert.match(checkStore(database).problems.join('\n'), /page \d+ of the store is damaged/);
      }
      put(whole);
      assert.ok(collect(database) >= chunkBytes);
      const { problems, unused, chunks } = checkStore(database);
      assert.deepEqual([problems, unused, chunks], [[], 0, 2]);
      assert.equal(collect(database), 0);
    });
  });
});

describe('the file of a chunk store', () => {
  it('is refused where it is not there, something else, or of a newer form', async () => {
    const opened = (file: string, create: boolean) =>
      ChunkDatabase.open(file, true, create).then((each) => each.close());
    await assert.rejects(opened(join(directory, 'none'), false), { code: 'ENOENT' });
    await assert.rejects(opened(join(directory, 'none/below'), true), { code: 'ENOENT' });
    const other = join(directory, 'other');
    for (const bytes of [Buffer.from('text'), Buffer.alloc(4096, 'x'), Buffer.alloc(27)]) {
      writeFileSync(other, bytes);
      await assert.rejects(opened(other, true), { code: 'EINVAL' });
    }
    truncateSync(other, 0);
    await assert.rejects(opened(other, false), { code: 'EINVAL' });
    await assert.rejects(opened(directory, false), { code: 'EISDIR' });
    const { file } = await stored();
    await inDatabase(file, (database, heading) =>
      database.commit({ heading: { ...heading, format: 2 }, pages: [], dropped: [], chunks: [] }),
    );
    await assert.rejects(opened(file, false), { code: 'ENOTSUP' });
  });

  it('has one writer, and none that failed', async () => {
    const { open } = await stored();
    const filesystem = await open({ before: 'first' });
    await assert.rejects(open(), { code: 'EBUSY' });
    await filesystem.close();
    await assert.rejects(open({ before: 'first' }), { code: 'EEXIST' });
    await assert.rejects(open({ snapshot: 'unknown' }), { code: 'ENOENT' });
    await (await open()).close();
  });

  it('keeps attributes and links as they were written', async () => {
    const { open, inode, below } = await stored();
    const filesystem = await open();
    assert.deepEqual(filesystem.getxattr(inode, attribute.name), attribute.value);
    const link = filesystem.lookup(below, 'link') as Attributes;
    assert.deepEqual([link.kind, filesystem.readlink(link.inode)], ['symlink', 'file']);
    await filesystem.close();
  });
});

describe('a snapshot of a chunk store', () => {
  const names = async (open: Made['open'], more: object = {}) => {
    const filesystem = await open(more);
    const found = (filesystem.readdir(filesystem.root) as readonly { name: string }[]).map(({ name }) => name).sort();
    await filesystem.close();
    return found.join(' ');
  };

  it('is gone back to, what was there is kept, and no edit that was not seen is lost', async () => {
    const made = await stored();
    const { file, open } = made;
    await makeSnapshot(made, 'one');
    const change = async (name: string) => {
      const filesystem = await open();
      write(filesystem, name, Buffer.from(name));
      await filesystem.close();
    };
    await change('second');
    const seen = await editsOf(file);
    await change('third');
    await assert.rejects(restoreSnapshot(made, { name: 'one', keep: 'kept', expected: seen }), { code: 'ESTALE' });
    await assert.rejects(restoreSnapshot(made, { name: 'none', keep: 'kept' }), { code: 'ENOENT' });
    assert.equal(await names(open), 'dir file second third');
    const now = await editsOf(file);
    assert.notEqual(now, seen);
    const { kept, edits } = await restoreSnapshot(made, { name: 'one', keep: 'kept', expected: now });
    assert.deepEqual([kept, edits, await names(open)], ['kept', await editsOf(file), 'dir file']);
    assert.notEqual(edits, now);
    assert.equal(await names(open, { snapshot: 'kept', writable: false }), 'dir file second third');
    await change('fourth');
    assert.equal(
      await names(open, { snapshot: 'one', writable: false }),
      'dir file',
      'what is written since is not in it',
    );
    await restoreSnapshot(made, { name: 'kept', keep: 'again' });
    assert.equal(await names(open), 'dir file second third');
    assert.equal(await names(open, { snapshot: 'again', writable: false }), 'dir file fourth');
    await inDatabase(file, (database) => {
      assert.deepEqual(checkStore(database).problems, []);
      assert.equal(collect(database), 0, 'all of it is in use');
    });
    assert.deepEqual(
      (await listSnapshots(file)).map(([name]) => name),
      ['one', 'kept', 'again'],
    );
  });

  it('has a name of its own, and may be a clone that is written to', async () => {
    const made = await stored();
    await makeSnapshot(made, 'one');
    await assert.rejects(makeSnapshot(made, 'one'), { code: 'EEXIST' });
    await assert.rejects(makeClone(made, 'one', undefined), { code: 'EEXIST' });
    await assert.rejects(makeClone(made, 'two', 'none'), { code: 'ENOENT' });
    await makeClone(made, 'two', 'one');
    const filesystem = await made.open({ snapshot: 'two' });
    write(filesystem, 'own', Buffer.from('x'));
    await filesystem.close();
    assert.deepEqual(
      [await names(made.open), await names(made.open, { snapshot: 'two' })],
      ['dir file', 'dir file own'],
    );
    const { snapshots } = await inDatabase(made.file, checkStore);
    assert.deepEqual(
      snapshots.map(({ name, files, clone }) => [name, files, clone]),
      [
        ['one', 3, undefined],
        ['two', 4, true],
      ],
    );
    await deleteSnapshot(made, 'two');
    await assert.rejects(deleteSnapshot(made, 'two'), { code: 'ENOENT' });
    assert.deepEqual(
      (await listSnapshots(made.file)).map(([name]) => name),
      ['one'],
    );
  });
});

it('what is swept is asked for by its whole number', async () => {
  const { file } = await stored();
  await inDatabase(file, (database, heading) => {
    const page = database.page(heading.head.page) as Buffer;
    const numbers = [255, 256, 300, 65_536, 2 ** 40 + 7];
    database.commit({ heading, pages: numbers.map((each) => [each, page] as const), dropped: [], chunks: [] });
    const asked: number[] = [];
    const keep = (each: number) => asked.push(each) > 0 && each !== 300;
    assert.equal(
      database.sweep(keep, () => true),
      page.length,
    );
    assert.ok(numbers.every((each) => asked.includes(each)) && asked.includes(heading.head.page), asked.join(' '));
    assert.deepEqual([database.page(300), database.page(256)?.equals(page)], [undefined, true]);
  });
});
