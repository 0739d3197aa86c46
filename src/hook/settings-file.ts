/** The settings file itself: found, changed as a whole or not at all, with the mode and owner it had. */
import { isUtf8 } from 'node:buffer';
import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { contains } from '../authority/absolute-path.js';
import { removeLeftDrafts, syncDirectory } from '../base/atomic-file.js';
import { realPath } from '../base/canonical-path.js';
import { newOwnerIn, openWithoutLinks } from '../base/directory-identity.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { hookSettingsBytes } from '../base/limits/decisions.js';
import { readAtMost } from '../base/small-file.js';
import { uniqueName } from '../base/unique-name.js';

export interface SettingsPlace {
  /** As it is named; may be a link, to a person's collection of settings. */
  readonly path: string;
  /** A link may not lead out of here: a project's files come from others. */
  readonly within?: string | undefined;
}

interface Found {
  readonly text: string | undefined;
  readonly about: Stats | undefined;
  /** What tells this content of it from what somebody writes later. */
  readonly stamp: string | undefined;
}

const nothing: Found = { text: undefined, about: undefined, stamp: undefined };

const stampOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats) => [dev, ino, size, mtimeNs, ctimeNs].join(' ');

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return false;
    throw fromSystemError(error, 'lstat', path);
  }
}

function refuseLink(path: string, reason: string): never {
  throw new ErrnoError('EINVAL', {
    operation: 'hook settings',
    path,
    reason,
    remedy: 'replace the link by a file, or install for the user: ctx hook install claude-code --user',
  });
}

function refuseText(path: string, reason: string): never {
  throw new ErrnoError('EINVAL', {
    operation: 'hook settings',
    path,
    reason: `${reason}; the file is unchanged`,
    remedy: 'repair the file, or move it away and install again',
  });
}

/** Where a write would end up: the directory that exists, and the rest of the name. */
function canonicalTarget(path: string): string {
  if (isThere(path)) {
    try {
      return realPath(path);
    } catch (error) {
      if (hasCode(error, 'ENOENT') || hasCode(error, 'ELOOP'))
        refuseLink(path, 'expected a file, got a link to nothing');
      throw fromSystemError(error, 'open', path);
    }
  }
  const parent = dirname(path);
  return parent === path ? path : `${canonicalTarget(parent)}/${path.slice(parent.length).replace(/^\//, '')}`;
}

function targetOf({ path, within }: SettingsPlace): string {
  const target = canonicalTarget(path);
  if (within !== undefined && !contains(realPath(within), target)) {
    refuseLink(path, 'expected a file of this project, got a link that leads out of it');
  }
  return target;
}

/** Undefined where there is none yet. */
function openAbove(target: string): number | undefined {
  try {
    return openWithoutLinks(dirname(target), 'hook settings');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

const reading = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

function find(at: string, target: string, path: string): Found {
  let descriptor: number;
  try {
    descriptor = openSync(at, reading);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return nothing;
    if (hasCode(error, 'ENXIO')) refuseLink(path, 'expected a file');
    throw fromSystemError(error, 'read', target);
  }
  try {
    const about = fstatSync(descriptor);
    if (!about.isFile()) refuseLink(path, 'expected a file');
    // Before it is read: what is written in between counts as later.
    const stamp = stampOf(fstatSync(descriptor, { bigint: true }));
    const bytes = readAtMost(descriptor, hookSettingsBytes);
    if (bytes === undefined) refuseText(target, `expected at most ${hookSettingsBytes} bytes`);
    // Others would be written back as question marks, and whatever they stood for is somebody's own.
    if (!isUtf8(bytes)) refuseText(target, 'expected UTF-8');
    return { text: bytes.toString('utf8'), about, stamp };
  } catch (error) {
    throw fromSystemError(error, 'read', target);
  } finally {
    closeSync(descriptor);
  }
}

const ownFileMode = 0o644;

const placeIn = (directory: number, target: string) => `/proc/self/fd/${directory}/${basename(target)}`;

function isAsFound(at: string, { stamp }: Found): boolean {
  const now = lstatSync(at, { bigint: true, throwIfNoEntry: false });
  return (now === undefined ? undefined : stampOf(now)) === stamp;
}

/** False where somebody has written it since it was found: it is theirs, and stays. */
function replace(directory: number, target: string, found: Found, text: string): boolean {
  const { about } = found;
  const at = placeIn(directory, target);
  const temporary = `${at}.${uniqueName()}.new`;
  try {
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(descriptor, text);
      // As root in somebody's directory; anybody else owns what they may replace, or cannot give it away.
      const owner = process.geteuid?.() === 0 ? (about ?? newOwnerIn(directory)) : undefined;
      if (owner !== undefined) fchownSync(descriptor, owner.uid, owner.gid);
      fchmodSync(descriptor, about === undefined ? ownFileMode & ~process.umask() : about.mode & 0o7777);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (!isAsFound(at, found)) {
      rmSync(temporary);
      return false;
    }
    renameSync(temporary, at);
    removeLeftDrafts(dirname(at), (file) => file === basename(at));
    syncDirectory(`${dirname(at)}/.`);
    return true;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw fromSystemError(error, 'write', target);
  }
}

export interface Changed {
  readonly path: string;
  readonly changed: boolean;
  readonly text: string | undefined;
}

/** A harness that writes its settings while they are changed does that once, or twice. */
const mostTries = 10;

/**
 * `change` gets the text, or undefined where there is no file, and gives the new one, or undefined for none. It is asked again where the
 * file is another one by the time that it would be replaced: harnesses write their settings, too, and know no lock. EAGAIN where that
 * does not end.
 */
export function changeSettings(
  place: SettingsPlace,
  change: (text: string | undefined, path: string) => string | undefined,
): Changed {
  const path = targetOf(place);
  // Whoever owns the project may put links into it meanwhile: it is one directory from here on, whatever its name leads to.
  let directory = openAbove(path);
  try {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const found = directory === undefined ? nothing : find(placeIn(directory, path), path, place.path);
      const text = change(found.text, path);
      if (text === undefined || text === found.text) return { path, changed: false, text: found.text };
      directory ??= openWithoutLinks(dirname(path), 'hook settings', true);
      if (replace(directory, path, found, text)) return { path, changed: true, text };
    }
  } finally {
    if (directory !== undefined) closeSync(directory);
  }
  throw new ErrnoError('EAGAIN', {
    operation: 'hook settings',
    path,
    reason: `another process wrote the file each of ${mostTries} times that it was to be changed; it is unchanged`,
    remedy: 'end the programs that write it, and run this again',
  });
}
