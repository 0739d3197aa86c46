/**
 * Where the files of ctx itself are: the store, the objects, the operator's configuration. Pure but for those that look
 * at a place.
 */
import { accessSync, chmodSync, constants, existsSync, lstatSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { realPath } from '../../base/canonical-path.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { makeDurableDirectory } from '../../base/make-directory.js';
import { isExactText } from '../../base/path-bytes.js';
import { shellWord } from '../../base/visible-text.js';
import { refuseOpenAncestors } from './store-ancestors.js';

/** The path without links; as it is where nothing is there yet. */
export function canonicalPlace(path: string): string {
  try {
    return realPath(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return path;
    throw fromSystemError(error, 'open', path);
  }
}

/**
 * What is there decides what a command may do, and is written without a second look: no one else may have made it, or
 * write it. As it is where nothing is there yet.
 */
export function ownPlace(path: string, uid: number): string {
  const place = canonicalPlace(path);
  refuseOpenAncestors(place, uid);
  const about = statSync(place, { throwIfNoEntry: false });
  if (about === undefined) return place;
  const isTheirs = about.uid !== uid;
  if (!isTheirs && (about.mode & 0o022) === 0) return place;
  throw new ErrnoError('EACCES', {
    operation: 'open',
    path: place,
    reason: isTheirs
      ? `expected a directory of your own (uid ${uid}), found one of uid ${about.uid}`
      : `expected a directory that only you may write, found mode ${(about.mode & 0o7777).toString(8)}`,
    remedy: isTheirs
      ? 'set CTX_DATA, CTX_ROOT or XDG_CONFIG_HOME to a directory of your own'
      : `chmod go-w ${shellWord(place)}, if no other user wrote to it`,
  });
}

/** The variables that decide where these are: where all are the same, so are the places. */
export const placeVariables = ['HOME', 'CTX_DATA', 'CTX_ROOT', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME'] as const;

type Variables = Readonly<Record<string, string | undefined>>;

/** `find` is that of Node: of HOME, else of the user in the system's list, which need not have one of this number. */
export function ownHome(find: () => string): string {
  let home: string;
  try {
    home = find();
  } catch (error) {
    throw new ErrnoError('EINVAL', {
      operation: 'HOME',
      reason: 'it is not set, and the system knows no home directory of this user',
      remedy: 'set HOME to your home directory',
      cause: error,
    });
  }
  return absoluteHome(home);
}

/** A relative one would be another in every directory, and its files would be made in the workspace. */
function absoluteHome(home: string): string {
  refuseOtherBytes('HOME', home);
  if (isAbsolute(home)) return home;
  throw new ErrnoError('EINVAL', {
    operation: 'HOME',
    path: home,
    reason: 'expected an absolute path',
    remedy: 'set HOME to your home directory, or unset it',
  });
}

/** `$CTX_DATA`, else `$XDG_DATA_HOME/ctxfs`, else `~/.local/share/ctxfs`. */
export function storeDirectory(environment: Variables, home: string): string {
  const named = textIn(environment, 'CTX_DATA');
  if (named !== undefined && !isAbsolute(named)) {
    throw new ErrnoError('EINVAL', { operation: 'CTX_DATA', path: named, reason: 'expected an absolute path' });
  }
  const data = textIn(environment, 'XDG_DATA_HOME');
  return named ?? join(data !== undefined && isAbsolute(data) ? data : join(home, '.local', 'share'), 'ctxfs');
}

/** Where agents and tools are kept: `$CTX_ROOT`, else in the store. */
export function objectRoot(environment: Variables, store: string): string {
  const named = textIn(environment, 'CTX_ROOT');
  if (named !== undefined && !isAbsolute(named)) {
    throw new ErrnoError('EINVAL', { operation: 'CTX_ROOT', path: named, reason: 'expected an absolute path' });
  }
  return named ?? join(store, 'ctx');
}

/** Objects for every user of the machine. No variable names another place: what is there is root's alone to say. */
const systemObjects = '/var/lib/ctxfs';

export function isForEveryUser(root: string): boolean {
  return root === systemObjects;
}

/** What root keeps there is read by every user, also where root's umask keeps new files from them. */
function makeForEveryUser(directory: string): void {
  if (existsSync(directory)) return;
  makeDurableDirectory(directory, 0o755);
  chmodSync(directory, 0o755);
}

export function makeSystemObjects(root: string, kind: string): void {
  if (!isForEveryUser(root)) return;
  makeForEveryUser(root);
  makeForEveryUser(join(root, kind));
}

/** Whatever comes into it first. */
export function makeObjectRoot(root: string): void {
  if (isForEveryUser(root)) makeForEveryUser(root);
  else makeDurableDirectory(root);
}

/** Where root made it, no one else may write it, and this user may read it; else it is as if it were not there. */
export function systemObjectsBeside(root: string): string | undefined {
  if (isForEveryUser(root)) return undefined;
  const about = lstatSync(systemObjects, { throwIfNoEntry: false });
  const isRoots = about?.isDirectory() === true && about.uid === 0 && (about.mode & 0o022) === 0;
  return isRoots && closedSystemObjects() === undefined ? systemObjects : undefined;
}

/** The first of its directories that this user may not read. */
export function closedSystemObjects(): string | undefined {
  const kinds = ['agent', 'model', 'shared', 'tool'].map((kind) => join(systemObjects, kind));
  return [systemObjects, ...kinds].find((directory) => {
    try {
      accessSync(directory, constants.R_OK | constants.X_OK);
      return false;
    } catch (error) {
      return !hasCode(error, 'ENOENT');
    }
  });
}

/** Of a directory: Node reads U+FFFD in the place of a byte that is not UTF-8, and that is in the name of another one. */
function textIn(environment: Variables, name: string): string | undefined {
  const value = environment[name];
  if (value !== undefined) refuseOtherBytes(name, value);
  return value;
}

function refuseOtherBytes(name: string, value: string): void {
  if (isExactText(value)) return;
  throw new ErrnoError('EINVAL', {
    operation: name,
    path: value,
    reason: 'expected a path in UTF-8, without U+FFFD',
    remedy: `set ${name} to another place`,
  });
}

/** By the base directory specification a relative one is as good as none. */
export function configurationDirectory(environment: Variables, home: string): string {
  const named = textIn(environment, 'XDG_CONFIG_HOME');
  return join(named !== undefined && isAbsolute(named) ? named : join(home, '.config'), 'ctxfs');
}
