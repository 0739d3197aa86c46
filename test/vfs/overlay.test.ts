/** What is an overlay's own: what hides, what is copied, what both trees have afterwards. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { memoryFileSystem } from '../../src/vfs/engines/memory/memory.js';
import { overlayFileSystem } from '../../src/vfs/engines/overlay/overlay.js';
import { readOnly } from '../../src/vfs/engines/readonly/readonly.js';
import { randomFrom, testSeed } from '../support/random.js';
import { Subject } from './conformance-cases.js';
import { directoryMode, fileMode, later } from './engines.js';

const both = { read: true, write: true };
const reading = { read: true, write: false };

async function overlay(slow = false) {
  const lower = memoryFileSystem({ root: directoryMode });
  const upper = memoryFileSystem({ root: directoryMode });
  const below = new Subject(lower);
  await below.file('f', 'lower');
  const { inode: d } = await below.directory('d');
  await below.file('one', '1', d);
  await below.file('two', '2', d);
  // Of all bits of a mode, not of the nine alone.
  await lower.setattr(d, { mode: 0o1755 });
  const { inode } = await below.find('f');
  await lower.link(inode, lower.root, 'g');
  await lower.setxattr(inode, 'user.x', Buffer.from('kept'), 'any');
  await lower.setattr(inode, { mode: 0o640, modified: 5_000_000_000n });
  const sides = slow ? { upper: later(upper), lower: later(readOnly(lower)) } : { upper, lower: readOnly(lower) };
  /** The same two trees as another process would open them. */
  const reopened = () => new Subject(overlayFileSystem(sides));
  return { over: reopened(), reopened, above: new Subject(upper), below };
}

/** Every path with its kind, mode, and text; directories are followed. */
async function shownBy(subject: Subject, directory = subject.fs.root, path = ''): Promise<string[]> {
  const lines: string[] = [];
  for (const name of await subject.names(directory)) {
    const { kind, mode, inode } = await subject.find(name, directory);
    const text = kind === 'file' ? await subject.text(name, directory) : '';
    lines.push(`${path}/${name} ${kind} ${mode.toString(8)} ${text}`);
    if (kind === 'directory') lines.push(...(await shownBy(subject, inode, `${path}/${name}`)));
  }
  return lines;
}

