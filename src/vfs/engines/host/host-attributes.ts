/** What the operating system says of an entry, and is asked for, in the words of the contract. */
import { constants } from 'node:fs';
import type { Attributes, Inode, Kind, OpenMode, Time } from '../../filesystem.js';
import { asItIs, now, places, type SplitTime } from './anchored.js';

const billion = 1_000_000_000n;

export function accessOf({ read, write, append }: OpenMode): number {
  const access = write ? (read ? constants.O_RDWR : constants.O_WRONLY) : constants.O_RDONLY;
  return access | (append === true ? constants.O_APPEND : 0) | constants.O_NONBLOCK;
}

export function split(time: Time | 'now' | undefined): SplitTime {
  if (time === undefined) return asItIs;
  if (time === 'now') return now;
  const rest = ((time % billion) + billion) % billion;
  return [Number((time - rest) / billion), Number(rest)];
}

const kinds: Readonly<Record<number, Kind>> = {
  [constants.S_IFREG]: 'file',
  [constants.S_IFDIR]: 'directory',
  [constants.S_IFLNK]: 'symlink',
  [constants.S_IFIFO]: 'fifo',
  [constants.S_IFSOCK]: 'socket',
  [constants.S_IFBLK]: 'block',
};

export function kindOf(found: Float64Array): Kind {
  return kinds[at(found, places.mode) & constants.S_IFMT] ?? 'character';
}

export function shown(inode: Inode, found: Float64Array): Attributes {
  return {
    inode,
    kind: kindOf(found),
    mode: at(found, places.mode) & 0o7777,
    links: at(found, places.links),
    uid: at(found, places.uid),
    gid: at(found, places.gid),
    device: at(found, places.device),
    size: at(found, places.size),
    blocks: at(found, places.blocks),
    accessed: time(found, places.accessed),
    modified: time(found, places.modified),
    changed: time(found, places.changed),
  };
}

export function at(found: Float64Array, place: number): number {
  return found[place] ?? 0;
}

function time(found: Float64Array, place: number): Time {
  return BigInt(at(found, place)) * billion + BigInt(at(found, place + 1));
}
