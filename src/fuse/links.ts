/**
 * Which links of a mounted tree are served. The kernel follows their text in the namespace of the process that asks, so
 * text that could lead out of the tree is not handed out: a link leads within its tree or nowhere. Pure.
 *
 * Within are: absolute text below the place the tree is mounted at, and relative text whose `..` all come first and are no more
 * than the link is deep. `..` behind a name is refused, since that name may become a link at any time.
 */

export function staysWithin(text: string, depth: number, mountedAt: string): boolean {
  const names = text.split('/').filter((name) => name !== '' && name !== '.');
  const firstName = names.findIndex((name) => name !== '..');
  const ups = firstName < 0 ? names.length : firstName;
  if (firstName >= 0 && names.indexOf('..', firstName) >= 0) return false;
  if (!text.startsWith('/')) return ups <= depth;
  const place = mountedAt.split('/').filter((name) => name !== '');
  return ups === 0 && place.every((name, index) => names[index] === name);
}