describe('an overlay', () => {
  test('copies a file up when it is first changed, with mode, times and attributes, and the lower one stays', async () => {
    const { over, above, below } = await overlay();
    const { inode, modified, mode } = await over.find('f');
    assert.equal(mode, 0o640);
    assert.equal(modified, 5_000_000_000n);
    assert.deepEqual(await above.names(), [], 'looking copies nothing');
    const times = await over.fs.getattr(over.fs.root);
    await over.fs.setattr(inode, { uid: 7 });
    const copied = await above.find('f');
    assert.equal(copied.mode, 0o640);
    assert.equal(copied.modified, 5_000_000_000n);
    assert.equal((await above.fs.getxattr(copied.inode, 'user.x')).toString(), 'kept');
    assert.equal(await above.text('f'), 'lower');
    assert.equal((await over.find('f')).inode, inode, 'it is the same inode');
    assert.equal((await over.fs.getattr(over.fs.root)).modified, times.modified, 'its directory has not changed');
    assert.equal((await below.find('f')).uid, fileMode.uid);
    await over.fs.setattr((await over.find('d')).inode, { uid: 7 });
    assert.deepEqual([(await over.find('d')).mode, (await above.find('d')).mode], [0o1755, 0o1755]);
  });

  test('copies content of any length, with zeros wherever they are, and no more of it than is kept', async () => {
    const piece = 1024 * 1024;
    const lengths = [0, 3].flatMap((text) =>
      [0, 1, piece - text, piece, piece + 1].map((zeros) => [text, zeros] as const),
    );
    const contents = lengths.flatMap(([text, zeros]) => {
      const parts = [Buffer.alloc(text, 'x'), Buffer.alloc(zeros)];
      return [Buffer.concat(parts), Buffer.concat(parts.reverse())];
    });
    for (const content of contents) {
      const lower = memoryFileSystem({ root: directoryMode });
      const { handle } = await lower.create(lower.root, 'f', fileMode, both);
      await lower.write(handle, 0, content);
      for (const kept of [content.length, 2, piece + 2]) {
        const upper = new Subject(memoryFileSystem({ root: directoryMode }));
        const over = new Subject(overlayFileSystem({ upper: upper.fs, lower: readOnly(lower) }));
        const { inode } = await over.find('f');
        await over.fs.setattr(inode, kept === content.length ? { uid: 7 } : { size: kept });
        const wanted = Buffer.alloc(kept);
        content.copy(wanted);
        const { inode: copied } = await upper.find('f');
        const found = await upper.with(copied, async (opened) => upper.fs.read(opened, 0, 4 * piece), reading);
        const said = `${content.length} bytes from ${content.indexOf('x')}, ${kept} kept: ${found.length}`;
        assert.ok(wanted.equals(found), said);
      }
    }
  });

  test('lets whoever has a file open to read see what is written to its copy', async () => {
    const { over } = await overlay();
    const { inode } = await over.find('f');
    const handle = await over.fs.open(inode, reading);
    assert.equal((await over.fs.read(handle, 0, 9)).toString(), 'lower');
    await over.with(inode, async (writing) => void (await over.fs.write(writing, 0, Buffer.from('UPPER'))));
    assert.equal((await over.fs.read(handle, 0, 9)).toString(), 'UPPER');
    await over.fs.release(handle);
  });

  test('hides what was removed, and what is made again does not bring it back', async () => {
    const { over, above, below } = await overlay();
    const { inode: d } = await over.find('d');
    await over.fs.unlink(d, 'one');
    assert.deepEqual(await over.names(d), ['two']);
    await over.fs.unlink(d, 'two');
    await over.fs.rmdir(over.fs.root, 'd');
    assert.deepEqual(await over.names(), ['f', 'g']);
    const { inode: again } = await over.directory('d');
    assert.deepEqual(await over.names(again), []);
    await over.file('two', 'new', again);
    assert.deepEqual(await over.names(again), ['two']);
    assert.equal(await over.text('two', again), 'new');
    assert.deepEqual((await above.names()).sort(), ['.wh.d', 'd']);
    assert.deepEqual(await below.names((await below.find('d')).inode), ['one', 'two']);
  });

  test('moves a directory of the lower tree whole', async () => {
    const { over } = await overlay();
    const { inode } = await over.find('d');
    await over.fs.rename(over.fs.root, 'd', over.fs.root, 'e', 'replace');
    assert.deepEqual(await over.names(), ['e', 'f', 'g']);
    const moved = await over.find('e');
    assert.equal(moved.inode, inode);
    assert.equal(await over.text('one', moved.inode), '1');
    await over.directory('d');
    assert.deepEqual(await over.names((await over.find('d')).inode), []);
    await over.fs.rename(over.fs.root, 'e', over.fs.root, 'd', 'exchange');
    assert.deepEqual(await over.names((await over.find('d')).inode), ['one', 'two']);
    assert.deepEqual(await over.names((await over.find('e')).inode), []);
  });

  test('shows nothing of a directory that another one has replaced, whichever trees the two are of', async () => {
    for (const moved of ['lower', 'upper', 'both']) {
      for (const replaced of ['lower', 'upper', 'both', 'made again']) {
        const { over, reopened, below } = await overlay();
        const { root } = over.fs;
        if (moved !== 'upper') await below.file('m', 'm', (await below.directory('from')).inode);
        if (moved === 'upper') await over.directory('from');
        if (moved !== 'lower') await over.file('n', 'n', (await over.find('from')).inode);
        const old = replaced === 'upper' ? 'to' : 'd';
        const { inode: into } = replaced === 'upper' ? await over.directory('to') : await over.find('d');
        if (replaced === 'upper' || replaced === 'both') await over.file('x', 'x', into);
        for (const name of await over.names(into)) await over.fs.unlink(into, name);
        if (replaced === 'made again') await over.fs.rmdir(root, old);
        if (replaced === 'made again') await over.directory(old);
        const { inode: from } = await over.find('from');
        const names = await over.names(from);
        await over.fs.rename(root, 'from', root, old, 'replace');
        for (const tree of [over, reopened()]) {
          const { inode } = await tree.find(old);
          assert.deepEqual([await tree.names(inode), await tree.names()].flat(), [...names, ...(await over.names())]);
          for (const name of ['one', 'two', 'x'])
            assert.equal(await tree.fs.lookup(inode, name), undefined, `${name}: ${moved} over ${replaced}`);
        }
      }
    }
  });

  test('is in its two trees and not in memory: opened anew after any change it shows the same', async () => {
    const random = randomFrom(testSeed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const names = ['d', 'e', 'f', 'g', 'one', 'two'];
    const rules = ['replace', 'keep', 'exchange'] as const;
    let changed = 0;
    let exchanged = 0;
    for (let round = 0; round < 40; round += 1) {
      const { over, reopened } = await overlay();
      for (let step = 0; step < 12; step += 1) {
        const directories = [over.fs.root];
        for (const { name, kind } of await over.fs.readdir(over.fs.root))
          if (kind === 'directory') directories.push((await over.find(name)).inode);
        const [from, to, rule] = [pick(directories), pick(directories), pick(rules)];
        const name = pick([...names, ...(await over.names(from)), ...(await over.names(from))]);
        const newName = pick([...names, ...(await over.names(to)), ...(await over.names(to))]);
        const changes: readonly (() => unknown)[] = [
          () => over.fs.rename(from, name, to, newName, rule),
          () => over.fs.rename(from, name, to, newName, 'exchange'),
          () => over.fs.unlink(from, name),
          () => over.fs.rmdir(from, name),
          () => over.directory(name, from),
          () => over.file(name, `${round} ${step}`, from),
          async () => over.fs.setattr((await over.find(name, from)).inode, { mode: 0o600 }),
        ];
        const before = await shownBy(over);
        const what = pick(changes);
        try {
          await what();
        } catch {
          continue; // refused, as the conformance suite says when
        }
        const after = await shownBy(over);
        if (after.join() !== before.join()) changed += 1;
        if (what === changes[1]) exchanged += 1;
        assert.deepEqual(await shownBy(reopened()), after, `round ${round}, step ${step}, from ${before}`);
      }
    }
    assert.ok(changed > 80 && exchanged > 15, `${changed} changes, ${exchanged} exchanges`);
  });

  test('links files of the upper tree; each name of a lower file is a file of its own', async () => {
    const { over } = await overlay();
    const { inode, links } = await over.find('f');
    assert.equal(links, 1);
    assert.notEqual((await over.find('g')).inode, inode);
    assert.equal((await over.fs.link(inode, over.fs.root, 'h')).links, 2);
    await over.with(inode, async (handle) => void (await over.fs.write(handle, 0, Buffer.from('both!'))));
    assert.equal(await over.text('h'), 'both!');
    assert.equal(await over.text('g'), 'lower');
    assert.equal((await over.find('h')).inode, inode);
  });

  test('keeps its marks to itself, and marks names of any length', async () => {
    const { over, below, above } = await overlay();
    await over.refuses('EINVAL', () => over.file('.wh.f'));
    await over.refuses('EINVAL', () => over.fs.rename(over.fs.root, 'f', over.fs.root, '.wh.x', 'replace'));
    const long = 'x'.repeat(255);
    await below.file(long, 'long');
    await over.fs.unlink(over.fs.root, long);
    assert.equal(await over.fs.lookup(over.fs.root, long), undefined);
    assert.deepEqual(await over.names(), ['d', 'f', 'g']);
    assert.equal((await above.names()).length, 1);
    await over.file(long, 'again');
    assert.equal(await over.text(long), 'again');
  });

  test('does one change after the other where its engines answer later', async () => {
    const { over, above } = await overlay(true);
    const { inode } = await over.find('f');
    const opened = await Promise.all([
      over.fs.open(inode, both),
      over.fs.open(inode, both),
      over.fs.open(inode, reading),
    ]);
    await over.fs.write(opened[0], 0, Buffer.from('W'));
    assert.equal((await over.fs.read(opened[1], 0, 5)).toString(), 'Wower');
    assert.equal((await over.fs.read(opened[2], 0, 5)).toString(), 'Wower');
    for (const handle of opened) await over.fs.release(handle);
    assert.deepEqual(await above.names(), ['f']);
    const made = await Promise.allSettled(
      ['n', 'n', 'n'].map((name) => over.fs.mkdir(over.fs.root, name, directoryMode)),
    );
    assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  test('leaves nothing half copied where there is no room', async () => {
    const lower = memoryFileSystem({ root: directoryMode });
    await new Subject(lower).file('f', 'x'.repeat(100_000));
    const upper = memoryFileSystem({ root: directoryMode, capacity: 50_000 });
    const over = new Subject(overlayFileSystem({ upper, lower: readOnly(lower) }));
    const { inode } = await over.find('f');
    await over.refuses('ENOSPC', () => over.fs.open(inode, both));
    await over.with(
      inode,
      async (handle) => assert.equal((await over.fs.read(handle, 0, 1 << 20)).length, 100_000),
      reading,
    );
    assert.deepEqual(await new Subject(upper).names(), []);
    // What is emptied anyway is not copied.
    await over.fs.setattr(inode, { size: 10 });
    assert.equal((await over.find('f')).size, 10);
  });

  test('is read-only where its upper tree is, and shows both', async () => {
    const { above, below } = await overlay();
    await above.file('new', 'above');
    await above.file('.wh.f');
    const over = new Subject(overlayFileSystem({ upper: readOnly(above.fs), lower: readOnly(below.fs) }));
    assert.deepEqual(await over.names(), ['d', 'g', 'new']);
    assert.equal(over.fs.capabilities.writable, false);
    await over.refuses('EROFS', () => over.file('x'));
  });
});
