/** Clones of chunked trees: trees of their own in one file, which begin as another one and never change each other. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ErrnoError } from '../../src/base/errno.js';
import { checkStore, collect } from '../../src/vfs/engines/chunked/check.js';
import { chunkedFileSystem } from '../../src/vfs/engines/chunked/chunked.js';
import { ChunkDatabase } from '../../src/vfs/engines/chunked/database.js';
import {
  deleteSnapshot,
  editsOf,
  listSnapshots,
  makeClone,
  makeSnapshot,
} from '../../src/vfs/engines/chunked/snapshots.js';
import { randomFrom, testSeed } from '../support/random.js';
import { Subject } from './conformance-cases.js';
import { directoryMode, lockLibrary, scratch } from './engines.js';

type Texts = Map<string, string>;

/** What a test does to one tree of a file: opens it, acts, and closes it. */
class Clones {
  readonly place = scratch();
  readonly file = join(this.place.path, 'store');
  readonly store = { file: this.file, lockLibrary };

  open(snapshot: string | undefined, writable = true) {
    const options = { file: this.file, snapshot, writable, create: true, lockLibrary, root: directoryMode };
    return chunkedFileSystem(options);
  }

  async in<T>(snapshot: string | undefined, act: (subject: Subject) => Promise<T>, writable = true): Promise<T> {
    const filesystem = await this.open(snapshot, writable);
    try {
      return await act(new Subject(filesystem));
    } finally {
      await filesystem.close();
    }
  }

  texts(snapshot: string | undefined): Promise<Texts> {
    const read = async (subject: Subject) => {
      const found: Texts = new Map();
      for (const name of await subject.names()) found.set(name, await subject.text(name));
      return found;
    };
    return this.in(snapshot, read, false);
  }

  async whole(): Promise<void> {
    const database = await ChunkDatabase.open(this.file, true, false);
    try {
      assert.deepEqual(checkStore(database).problems, []);
      collect(database);
      assert.deepEqual(checkStore(database).problems, []);
      assert.equal(checkStore(database).unused, 0);
    } finally {
      await database.close();
    }
  }
}

const refused = (code: string) => (error: unknown) => error instanceof ErrnoError && error.code === code;

test('a clone is written to, and neither it nor its original changes the other', async () => {
  const clones = new Clones();
  try {
    await clones.in(undefined, async (subject) => {
      for (let n = 0; n < 300; n += 1) await subject.file(`f${n}`, 'first');
    });
    await makeSnapshot(clones.store, 'monday');
    await makeClone(clones.store, 'draft', undefined);
    const edits = await editsOf(clones.file);
    await clones.in('draft', async (subject) => {
      await subject.fs.unlink(subject.fs.root, 'f1');
      await subject.file('new', 'of the draft');
    });
    assert.equal(await editsOf(clones.file), edits, 'the first tree counts its own changes');
    await clones.in(undefined, (subject) => subject.file('own', 'of the first'));
    await makeClone(clones.store, 'retry', 'monday');
    await makeClone(clones.store, 'second', 'draft');
    await clones.in('second', (subject) => subject.file('more', 'of the second'));
    const names = async (which: string | undefined) => {
      const texts = await clones.texts(which);
      return ['f1', 'new', 'own', 'more'].filter((name) => texts.has(name));
    };
    assert.deepEqual(await names(undefined), ['f1', 'own']);
    assert.deepEqual(await names('draft'), ['new']);
    assert.deepEqual(await names('second'), ['new', 'more']);
    assert.deepEqual(await names('retry'), ['f1']);
    assert.deepEqual(await names('monday'), ['f1']);
    await assert.rejects(clones.open('monday'), refused('EROFS'));
    await assert.rejects(clones.open('none'), refused('ENOENT'));
    await assert.rejects(makeClone(clones.store, 'draft', undefined), refused('EEXIST'));
    await assert.rejects(makeClone(clones.store, 'x', 'none'), refused('ENOENT'));
    const listed = (await listSnapshots(clones.file)).map(([name, { clone = false }]) => `${name} ${clone}`);
    assert.deepEqual(listed, ['monday false', 'draft true', 'retry true', 'second true']);
    await deleteSnapshot(clones.store, 'draft');
    await clones.whole();
    assert.deepEqual(await names('second'), ['new', 'more']);
  } finally {
    clones.place.remove();
  }
});

test('a reader of a clone sees what its writer has committed', async () => {
  const clones = new Clones();
  try {
    await clones.in(undefined, (subject) => subject.file('f', 'x'));
    await makeClone(clones.store, 'draft', undefined);
    const writing = new Subject(await clones.open('draft'));
    const reading = new Subject(await clones.open('draft', false));
    await writing.file('g', 'y');
    await writing.fs.sync();
    const end = Date.now() + 10_000;
    while ((await reading.fs.lookup(reading.fs.root, 'g')) === undefined && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(await reading.text('g'), 'y');
    assert.equal(reading.fs.changesOutside, true);
    await reading.fs.close();
    await writing.fs.close();
  } finally {
    clones.place.remove();
  }
});

test('trees of one file that are written, cloned and deleted at random are what they have to be', async () => {
  const clones = new Clones();
  const random = randomFrom(testSeed);
  const below = (limit: number) => Math.floor(random() * limit);
  const expected = new Map<string | undefined, Texts>([[undefined, new Map()]]);
  const writable: (string | undefined)[] = [undefined];
  try {
    await clones.in(undefined, async () => undefined);
    for (let step = 0; step < (process.env['CTX_SOAK'] === '1' ? 2_000 : 60); step += 1) {
      const which = writable[below(writable.length)];
      const texts = expected.get(which) ?? assert.fail();
      const choice = random();
      if (choice < 0.6) {
        await clones.in(which, async (subject) => {
          for (let n = 0; n < 5; n += 1) {
            const name = `f${below(40)}`;
            if (texts.delete(name)) await subject.fs.unlink(subject.fs.root, name);
            if (random() < 0.3) continue;
            const text = String(below(9)).repeat(1 + below(90_000));
            await subject.file(name, text);
            texts.set(name, text);
          }
        });
      } else if (choice < 0.75) {
        const named = [...expected.keys()];
        const of = named[below(named.length)];
        await makeClone(clones.store, `clone${step}`, of);
        expected.set(`clone${step}`, new Map(expected.get(of)));
        writable.push(`clone${step}`);
      } else if (choice < 0.9) {
        await makeSnapshot(clones.store, `snapshot${step}`);
        expected.set(`snapshot${step}`, new Map(expected.get(undefined)));
      } else if (which !== undefined) {
        await deleteSnapshot(clones.store, which);
        expected.delete(which);
        writable.splice(writable.indexOf(which), 1);
      } else await clones.whole();
    }
    for (const [which, texts] of expected) {
      const found = [...(await clones.texts(which))].sort();
      assert.deepEqual(found, [...texts].sort(), `${which}, seed ${testSeed}`);
    }
    await clones.whole();
  } finally {
    clones.place.remove();
  }
});
