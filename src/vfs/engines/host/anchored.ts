/**
 * System calls on entries of an open directory: `native/host.node`. One name at a time, or a path of names, never through a link and
 * never out of the directory. What the kernel refuses is thrown as the one error type.
 */
import { constants } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import { type ErrnoCode, ErrnoError } from '../../../base/errno.js';
import { installAgain, nativeProgram } from '../../../base/native-program.js';
import { failure } from '../../failure.js';
import type { Name } from '../../names.js';

interface HostLibrary {
  open(directory: number, path: string, flags: number, mode: number, found: Float64Array): number;
  reopen(descriptor: number, flags: number): number;
  close(descriptor: number): number;
  stat(directory: number, name: Name, found: Float64Array): number;
  unlink(directory: number, name: Name, flags: number): number;
  rename(directory: number, name: Name, to: number, newName: Name, flags: number): number;
  link(descriptor: number, to: number, newName: Name): number;
  mkdir(directory: number, name: Name, mode: number): number;
  symlink(target: Name, directory: number, name: Name): number;
  readlink(descriptor: number): string | number;
  owner(descriptor: number, uid: number, gid: number): number;
  times(descriptor: number, accessed: number, rest: number, modified: number, modifiedRest: number): number;
}

/** Linux's, which Node does not name. Reads nothing, opens no device, waits for no pipe. */
export const justThePath = 0o10000000;
const removeDirectory = 0x200;
const noReplace = 1;

/** Where the library puts what it found. */
export const places = {
  mode: 0,
  links: 1,
  uid: 2,
  gid: 3,
  device: 4,
  size: 5,
  blocks: 6,
  accessed: 7,
  modified: 9,
  changed: 11,
  born: 13,
  filesystem: 15,
  inodeHigh: 16,
  inodeLow: 17,
} as const;
const placesCount = 18;

/** The very inode that the descriptor is on. */
export function ownPath(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

export class HostCalls {
  /** Of the last entry that was opened or looked at. */
  readonly found = new Float64Array(placesCount);
  readonly #library: HostLibrary;

  constructor() {
    const path = nativeProgram('host.node');
    const module = { exports: {} as HostLibrary };
    try {
      process.dlopen(module, path);
    } catch (cause) {
      const reason = 'the library that opens files of a directory is missing';
      throw new ErrnoError('ENOSYS', { operation: 'open', path, reason, remedy: installAgain, cause });
    }
    this.#library = module.exports;
  }

  open(operation: string, directory: number, path: string, flags: number, mode = 0): number {
    return checked(this.#library.open(directory, path, flags, mode, this.found), operation, path);
  }

  reopen(operation: string, descriptor: number, flags: number): number {
    return checked(this.#library.reopen(descriptor, flags), operation);
  }

  close(descriptor: number): void {
    this.#library.close(descriptor);
  }

  using<T>(descriptor: number, act: (descriptor: number) => T): T {
    try {
      return act(descriptor);
    } finally {
      this.#library.close(descriptor);
    }
  }

  stat(operation: string, descriptor: number): Float64Array {
    checked(this.#library.stat(descriptor, '', this.found), operation);
    return this.found;
  }

  /** Undefined where there is no such entry. */
  entry(operation: string, directory: number, name: Name): Float64Array | undefined {
    const answer = this.#library.stat(directory, name, this.found);
    if (answer === -noEntry) return undefined;
    checked(answer, operation, name);
    return this.found;
  }

  unlink(directory: number, name: Name): void {
    checked(this.#library.unlink(directory, name, 0), 'unlink', name);
  }

  rmdir(directory: number, name: Name): void {
    checked(this.#library.unlink(directory, name, removeDirectory), 'rmdir', name);
  }

  rename(directory: number, name: Name, to: number, newName: Name): void {
    checked(this.#library.rename(directory, name, to, newName, 0), 'rename', name);
  }

  /** EEXIST where the new name is taken. */
  renameNew(directory: number, name: Name, to: number, newName: Name): void {
    const answer = this.#library.rename(directory, name, to, newName, noReplace);
    if (answer !== -invalid) return void checked(answer, 'rename', newName);
    // A filesystem without that: a name is taken by what fails where it is taken already.
    const place = this.open('rename', directory, name, justThePath);
    this.using(place, () => {
      const isDirectory = ((this.found[places.mode] ?? 0) & constants.S_IFMT) === constants.S_IFDIR;
      if (isDirectory) this.mkdir(to, newName, 0o700);
      else this.link(place, to, newName);
      if (isDirectory) this.rename(directory, name, to, newName);
      else this.unlink(directory, name);
    });
  }

  link(descriptor: number, to: number, newName: Name): void {
    checked(this.#library.link(descriptor, to, newName), 'link', newName);
  }

  mkdir(directory: number, name: Name, mode: number): void {
    checked(this.#library.mkdir(directory, name, mode), 'mkdir', name);
  }

  symlink(target: Name, directory: number, name: Name): void {
    checked(this.#library.symlink(target, directory, name), 'symlink', name);
  }

  readlink(descriptor: number): Name {
    const answer = this.#library.readlink(descriptor);
    if (typeof answer === 'string') return answer;
    // The kernel's word for a descriptor that is not on a link.
    throw refused(answer === -noEntry ? -invalid : answer, 'readlink');
  }

  owner(operation: string, descriptor: number, uid: number, gid: number): void {
    checked(this.#library.owner(descriptor, uid, gid), operation);
  }

  times(operation: string, descriptor: number, accessed: SplitTime, modified: SplitTime): void {
    checked(this.#library.times(descriptor, ...accessed, ...modified), operation);
  }
}

/** Seconds and nanoseconds. */
export type SplitTime = readonly [number, number];
export const now: SplitTime = [0, -1];
export const asItIs: SplitTime = [0, -2];

const [noEntry, invalid, notSupported] = [2, 22, 95];

function checked(answer: number, operation: string, name?: Name): number {
  if (answer < 0) throw refused(answer, operation, name);
  return answer;
}

function refused(answer: number, operation: string, name?: Name): ErrnoError {
  const [code = 'EIO', text] = getSystemErrorMap().get(answer) ?? [];
  if (answer === -notSupported) return failure('ENOTSUP', operation, name, text);
  return failure(code as ErrnoCode, operation, name, text === undefined ? undefined : `${operation} failed: ${text}`);
}
