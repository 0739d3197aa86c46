import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, promises, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Attributes, Kind } from '../../vfs/filesystem.js';
import { VfsEntry, VfsStats } from './stats.js';

const kinds: Readonly<Record<Kind, readonly [bits: number, question: string]>> = {
  file: [0o100000, 'isFile'],
  directory: [0o040000, 'isDirectory'],
  symlink: [0o120000, 'isSymbolicLink'],
  fifo: [0o010000, 'isFIFO'],
  socket: [0o140000, 'isSocket'],
  character: [0o020000, 'isCharacterDevice'],
  block: [0o060000, 'isBlockDevice'],
};
const questions = Object.values(kinds).map(([, question]) => question) as readonly (keyof VfsEntry & `is${string}`)[];
const about: Attributes = {
  inode: 1,
  kind: 'file',
  mode: 0o4751,
  links: 2,
  uid: 3,
  gid: 4,
  device: 5,
  size: 6,
  blocks: 7,
  accessed: 1_234_567_891n,
  modified: 2_000_000_000n,
  changed: 3_000_000_000n,
} as unknown as Attributes;

test('every kind is asked for by its own question, and its bits are those of the kernel', () => {
  for (const [kind, [bits, question]] of Object.entries(kinds)) {
    for (const shown of [new VfsStats({ ...about, kind: kind as Kind }), new VfsEntry('n', '/', kind as Kind)]) {
      const yes = questions.filter((each) => (shown as unknown as Record<string, () => boolean>)[each]?.());
      assert.deepEqual(yes, [question], kind);
    }
    assert.equal(new VfsStats({ ...about, kind: kind as Kind }).mode, bits | 0o4751, kind);
  }
});

test('each attribute is in its own place, and times are milliseconds and dates', () => {
  const { ino, nlink, uid, gid, rdev, size, blocks, atimeMs, mtimeMs, ctimeMs, birthtimeMs, ...rest } = new VfsStats(
    about,
  );
  assert.deepEqual([ino, nlink, uid, gid, rdev, size, blocks], [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(
    [atimeMs, mtimeMs, ctimeMs, birthtimeMs, rest.dev, rest.blksize],
    [1_234.567, 2_000, 3_000, 3_000, 0, 4_096],
  );
  const { atime, mtime, ctime, birthtime } = new VfsStats(about);
  assert.deepEqual([atime, mtime, ctime, birthtime].map(Number), [1_234, 2_000, 3_000, 3_000]);
});

test('members are those that Node has', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-stats-'));
  execFileSync('mkfifo', [join(directory, 'pipe')]);
  const node = await promises.lstat(join(directory, 'pipe'));
  rmSync(directory, { recursive: true });
  const ours = new VfsStats({ ...about, kind: 'fifo' });
  for (const name of Object.keys(node)) assert.equal(typeof ours[name as 'ino'], typeof node[name as 'ino'], name);
  assert.equal(ours.isFIFO(), node.isFIFO());
});
