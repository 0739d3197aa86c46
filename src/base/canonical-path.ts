/** Paths of the host without links, as the kernel would walk them: `a/link/..` is the parent of where the link leads. */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { ErrnoError, fromSystemError, hasCode } from './errno.js';
import { decodePath, encodePath, isUtf8Text } from './path-bytes.js';
import { type AtPlace, walkPath } from './walk-path.js';

function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES');
}

/**
 * Undefined where there is nothing that we may see. A circle of links and a name that no path can have are nothing, too: a link in a
 * directory of programs, or a line in a stranger's repository, would else be the end of every command.
 */
export function canonicalPath(path: string): string | undefined {
  if (path.includes('\0')) return undefined;
  try {
    // Most of what is asked for is not there, and an exception costs more than a look.
    const bytes = isUtf8Text(path) ? path : encodePath(path);
    if (lstatSync(bytes, { throwIfNoEntry: false }) === undefined) return undefined;
    // Not Node's own walk: that one takes `..` off the text before it looks at links.
    return decodePath(realpathSync.native(bytes, { encoding: 'buffer' }));
  } catch (error) {
    if (isMissing(error) || hasCode(error, 'ELOOP') || hasCode(error, 'ENAMETOOLONG')) return undefined;
    throw fromSystemError(error, 'resolve the path', path);
  }
}

/**
 * As realpath(3), for what then goes to Node as text. EINVAL where a link leads to what has a name that is not UTF-8: Node's own answer has
 * U+FFFD in it, and may be the name of something else.
 */
export function realPath(path: string): string {
  const found = decodePath(realpathSync.native(encodePath(path), { encoding: 'buffer' }));
  if (isUtf8Text(found)) return found;
  throw new ErrnoError('EINVAL', {
    operation: 'resolve the path',
    path: found,
    reason: 'expected a path in UTF-8',
    remedy: 'rename what has another name, or use another place',
  });
}

function lookAt(place: string): AtPlace {
  try {
    const bytes = encodePath(place);
    const about = lstatSync(bytes, { throwIfNoEntry: false });
    if (about?.isSymbolicLink()) return { link: decodePath(readlinkSync(bytes, { encoding: 'buffer' })) };
    return about === undefined ? 'nothing' : 'something';
  } catch (error) {
    if (isMissing(error)) return 'nothing';
    throw fromSystemError(error, 'resolve the path', place);
  }
}

/**
 * The canonical path of what exists, and below it the rest as it was written; for files that are yet to be made. A link
 * that leads to nothing is followed too: writing to it makes what it leads to.
 */
export function canonicalAncestor(path: string): string {
  const found = canonicalPath(path);
  if (found !== undefined) return found;
  const walk = walkPath(path);
  let next = walk.next();
  while (next.done !== true) next = walk.next(lookAt(next.value.place));
  return next.value.path;
}
