/**
 * System calls on an entry of an open directory, which Node does not have: `/proc/self/fd/N/NAME` is NAME in the directory that
 * descriptor N is open on, whatever became of its path. One name at a time, and never through a link.
 */
import { type BigIntStats, closeSync, constants, fstatSync, openSync } from 'node:fs';
import { bytesFromName, type Name } from '../../names.js';

/** Linux's, which Node does not name. Reads nothing, opens no device, waits for no pipe. */
const justThePath = 0o10000000;
const place = justThePath | constants.O_NOFOLLOW;

export function entryPath(directory: number, name: Name): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), bytesFromName(name)]);
}

/** The very inode that the descriptor is on. */
export function ownPath(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

/** A descriptor on the entry itself, a link too. */
export function openEntry(directory: number, name: Name): number {
  return openSync(entryPath(directory, name), place);
}

export function openDirectory(directory: number, name: Name): number {
  return openSync(entryPath(directory, name), place | constants.O_DIRECTORY);
}

export function openRoot(path: string): number {
  return openSync(path, justThePath | constants.O_DIRECTORY);
}

export function statOf(descriptor: number): BigIntStats {
  return fstatSync(descriptor, { bigint: true });
}

export function using<T>(descriptor: number, act: (descriptor: number) => T): T {
  try {
    return act(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
