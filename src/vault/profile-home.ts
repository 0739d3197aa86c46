/**
 * The home that a profile keeps from run to run, whatever the directory: STORE/home/NAME/UID. Copies of the person's files are
 * made with it, before anybody inside has written there: what an agent plants later is never a place that we write to.
 */
import { copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { profileFileBytes } from '../base/limits.js';
import { give, makeDirectoryWhole, type Owner } from './layer-pool.js';
import { storePaths } from './layout.js';
import type { Store } from './store.js';
import { emptyTrash, throwAway } from './trash.js';
import type { Tree } from './tree.js';

export interface ProfileHome {
  readonly store: Store;
  readonly tree: Tree;
  readonly name: string;
  readonly owner: Owner;
  /** The person's own. */
  readonly source: string;
  /** Paths below it; a missing one is left out. */
  readonly copies: readonly string[];
  /** In place of the one that is there. */
  readonly fresh: boolean;
}

function sizeOf(path: string): number | undefined {
  try {
    const about = statSync(path);
    return about.isFile() ? about.size : undefined;
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES')) return undefined;
    throw fromSystemError(error, 'copy into the home', path);
  }
}

function copyInto(draft: string, path: string, { source, owner }: ProfileHome): void {
  const from = join(source, path);
  const size = sizeOf(from);
  if (size === undefined) return;
  if (size > profileFileBytes) {
    throw new ErrnoError('EFBIG', {
      operation: 'copy into the home',
      path: from,
      reason: `expected at most ${profileFileBytes} bytes`,
      remedy: 'leave it out: copies in profiles.toml',
    });
  }
  mkdirSync(dirname(join(draft, path)), { recursive: true, mode: 0o700 });
  copyFileSync(from, join(draft, path));
  for (let at = path; at !== '.'; at = dirname(at)) give(join(draft, at), owner);
}

/** Its path, made where it is missing; and whether it was made now. */
export async function profileHome(home: ProfileHome): Promise<{ readonly path: string; readonly made: boolean }> {
  const { store, tree, name, owner, copies, fresh } = home;
  const path = join(storePaths(store.directory).homes, name, String(owner.uid));
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (fresh) {
    throwAway(store, path);
    await emptyTrash(store, tree);
  }
  const made = !existsSync(path);
  makeDirectoryWhole(path, (draft) => {
    for (const each of copies) copyInto(draft, each, home);
    give(draft, owner);
  });
  return { path, made };
}
