/** The store: one directory of plain files that holds every vault. Opening it makes it, or refuses what it cannot read. */

import { existsSync, renameSync, rmdirSync, statSync } from 'node:fs';
import { readJsonFile, writeFileAtomic } from '../../base/atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { makeDirectory } from '../../base/make-directory.js';
import { flag, having, integer, membersOf, ofShape, optional, word } from '../../base/shape.js';
import { uniqueName } from '../../base/unique-name.js';
import { storeFormat, storePaths } from './layout.js';
import { loadStoreMark } from './store-mark.js';

/**
 * The overlay profile layers are written in. A store written in another one would be read wrongly: deleted files would
 * come back. It is named in the store and never mixed.
 */
const profile = 'userxattr,index=off,redirect_dir=nofollow,metacopy=off';

/** What `meta.json` says of the store. */
export interface StoreMeta {
  readonly format: number;
  readonly overlay: string;
  readonly marked?: boolean | undefined;
  /** A migration from this format is under way, or was cut off: nothing but the next one may touch the store. */
  readonly migrating?: number | undefined;
  /** It was migrated from this format, and no command has used it since: that can be taken back. */
  readonly migrated?: number | undefined;
}

export const storeMetaShape = having({
  format: integer(0),
  overlay: word,
  marked: optional(flag),
  migrating: optional(integer(0)),
  migrated: optional(integer(0)),
});

export interface Store {
  readonly directory: string;
  readonly device: number;
  readonly inode: number;
  /** As in `StoreMeta`: the first command settles it (`migration/migrate-store`). */
  readonly migrated?: number | undefined;
}

/** Of a store that `migrateStore` can bring to this format. */
export class OlderStore extends ErrnoError {
  readonly olderStore: string;

  constructor(directory: string, from: number) {
    super('EAGAIN', {
      operation: 'open the store',
      path: directory,
      reason: `it is of format ${from}, and is not migrated to format ${storeFormat} yet`,
      remedy: 'run ctx doctor, which migrates it',
    });
    this.olderStore = directory;
  }
}

export function isOlderStore(error: unknown): error is OlderStore {
  return error instanceof ErrnoError && 'olderStore' in error;
}

/** What the store's place does not allow is said with how to choose another. */
function atPlace<T>(directory: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const { code, operation, path, reason } = fromSystemError(error, 'make the store', directory);
    const remedy = 'set CTX_DATA to a directory that you may write';
    throw new ErrnoError(code, { operation, path, reason, remedy, cause: error });
  }
}

function makeStore(directory: string, library: string | undefined): void {
  makeDirectory(directory);
  if (library !== undefined) loadStoreMark(library).disown(directory);
  makeDirectory(storePaths(directory).vaults);
  makeDirectory(storePaths(directory).trash);
}

/** A person deleted them all at once: nothing is left that a lost attribute could bring back. Marked before others see it. */
function makeVaultsAgain(vaults: string, library: string): void {
  const fresh = `${vaults}.${uniqueName()}`;
  makeDirectory(fresh);
  loadStoreMark(library).put(fresh);
  try {
    renameSync(fresh, vaults);
  } catch (error) {
    rmdirSync(fresh);
    // Another process was first, and has a vault in it.
    if (!hasCode(error, 'ENOTEMPTY') && !hasCode(error, 'EEXIST')) throw error;
  }
}

/** Where `marked` is, of a store that was copied without its attributes. */
function refuseUnmarked(directory: string): never {
  throw new ErrnoError('EINVAL', {
    operation: 'open the store',
    path: directory,
    reason: 'this is a copy without extended attributes: files that were deleted in a fork would come back',
    remedy: "copy it again with cp -a, rsync -aX or tar --xattrs --xattrs-include='user.*'; or set CTX_DATA to another",
  });
}

/** Nothing of it is touched. */
function refuseOther(directory: string, found: unknown): never {
  const refuse = (reason: string, remedy: string): never => {
    const elsewhere = `${remedy}, or set CTX_DATA to another directory`;
    throw new ErrnoError('EINVAL', { operation: 'open the store', path: directory, reason, remedy: elsewhere });
  };
  const { format: number } = membersOf(found);
  if (typeof number === 'number' && Number.isSafeInteger(number) && number > storeFormat) {
    const reason = `it was written by a newer ctx: its format is ${number}, and this ctx knows ${storeFormat}`;
    return refuse(reason, 'install the newer ctx again');
  }
  const reason = `expected format ${storeFormat} with overlay profile ${profile}, found ${JSON.stringify(found)}`;
  return refuse(reason, 'use the version of ctx that made it');
}

/** From format 1 on there is a way (`migration/`). */
function isMigratable(format: unknown): format is number {
  return Number.isSafeInteger(format) && Number(format) >= 1 && Number(format) < storeFormat;
}

export function writeStoreMeta(directory: string, about: StoreMeta): void {
  writeFileAtomic(storePaths(directory).meta, `${JSON.stringify(about)}\n`, { durable: true });
}

/**
 * `library` is `native/flock.node`; without it the store is neither marked nor is a mark looked for. `make`: where there is none it is made;
 * else it is as one that is empty, for who only looks.
 */
export function openStore(directory: string, library?: string, make = true): Store {
  const { meta, vaults } = storePaths(directory);
  const read = atPlace(directory, () => readJsonFile(meta));
  const found = ofShape<StoreMeta>(read, storeMetaShape);
  if (read === undefined) {
    if (!make) return Object.freeze({ directory, device: 0, inode: 0 });
    atPlace(directory, () => makeStore(directory, library));
    // Before it is said: the process that else opens it meanwhile looks for it.
    const marked = library !== undefined && loadStoreMark(library).put(vaults);
    writeStoreMeta(directory, { format: storeFormat, overlay: profile, ...(marked ? { marked } : {}) });
  } else if (
    found === undefined ||
    found.format !== storeFormat ||
    found.overlay !== profile ||
    found.migrating !== undefined
  ) {
    const from = found?.migrating ?? found?.format;
    if (found?.overlay === profile && isMigratable(from)) throw new OlderStore(directory, from);
    refuseOther(directory, read);
  } else if (found.marked === true && library !== undefined) {
    if (existsSync(vaults)) {
      const mark = loadStoreMark(library);
      if (!mark.isOn(vaults)) refuseUnmarked(directory);
      // Vaults of earlier versions have what they have; later ones begin without.
      if (make) mark.disown(vaults);
    } else if (make) {
      atPlace(directory, () => makeVaultsAgain(vaults, library));
    }
  }
  const about = statSync(directory);
  const store = { directory, device: about.dev, inode: about.ino };
  return Object.freeze(found?.migrated === undefined ? store : { ...store, migrated: found.migrated });
}
