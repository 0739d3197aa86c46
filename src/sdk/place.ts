/** Where a command of a workspace may start: anywhere in it, and nowhere else. */
import { statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { ErrnoError, hasCode } from '../base/errno.js';
import { type Host, type Place, placeOf } from '../proxy/host.js';

function isBelow(path: string, top: string): boolean {
  const rest = relative(top, path);
  return rest !== '..' && !rest.startsWith('../');
}

/** A path that leads to a workspace, and is not a directory itself. */
export function refuseFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== false) return;
  throw new ErrnoError('ENOTDIR', {
    operation: 'open the directory',
    path,
    reason: 'expected a directory, got a file',
  });
}

/** The path alone decides first: whether something is at a place outside is nobody's to learn here. */
export function startingPlace(host: Host, { origin, directory }: Place, asked: string | undefined): string {
  if (asked === undefined) return directory;
  const outside = new ErrnoError('EINVAL', {
    operation: 'exec',
    path: asked,
    reason: `expected a directory of the workspace ${origin}`,
    remedy: 'name one relative to where the workspace was opened',
  });
  const path = resolve(directory, asked);
  if (path.includes('\0') || !isBelow(path, origin)) throw outside;
  try {
    if (placeOf(host, path).origin === origin) return path;
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    throw new ErrnoError('ENOENT', {
      operation: 'exec',
      path: asked,
      reason: 'a command must start in a directory that also exists outside of the fork',
      remedy: 'start above it, and go there: cd DIRECTORY && COMMAND, as a text for the shell',
      cause: error,
    });
  }
  throw outside;
}
