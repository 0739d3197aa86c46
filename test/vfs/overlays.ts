/** Overlays whose lower tree holds files, for the model: the upper tree in memory, in a chunk store, and in a host directory. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chunkedFileSystem } from '../../src/vfs/engines/chunked/chunked.js';
import { hostFileSystem } from '../../src/vfs/engines/host/host.js';
import { memoryFileSystem } from '../../src/vfs/engines/memory/memory.js';
import { overlayFileSystem } from '../../src/vfs/engines/overlay/overlay.js';
import type { FileSystem } from '../../src/vfs/filesystem.js';
import { directoryMode, lockLibrary, type MadeEngine, scratch } from './engines.js';

const holds = new Map<string, string | undefined>([
  ['/a', undefined],
  ['/a/a', undefined],
  ['/a/a/a', 'deep'],
  ['/a/a/b', 'x'.repeat(70_000)],
  ['/a/b', 'file'],
  ['/a/c', undefined],
  ['/b', undefined],
  ['/b/b', undefined],
  ['/b/b/c', ''],
  ['/c', 'top'],
]);

function foundIn(root: string): Map<string, string | undefined> {
  return new Map(
    readdirSync(root, { recursive: true, withFileTypes: true }).map((entry): [string, string | undefined] => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(root.length), entry.isDirectory() ? undefined : readFileSync(path, 'utf8')];
    }),
  );
}

async function made(openUpper: (path: string) => Promise<FileSystem>, lasts: boolean): Promise<MadeEngine> {
  const { path, remove } = scratch();
  const lower = join(path, 'lower');
  for (const directory of [lower, join(path, 'upper')]) mkdirSync(directory);
  for (const [at, text] of holds) {
    if (text === undefined) mkdirSync(join(lower, at));
    else writeFileSync(join(lower, at), text);
  }
  const open = async () => overlayFileSystem({ upper: await openUpper(path), lower: hostFileSystem({ path: lower }) });
  let filesystem = await open();
  return {
    filesystem,
    holds,
    ...(lasts
      ? {
          reopen: async () => {
            await filesystem.close();
            filesystem = await open();
            return filesystem;
          },
        }
      : {}),
    unchanged: async () => assert.deepEqual([...foundIn(lower)].sort(), [...holds].sort()),
    end: async () => {
      await filesystem.close();
      remove();
    },
  };
}

export const overlaysOfFiles: Readonly<Record<string, () => Promise<MadeEngine>>> = {
  'an overlay in memory': () => made(async () => memoryFileSystem({ root: directoryMode }), false),
  'an overlay in a chunk store': () =>
    made(
      (path) =>
        chunkedFileSystem({
          file: join(path, 'store'),
          writable: true,
          create: true,
          lockLibrary,
          root: directoryMode,
        }),
      true,
    ),
  'an overlay in a host directory': () =>
    made(async (path) => hostFileSystem({ path: join(path, 'upper'), writable: true }), true),
};
