/**
 * The home that a profile keeps from run to run, whatever the directory: STORE/home/NAME/UID. Copies of the person's files are
 * made with it, before anybody inside has written there: what an agent plants later is never a place that we write to.
 * Beside it UID.users has a locked file for each run that has it, and UID.lock is held while it is made.
 *
 * Secrets are never in it. A run that is given them has a home of its own, UID.with-RUN: a copy of the profile's with the secrets laid
 * over it by `native/tree`, which follows no link. It is deleted with the run, or by the next one where that was killed.
 */
import { closeSync, copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { profileFileBytes } from '../../base/limits/commands.js';
import { makeDirectory } from '../../base/make-directory.js';
import { uniqueName } from '../../base/unique-name.js';
import type { Tree } from '../tree/tree.js';
import { give, makeDirectoryWhole, type Owner } from './layer-pool.js';
import { storePaths } from './layout.js';
import { takeLock } from './locks.js';
import type { Store } from './store.js';
import { discard, emptyTrashLater, throwAway } from './trash.js';

export interface ProfileHome {
  readonly store: Store;
  readonly tree: Tree;
  readonly name: string;
  readonly owner: Owner;
  /** The person's own. */
  readonly source: string;
  /** Paths below it; a missing one is left out. */
  readonly copies: readonly string[];
  /** As `copies`, for this run alone. */
  readonly secrets: readonly string[];
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
  makeDirectory(dirname(join(draft, path)));
  copyFileSync(from, join(draft, path));
  for (let at = path; at !== '.'; at = dirname(at)) give(join(draft, at), owner);
}

/** A home that is there, and stays for as long as it is held. */
export interface HeldHome {
  readonly path: string;
  release(): Promise<void>;
}

/** A file for each run that has the home, locked for as long as the run lives: a killed one holds nothing. */
async function hold(tree: Tree, users: string, run: string): Promise<() => void> {
  makeDirectory(users);
  const file = join(users, run);
  const descriptor = await takeLock(tree, file, { wait: false, purpose: 'ctx run', what: users });
  return () => {
    rmSync(file, { force: true });
    closeSync(descriptor);
  };
}

/** EBUSY where a run has it: its files would be gone under its feet. */
async function refuseInUse(tree: Tree, users: string, name: string): Promise<void> {
  const files = existsSync(users) ? readdirSync(users).map((each) => join(users, each)) : [];
  for (const file of files) {
    try {
      closeSync(await takeLock(tree, file, { wait: false, purpose: 'ctx run --fresh', what: users }));
      rmSync(file, { force: true });
    } catch (error) {
      if (!hasCode(error, 'EBUSY')) throw error;
      const [pid = '?'] = readFileSync(file, 'utf8').split(' ');
      throw new ErrnoError('EBUSY', {
        operation: 'make a fresh home',
        reason: `process ${pid} runs ${name} with the home that is there`,
        remedy: 'end that run first, or run without --fresh',
      });
    }
  }
}

const withSecrets = (path: string, run: string) => `${path}.with-${run}`;

/** What runs that were killed left, with the secrets in it. */
async function sweep({ store, tree }: ProfileHome, path: string, users: string): Promise<void> {
  const begin = `${basename(path)}.with-`;
  const left: string[] = [];
  for (const name of readdirSync(dirname(path)).filter((each) => each.startsWith(begin))) {
    const user = join(users, name.slice(begin.length).split('.')[0] ?? '');
    try {
      if (existsSync(user)) closeSync(await takeLock(tree, user, { wait: false, purpose: 'ctx run', what: users }));
      rmSync(user, { force: true });
      left.push(join(dirname(path), name));
    } catch (error) {
      if (!hasCode(error, 'EBUSY')) throw error;
    }
  }
  if (left.length > 0) await discard(store, tree, left);
}

/** A copy of the profile's home with the secrets over it: where an agent planted a link, the copy has a directory. */
async function layOver(home: ProfileHome, path: string, run: string): Promise<string> {
  const { store, tree, secrets, owner } = home;
  const into = withSecrets(path, run);
  const over = `${into}.over`;
  try {
    makeDirectoryWhole(over, (draft) => {
      for (const each of secrets) copyInto(draft, each, home);
      give(draft, owner);
    });
    await tree.merge({ layers: [over, path], into, whole: true, copies: true });
    return into;
  } catch (error) {
    await discard(store, tree, [into]);
    throw error;
  } finally {
    await discard(store, tree, [over]);
  }
}

/** Made where it is missing; one at a time, so that two first runs at once make one home. */
export async function profileHome(home: ProfileHome): Promise<HeldHome> {
  const { store, tree, name, owner, copies, fresh } = home;
  const path = join(storePaths(store.directory).homes, name, String(owner.uid));
  const users = `${path}.users`;
  const lock = await takeLock(tree, `${path}.lock`, { wait: true, purpose: 'ctx run', what: path });
  try {
    if (fresh) {
      await refuseInUse(tree, users, name);
      throwAway(store, path);
    }
    await sweep(home, path, users);
    makeDirectoryWhole(path, (draft) => {
      for (const each of copies) copyInto(draft, each, home);
      give(draft, owner);
    });
    const run = uniqueName();
    const letGo = await hold(tree, users, run);
    if (home.secrets.length === 0) return { path, release: async () => letGo() };
    try {
      const own = await layOver(home, path, run);
      return { path: own, release: () => discard(store, tree, [own]).finally(letGo) };
    } catch (error) {
      letGo();
      throw error;
    }
  } finally {
    closeSync(lock);
    if (fresh) await emptyTrashLater(store, tree);
  }
}
