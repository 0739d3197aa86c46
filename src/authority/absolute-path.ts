/**
 * Paths as lists of components. Everything here takes normal absolute paths (`isNormalPath`) and compares whole
 * components: `/a/bc` is not inside `/a/b`. Symlinks are the caller's: a path is resolved before it comes here.
 */
import { pathBytes } from '../base/limits/objects.js';

export const normalPathRule =
  'an absolute path without empty, `.` or `..` components, without a final slash and within 4095 bytes';

/** A UTF-16 unit is at most three bytes, so the bytes of most paths need not be counted. */
const surelyShort = Math.floor(pathBytes / 3);

const abnormal = /\/\.{0,2}(?:\/|$)|\0/;
const surrogate = /[\ud800-\udfff]/;
const loneSurrogate = /\p{Surrogate}/u;

export function isNormalPath(path: string): boolean {
  if (path === '/') return true;
  if (!path.startsWith('/') || abnormal.test(path)) return false;
  // Half a character has no bytes of its own: two such paths would be one file.
  if (surrogate.test(path) && loneSurrogate.test(path)) return false;
  return path.length <= surelyShort || Buffer.byteLength(path) <= pathBytes;
}

/** True where `path` is `directory` or something inside it. */
export function contains(directory: string, path: string): boolean {
  if (directory === '/') return path.startsWith('/');
  return path.startsWith(directory) && (path.length === directory.length || path[directory.length] === '/');
}

export function componentsOf(path: string): readonly string[] {
  return path === '/' ? [] : path.slice(1).split('/');
}

/** `path`, which is inside `from`, at the same place inside `to`. */
export function rebase(path: string, from: string, to: string): string {
  if (path === from) return to;
  const rest = from === '/' ? path : path.slice(from.length);
  return to === '/' ? rest : `${to}${rest}`;
}
