/** Trees at directories of others: what is moved, replaced or deleted, and what is not, since something is mounted there. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { settle } from '../../answer.js';
import type { FileSystem, Inode } from '../../filesystem.js';
import { makeMountPoints } from '../../mount-points.js';
import { componentsOf, MountTable } from '../../mount-table.js';
import { memoryFileSystem } from '../memory/memory.js';
import { joined } from './joined.js';

const root = { mode: 0o755, uid: 0, gid: 0 };
const made = { mode: 0o755, uid: 0, gid: 0 };
const rules = ['replace', 'keep', 'exchange'] as const;

/** Something is mounted at `/at`, `/above/deep/at` and, in what is at `/at`, at `/at/above/at`. */
async function table(): Promise<FileSystem> {
  const paths = ['/', '/at', '/above/deep/at', '/at/above/at'];
  const mounts = new MountTable(
    paths.map((path) => ({ path: componentsOf(path), filesystem: memoryFileSystem({ root }) })),
  );
  await settle(makeMountPoints(mounts));
  return joined(mounts);
}

async function at(fs: FileSystem, path: string): Promise<Inode> {
  let inode = fs.root;
  for (const name of componentsOf(path)) inode = (await fs.lookup(inode, name))?.inode ?? assert.fail(`no ${path}`);
  return inode;
}

/** The directory that a path is in, and its name there. */
async function placeOf(fs: FileSystem, path: string): Promise<readonly [Inode, string]> {
  const names = componentsOf(path);
  return [await at(fs, names.slice(0, -1).join('/')), names.at(-1) ?? ''];
}

/** All paths with their inodes. */
async function listed(fs: FileSystem, directory = fs.root, below = ''): Promise<readonly string[]> {
  const entries = [...(await fs.readdir(directory))].filter(({ name }) => name !== '.' && name !== '..');
  const lists = entries.map(async ({ name, inode, kind }) => {
    const path = `${below}/${name}`;
    return [`${path} ${inode}`, ...(kind === 'directory' ? await listed(fs, inode, path) : [])];
  });
  return (await Promise.all(lists)).flat().sort();
}

async function withPlain(): Promise<FileSystem> {
  const fs = await table();
  for (const parent of ['/', '/at', '/above', '/above/deep', '/at/above']) {
    const directory = await at(fs, parent);
    await fs.mkdir(directory, 'plain', made);
    const { handle } = await fs.create(directory, 'file', { ...made, mode: 0o644 }, { read: false, write: true });
    await fs.release(handle);
  }
  return fs;
}

/** Mount points, and directories above one. */
const busy = ['/at', '/above/deep/at', '/at/above/at', '/above', '/above/deep', '/at/above'];
const plain = ['/plain', '/above/plain', '/above/deep/plain', '/at/plain', '/at/above/plain', '/file', '/at/file'];

it('what something is mounted on or below is not moved: not away, nor by an exchange from either side', async () => {
  const fs = await withPlain();
  const before = await listed(fs);
  for (const one of busy) {
    for (const other of plain) {
      const [[from, name], [to, newName]] = [await placeOf(fs, one), await placeOf(fs, other)];
      for (const rule of rules) {
        const what = `${one} to ${other}, ${rule}`;
        await assert.rejects(async () => fs.rename(from, name, to, newName, rule), /EBUSY|EXDEV/, what);
        await assert.rejects(
          async () => fs.rename(to, newName, from, name, rule),
          rule === 'exchange' ? /EBUSY|EXDEV/ : /EBUSY|EXDEV|ENOTEMPTY|EEXIST|EISDIR/,
          `back: ${what}`,
        );
      }
    }
    const [directory, name] = await placeOf(fs, one);
    await assert.rejects(async () => fs.rmdir(directory, name), /EBUSY|ENOTEMPTY/, one);
    await assert.rejects(async () => fs.unlink(directory, name), /EBUSY|EISDIR/, one);
  }
  assert.deepEqual(await listed(fs), before);
});

it('what nothing is mounted on or below is moved within its own tree, and exchanged', async () => {
  for (const [one, other] of [
    ['/plain', '/above/plain'],
    ['/above/plain', '/above/deep/plain'],
    ['/at/plain', '/at/above/plain'],
    ['/file', '/plain'],
  ] as const) {
    const fs = await withPlain();
    const [first, second] = [await at(fs, one), await at(fs, other)];
    const [[from, name], [to, newName]] = [await placeOf(fs, one), await placeOf(fs, other)];
    await fs.rename(from, name, to, newName, 'exchange');
    assert.deepEqual([await at(fs, one), await at(fs, other)], [second, first]);
    await fs.rename(from, name, to, 'moved', 'keep');
    assert.equal((await fs.lookup(to, 'moved'))?.inode, second);
    assert.equal(await fs.lookup(from, name), undefined);
  }
});
