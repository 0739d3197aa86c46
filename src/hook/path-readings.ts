/**
 * One path, several readings. A harness hands a path to its file functions in its own way: some join and normalise it
 * as text first, so that `link/../x` is `x`; the kernel follows the link first. Some trim it, some compose its
 * characters (NFC). A path is granted only where **every** reading is: then it does not matter which one is used. What a
 * harness may expand into something else altogether (`~`) is refused.
 */
import { posix } from 'node:path';
import { pathBytes } from '../base/limits/objects.js';
import { visible } from '../base/visible-text.js';

export type Readings =
  | { readonly ok: true; readonly paths: readonly string[] }
  | { readonly ok: false; readonly fault: string };

const loneSurrogate = /\p{Surrogate}/u;
const shownCharacters = 200;

/** For a reason: on one line, harmless, and not endless. */
export function shownPath(path: string): string {
  const cut = path.length > shownCharacters ? `${path.slice(0, shownCharacters)}...` : path;
  return visible(cut);
}

function fault(path: string): string | undefined {
  if (path.trim() === '') return 'expected a path, got none';
  if (path.includes('\0')) return 'expected a path without NUL characters';
  if (loneSurrogate.test(path)) return 'expected a path of whole characters, got half of one';
  if (path.trimStart().startsWith('~')) {
    return `expected an absolute path or one below the working directory: "${shownPath(path)}" may mean a home (write ./~ for a file of that name)`;
  }
  return undefined;
}

/** Absolute paths, not resolved yet: `cwd` is absolute. */
export function readingsOf(path: string, cwd: string): Readings {
  const found = fault(path);
  if (found !== undefined) return { ok: false, fault: found };
  const paths = [path, path.trim()].flatMap((text) => {
    const joined = text.startsWith('/') ? text : `${cwd}/${text}`;
    // Composed as a whole: a harness joins first, so the working directory's own name changes, too.
    return [joined, joined.normalize('NFC')].flatMap((each) => [each, posix.normalize(each)]);
  });
  if (paths.some((each) => Buffer.byteLength(each) > pathBytes)) {
    return { ok: false, fault: `expected a path of at most ${pathBytes} bytes` };
  }
  return { ok: true, paths: [...new Set(paths)] };
}
