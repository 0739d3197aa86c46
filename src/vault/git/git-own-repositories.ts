/** Every repository of the person's that a fork's roots hold, or are in: those whose configuration says what git obeys there. */
import { lstatSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { gitTextBytes } from '../../base/limits/store.js';
import { decodePath, encodePath } from '../../base/path-bytes.js';
import { readSmallFile } from '../../base/small-file.js';
import { pathsNamed } from '../tree/signature-paths.js';
import type { OpenFork } from '../vault.js';
import { isThere } from './git-places.js';

const isDirectory = (path: string) => lstatSync(encodePath(path), { throwIfNoEntry: false })?.isDirectory() === true;
const names = new Set(['HEAD', '.git']);

async function namedIn(fork: OpenFork, key: string, root: string): Promise<readonly string[]> {
  let found: readonly string[] | undefined;
  try {
    found = pathsNamed(readFileSync(fork.paths.scan(key)), names);
  } catch {
    found = undefined; // No such file: the directory itself says it.
  }
  if (found !== undefined) return found;
  const entries = await fork.tree.diff({ uppers: [root], lowers: [], pastClosed: true });
  return entries.map(({ path }) => path).filter((path) => names.has(posix.basename(path)));
}

/** Where a file in place of a repository leads. */
function leadsTo(file: string): readonly string[] {
  try {
    const [, target] = /^gitdir: ([^\n]+)\n?$/.exec(readSmallFile(file, gitTextBytes)) ?? [];
    return target === undefined ? [] : [posix.resolve(posix.dirname(file), target)];
  } catch {
    return [];
  }
}

function repositoryOf(path: string): readonly string[] {
  if (posix.basename(path) === '.git') return isDirectory(path) ? [path] : leadsTo(path);
  const directory = posix.dirname(path);
  const has = (name: string) => isThere(posix.join(directory, name));
  return (has('objects') && has('refs')) || has('commondir') ? [directory] : [];
}

/** A root may be a part of a working tree. */
function above(root: string): readonly string[] {
  const found: string[] = [];
  for (let directory = root; ; directory = posix.dirname(directory)) {
    const git = posix.join(directory, '.git');
    if (isThere(git)) found.push(...repositoryOf(git));
    if (isThere(posix.join(directory, 'HEAD'))) found.push(...repositoryOf(posix.join(directory, 'HEAD')));
    if (directory === '/') return found;
  }
}

export async function ownRepositories(fork: OpenFork): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const [key, root] of Object.entries(fork.vault.roots)) {
    for (const each of above(root)) found.add(each);
    for (const path of await namedIn(fork, key, root)) {
      for (const each of repositoryOf(posix.join(root, path))) found.add(each);
    }
  }
  return [...found].map((path) => decodePath(encodePath(path)));
}
