/** The store: one directory of plain files that holds every vault. Opening it makes it, or refuses what it cannot read. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { readJsonFile, writeFileAtomic } from '../../base/atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { storePaths } from './layout.js';
import { loadStoreMark } from './store-mark.js';

/**
 * The overlay profile layers are written in. A store written in another one would be read wrongly: deleted files would
 * come back. It is named in the store and never mixed.
 */
const profile = 'userxattr,index=off,redirect_dir=nofollow,metacopy=off';
const format = 2;

export interface Store {
  readonly directory: string;
  readonly device: number;
  readonly inode: number;
}

/** Not mkdir's `recursive`: it never ends in a filesystem that answers ENOENT to every mkdir, such as /proc. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return;
    if (!hasCode(error, 'ENOENT') || existsSync(dirname(path))) throw error;
    makeDirectory(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
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

function make(directory: string): void {
  makeDirectory(directory);
  makeDirectory(storePaths(directory).vaults);
  makeDirectory(storePaths(directory).trash);
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

/** Nothing of it is touched. There is no step from format 1: it was never released, and its forks had no names. */
function refuseOther(
  directory: string,
  found: { readonly format?: unknown; readonly overlay?: unknown } | null,
): never {
  const refuse = (reason: string, remedy: string): never => {
    const elsewhere = `${remedy}, or set CTX_DATA to another directory`;
    throw new ErrnoError('EINVAL', { operation: 'open the store', path: directory, reason, remedy: elsewhere });
  };
  const number = Number.isSafeInteger(found?.format) ? (found?.format as number) : undefined;
  if (number !== undefined && number > format) {
    const reason = `it was written by a newer ctx: its format is ${number}, and this ctx knows ${format}`;
    return refuse(reason, 'install the newer ctx again');
  }
  if (number !== undefined && number < format) {
    const reason = `it was written by an older ctx: its format is ${number}, and this ctx has no way from there to ${format}`;
    return refuse(reason, 'apply what its forks hold with the ctx that made it');
  }
  const reason = `expected format ${format} with overlay profile ${profile}, found ${JSON.stringify(found)}`;
  return refuse(reason, 'use the version of ctx that made it');
}

/** `library` is `native/flock.node`; without it the store is neither marked nor is a mark looked for. */
export function openStore(directory: string, library?: string): Store {
  const { meta, vaults } = storePaths(directory);
  const found = atPlace(directory, () => readJsonFile(meta)) as
    | { format?: unknown; overlay?: unknown; marked?: unknown }
    | null
    | undefined;
  if (found === undefined) {
    atPlace(directory, () => make(directory));
    // Before it is said: whoever else opens it meanwhile looks for it.
    const marked = library !== undefined && loadStoreMark(library).put(vaults);
    const about = { format, overlay: profile, ...(marked ? { marked } : {}) };
    writeFileAtomic(meta, `${JSON.stringify(about)}\n`, { durable: true });
  } else if (found?.format !== format || found.overlay !== profile) {
    refuseOther(directory, found);
  } else if (found.marked === true && library !== undefined && !loadStoreMark(library).isOn(vaults)) {
    refuseUnmarked(directory);
  }
  const about = statSync(directory);
  return Object.freeze({ directory, device: about.dev, inode: about.ino });
}
