/**
 * Directories that were removed while a process still has them, as its working directory or open: they are empty, have attributes, and
 * nothing can be made in them. Of pipes, sockets, devices and links that have lost their names, the attributes. Engines know nothing of
 * them any more, so the mount answers until the kernel has forgotten them.
 */
import type { Attributes, Changes, Inode } from '../vfs/filesystem.js';

export class RemovedDirectories {
  readonly #left = new Map<Inode, Attributes>();

  /** By `rmdir`, or by another one that took its name. */
  add(found: Attributes): void {
    this.#left.set(found.inode, { ...found, links: 0 });
  }

  /** Undefined of all others. Asked for every request. */
  get(inode: Inode): Attributes | undefined {
    return this.#left.size === 0 ? undefined : this.#left.get(inode);
  }

  change(before: Attributes, { mode, uid, gid, accessed, modified }: Changes): Attributes {
    const now = BigInt(Date.now()) * 1_000_000n;
    const time = (given: Changes['accessed'], was: bigint) => (given === 'now' ? now : (given ?? was));
    const after: Attributes = {
      ...before,
      mode: mode ?? before.mode,
      uid: uid ?? before.uid,
      gid: gid ?? before.gid,
      accessed: time(accessed, before.accessed),
      modified: time(modified, before.modified),
      changed: now,
    };
    this.#left.set(before.inode, after);
    return after;
  }

  /** The kernel has forgotten it, or the engine has given its number to another one. */
  delete(inode: Inode): void {
    if (this.#left.size > 0) this.#left.delete(inode);
  }
}
