/** What was just made in a `host:` tree: whose it is, which mode it has, and how it goes again where it could not be given these. */
import { chmodSync } from 'node:fs';
import type { Creation } from '../../filesystem.js';
import type { Name } from '../../names.js';
import { type HostCalls, ownPath, places } from './anchored.js';
import { at, kindOf } from './host-attributes.js';
import { numbersOf } from './host-nodes.js';

export class Newcomers {
  readonly #calls: HostCalls;
  readonly #givesOwners: boolean;

  constructor(calls: HostCalls, givesOwners: boolean) {
    this.#calls = calls;
    this.#givesOwners = givesOwners;
  }

  /** What could not be given its owner is not left to another one; what has come in its place since stays. */
  takeBack(operation: string, directory: number, name: Name, made: number): void {
    try {
      const numbers = numbersOf(this.#calls.stat(operation, made));
      const there = this.#calls.entry(operation, directory, name);
      if (there === undefined || numbersOf(there).some((number, index) => number !== numbers[index])) return;
      if (kindOf(there) === 'directory') this.#calls.rmdir(directory, name);
      else this.#calls.unlink(directory, name);
    } catch {
      // The caller hears what failed first.
    }
  }

  /** A directory with set-gid: what is made in it has its group from the kernel, and a directory the same bit. */
  handsGroupOn(operation: string, directory: number): boolean {
    return (at(this.#calls.stat(operation, directory), places.mode) & 0o2000) !== 0;
  }

  /** To what was just made and is `found`: its owner where that can be given, and its mode, whatever the umask of this process took. */
  give(operation: string, descriptor: number, creation: Creation, inherits: boolean): Float64Array {
    const { found } = this.#calls;
    const { uid } = creation;
    const gid = inherits ? at(found, places.gid) : creation.gid;
    const mode = (creation.mode & 0o7777) | (inherits && kindOf(found) === 'directory' ? 0o2000 : 0);
    const isOwned = at(found, places.uid) === uid && at(found, places.gid) === gid;
    if (this.#givesOwners && !isOwned) {
      this.#calls.owner(operation, descriptor, uid, gid);
      this.#calls.stat(operation, descriptor);
    }
    if ((at(found, places.mode) & 0o7777) === mode || kindOf(found) === 'symlink') return found;
    chmodSync(ownPath(descriptor), mode);
    return this.#calls.stat(operation, descriptor);
  }
}
