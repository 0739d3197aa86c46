/**
 * A record copied to a place that may be another user's: by descriptors, through no link, and over nothing that is there. Who may write
 * to the place can put links in it while we copy, and root would write to what they lead to.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { directoryFlags, openWithoutLinks } from '../../base/directory-identity.js';
import { ErrnoError, hasCode } from '../../base/errno.js';
import { freshDirectory } from '../../base/fresh-directory.js';

const operation = 'ctx audit export';

function refuseTaken(path: string): never {
  const reason = 'something else has taken this place meanwhile';
  throw new ErrnoError('EEXIST', { operation, path, reason, remedy: 'export to a place that only you may write' });
}

const isOurs = (descriptor: number): boolean => fstatSync(descriptor).uid === process.geteuid?.();

function inOwnDirectory<T>(above: number, [name, ...below]: readonly string[], act: (directory: number) => T): T {
  if (name === undefined) return act(above);
  const path = `/proc/self/fd/${above}/${name}`;
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // One that several chains are in.
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  const directory = openSync(path, directoryFlags);
  try {
    return isOurs(directory) ? inOwnDirectory(directory, below, act) : refuseTaken(name);
  } finally {
    closeSync(directory);
  }
}

export class RecordCopy {
  readonly #directory: number;

  /** EEXIST where something is there already. */
  constructor(path: string) {
    const fresh = freshDirectory(path, operation, 0o700);
    this.#directory = openWithoutLinks(fresh.path, operation);
    const { dev, ino } = fstatSync(this.#directory, { bigint: true });
    if (`${dev}:${ino}` === fresh.identity) return;
    this.close();
    refuseTaken(path);
  }

  /** All files of `from`, but a lock. */
  addChain(from: string, chain: string): void {
    const files = readdirSync(from, { withFileTypes: true }).filter((each) => each.isFile() && each.name !== 'lock');
    inOwnDirectory(this.#directory, chain.split('/'), (directory) => {
      for (const { name } of files)
        copyFileSync(join(from, name), `/proc/self/fd/${directory}/${name}`, constants.COPYFILE_EXCL);
    });
  }

  addFile(from: string, name: string): void {
    copyFileSync(from, `/proc/self/fd/${this.#directory}/${name}`, constants.COPYFILE_EXCL);
  }

  addText(name: string, text: string): void {
    writeFileSync(`/proc/self/fd/${this.#directory}/${name}`, text, { flag: 'wx' });
  }

  close(): void {
    closeSync(this.#directory);
  }
}
