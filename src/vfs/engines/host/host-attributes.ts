/** What the operating system says of an entry, and is asked for, in the words of the contract. */
import { type BigIntStats, constants, lstatSync } from 'node:fs';
import { hasCode } from '../../../base/errno.js';
import type { Attributes, Inode, Kind, OpenMode, Time } from '../../filesystem.js';
import type { Name } from '../../names.js';
import { entryPath } from './anchored.js';

export function entryStat(directory: number, name: Name): BigIntStats | undefined {
  try {
    return lstatSync(entryPath(directory, name), { bigint: true });
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export function accessOf({ read, write, append }: OpenMode): number {
  const access = write ? (read ? constants.O_RDWR : constants.O_WRONLY) : constants.O_RDONLY;
  return access | (append === true ? constants.O_APPEND : 0) | constants.O_NONBLOCK;
}

/** Node takes times in seconds, which keeps microseconds of them. */
export function seconds(time: Time | 'now' | undefined, before: Time): number {
  if (time === 'now') return Date.now() / 1000;
  // The middle of the microsecond, which no rounding takes it out of.
  return (Number((time ?? before) / 1000n) + 0.5) / 1e6;
}

export function kindOf(stat: BigIntStats): Kind {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  if (stat.isSymbolicLink()) return 'symlink';
  if (stat.isFIFO()) return 'fifo';
  if (stat.isSocket()) return 'socket';
  return stat.isBlockDevice() ? 'block' : 'character';
}

export function shown(inode: Inode, stat: BigIntStats): Attributes {
  return {
    inode,
    kind: kindOf(stat),
    mode: Number(stat.mode) & 0o7777,
    links: Number(stat.nlink),
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    device: Number(stat.rdev),
    size: Number(stat.size),
    blocks: Number(stat.blocks),
    accessed: stat.atimeNs,
    modified: stat.mtimeNs,
    changed: stat.ctimeNs,
  };
}
