/**
 * Makes the kernel forget what it was answered: names, attributes and pages. It may have to wait for requests that are under way, so
 * this is never done by the thread that answers them: Node's pool writes, while the server goes on.
 */
import { write } from 'node:fs';
import { promisify } from 'node:util';
import { hasCode } from '../base/errno.js';
import type { FileSystem, KnownEntry } from '../vfs/filesystem.js';
import type { Nodes } from './nodes.js';
import { outHeaderBytes, writeNumber } from './wire.js';

const writeLater = promisify(write);
/** Of the kernel's notices: a number in the place of an error. */
const invalidInode = 2;
const invalidEntry = 3;
/** Node's pool has four threads. */
const atOnce = 4;

export class Invalidation {
  readonly #descriptor: number;
  readonly #nodes: Nodes;
  readonly #stop: (() => void) | undefined;
  #pending = 0;

  constructor(descriptor: number, nodes: Nodes, filesystem: FileSystem) {
    this.#descriptor = descriptor;
    this.#nodes = nodes;
    this.#stop = filesystem.invalidated?.((known) => this.#forget(known));
  }

  /** Notices that are not written yet: the event loop has to turn. */
  get pending(): number {
    return this.#pending;
  }

  end(): void {
    this.#stop?.();
  }

  /**
   * Throws what the kernel says but that it knows no such thing: the process that takes a right away has to know that
   * it is not gone.
   */
  async #forget(known: readonly KnownEntry[]): Promise<void> {
    const inodes = new Set(known.map(({ inode }) => inode));
    const notices = [
      ...known.map(({ directory, name }) => entryNotice(this.#nodes.number(directory), name)),
      ...[...inodes].map((inode) => inodeNotice(this.#nodes.number(inode))),
    ];
    this.#pending += notices.length;
    const waiting = notices.values();
    const send = async () => {
      for (const notice of waiting) {
        try {
          await writeLater(this.#descriptor, notice);
        } catch (error) {
          // The kernel has forgotten it by itself, or the mount is gone and everything with it.
          const gone = (['ENOENT', 'ENODEV', 'ENOTCONN', 'EBADF'] as const).some((code) => hasCode(error, code));
          if (!gone) throw error;
        } finally {
          this.#pending -= 1;
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, send));
  }
}

function notice(code: number, bytes: number): Buffer {
  const made = Buffer.alloc(outHeaderBytes + bytes);
  made.writeUInt32LE(made.length, 0);
  made.writeInt32LE(code, 4);
  return made;
}

/** Attributes alone: that one waits for nothing, so the thread that answers may send it. */
export function attributesNotice(node: number): Buffer {
  const made = inodeNotice(node);
  made.writeBigInt64LE(-1n, outHeaderBytes + 8);
  return made;
}

/** Attributes, and every page: from the beginning, to whatever the end is. */
function inodeNotice(node: number): Buffer {
  const made = notice(invalidInode, 24);
  writeNumber(made, node, outHeaderBytes);
  return made;
}

function entryNotice(directory: number, name: string): Buffer {
  const made = notice(invalidEntry, 16 + name.length + 1);
  const at = writeNumber(made, directory, outHeaderBytes);
  made.writeUInt32LE(name.length, at);
  made.write(name, at + 8, 'latin1');
  return made;
}
