/** Node's flags for opening, in words. */
import { constants } from 'node:fs';
import { ErrnoError } from '../../base/errno.js';
import type { OpenFlags } from '../../vfs/tree.js';

const words: Readonly<Record<string, OpenFlags>> = {
  r: { read: true, write: false },
  'r+': { read: true, write: true },
  w: { read: false, write: true, create: true, truncate: true },
  wx: { read: false, write: true, create: true, exclusive: true },
  'w+': { read: true, write: true, create: true, truncate: true },
  'wx+': { read: true, write: true, create: true, exclusive: true },
  a: { read: false, write: true, create: true, append: true },
  ax: { read: false, write: true, create: true, append: true, exclusive: true },
  'a+': { read: true, write: true, create: true, append: true },
  'ax+': { read: true, write: true, create: true, append: true, exclusive: true },
};

export function openFlags(flags: string | number): OpenFlags {
  if (typeof flags === 'number') {
    const access = flags & (constants.O_WRONLY | constants.O_RDWR);
    const has = (flag: number) => (flags & flag) !== 0;
    return {
      read: access !== constants.O_WRONLY,
      write: access !== 0,
      create: has(constants.O_CREAT),
      exclusive: has(constants.O_EXCL),
      truncate: has(constants.O_TRUNC),
      append: has(constants.O_APPEND),
    };
  }
  // Node's `rs`, `as` and the like mean synchronous writing, and its letters come in any order.
  const word = flags.replace('s', '').replace('xa', 'ax').replace('xw', 'wx').replace('+x', 'x+');
  const found = Object.hasOwn(words, word) ? words[word] : undefined;
  if (found !== undefined) return found;
  throw new ErrnoError('EINVAL', {
    operation: 'open',
    reason: `expected flags of fs.open, got '${flags}'`,
    remedy: `valid flags: ${Object.keys(words).join(', ')}`,
  });
}
