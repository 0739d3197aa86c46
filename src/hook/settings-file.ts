/** The settings file itself: found, changed as a whole or not at all, with the mode and owner it had. */
import { isUtf8 } from 'node:buffer';
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { contains } from '../authority/absolute-path.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';

export interface SettingsPlace {
  /** As it is named; may be a link, to a person's collection of settings. */
  readonly path: string;
  /** A link may not lead out of here: a project's files come from others. */
  readonly within?: string | undefined;
}

interface Found {
  readonly path: string;
  readonly text: string | undefined;
  readonly about: Stats | undefined;
}

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

function refuseText(path: string): never {
  throw new ErrnoError('EINVAL', {
    operation: 'hook settings',
    path,
    reason: 'expected UTF-8; the file is unchanged',
    remedy: 'repair the file, or move it away and install again',
  });
}

/** Where a write would end up: the directory that exists, and the rest of the name. */
function canonicalTarget(path: string): string {
  if (isThere(path)) {
    try {
      return realpathSync(path);
    } catch (error) {
      if (hasCode(error, 'ENOENT') || hasCode(error, 'ELOOP'))
        refuseLink(path, 'expected a file, got a link to nothing');
      throw fromSystemError(error, 'open', path);
    }
  }
  const parent = dirname(path);
  return parent === path ? path : `${canonicalTarget(parent)}/${path.slice(parent.length).replace(/^\//, '')}`;
}

function find({ path, within }: SettingsPlace): Found {
  const target = canonicalTarget(path);
  if (within !== undefined && !contains(realpathSync(within), target)) {
    refuseLink(path, 'expected a file of this project, got a link that leads out of it');
  }
  try {
    const about = statSync(target);
    if (!about.isFile()) refuseLink(path, 'expected a file');
    const bytes = readFileSync(target);
    // Others would be written back as question marks, and whatever they stood for is somebody's own.
    if (!isUtf8(bytes)) refuseText(target);
    return { path: target, text: bytes.toString('utf8'), about };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return { path: target, text: undefined, about: undefined };
    throw fromSystemError(error, 'read', target);
  }
}

const ownFileMode = 0o644;

function replace({ path, about }: Found, text: string): void {
  const temporary = `${path}.${process.pid}.new`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(descriptor, text);
      if (about === undefined) fchmodSync(descriptor, ownFileMode & ~process.umask());
      else {
        // As root in somebody's directory; anybody else owns what they may replace, or cannot give it away.
        if (process.geteuid?.() === 0) fchownSync(descriptor, about.uid, about.gid);
        fchmodSync(descriptor, about.mode & 0o7777);
      }
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) rmSync(temporary, { force: true });
    throw fromSystemError(error, 'write', path);
  }
}

export interface Changed {
  readonly path: string;
  readonly changed: boolean;
  readonly text: string | undefined;
}

/** `change` gets the text, or undefined where there is no file, and gives the new one, or undefined for none. */
export function changeSettings(
  place: SettingsPlace,
  change: (text: string | undefined, path: string) => string | undefined,
): Changed {
  const found = find(place);
  const text = change(found.text, found.path);
  if (text === undefined || text === found.text) return { path: found.path, changed: false, text: found.text };
  replace(found, text);
  return { path: found.path, changed: true, text };
}
