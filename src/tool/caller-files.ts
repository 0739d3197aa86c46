/**
 * Files of the caller's, as its own process reaches them: in its mount, with its ids, beneath a directory that is named here, which the
 * kernel holds (native/object/caller-files.h). So a tool does nothing to a file that its caller could not do.
 */
import { constants } from 'node:os';
import { type ErrnoCode, ErrnoError } from '../base/errno.js';
import { decodePath, encodePath } from '../base/path-bytes.js';
import { objectContentBytes } from './wire.js';

export type CallerEntryType = 'file' | 'directory' | 'symlink' | 'other';

export interface FoundAttributes {
  readonly type: CallerEntryType;
  readonly mode: number;
  readonly size: number;
  /** Seconds since 1970. */
  readonly modified: number;
}

export interface CallerEntry {
  readonly name: string;
  readonly type: CallerEntryType;
  readonly size: number;
}

/** A path of a directory that tools may reach into. */
export interface BeneathPath {
  readonly root: string;
  /** The directory of the fork that it is. */
  readonly source: string;
  /** Relative to it; `.` for itself. */
  readonly path: string;
  /** As the caller wrote it. */
  readonly shown: string;
}

/** Sends what is to be done, and resolves with what was answered. */
export type Reach = (request: Buffer) => Promise<Buffer>;

const kinds: Readonly<Record<number, CallerEntryType>> = { 4: 'directory', 8: 'file', 10: 'symlink' };
const codes = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));
const attributeBytes = 21;
const writeFlags = { new: 1, parents: 2, more: 4 } as const;

/** What is known of each errno that a caller may meet; the others keep the kernel's name. */
const reasons: Partial<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  EXDEV: 'it leads out of the workspace',
  EACCES: 'its mode bits do not allow that',
  EROFS: 'it is read-only here',
  EEXIST: 'it is there already',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
  ENXIO: 'it is not a regular file',
  ELOOP: 'it leads through too many links, or through one that is not followed',
};

function refusal({ shown }: BeneathPath, operation: string, number: number): ErrnoError {
  const name = codes.get(number) ?? 'EIO';
  // Beyond the workspace, or read-only: refused, and not a failure.
  const code = (name === 'EXDEV' || name === 'EROFS' ? 'EACCES' : name) as ErrnoCode;
  return new ErrnoError(code, { operation, path: shown, reason: reasons[name] ?? `the kernel refused it (${name})` });
}

interface Asked {
  readonly what: 'r' | 's' | 'l' | 'w';
  readonly flags?: number;
  readonly offset?: number;
  readonly length?: number;
  readonly bytes?: Buffer;
}

export class CallerFiles {
  readonly #reach: Reach;
  readonly #operation: string;

  constructor(operation: string, reach: Reach) {
    this.#operation = operation;
    this.#reach = reach;
  }

  async #ask(
    at: BeneathPath,
    { what, flags = 0, offset = 0, length = 0, bytes = Buffer.alloc(0) }: Asked,
  ): Promise<Buffer> {
    const head = Buffer.alloc(17);
    head.write(what, 0, 'latin1');
    head.writeUInt32LE(flags, 1);
    head.writeBigUInt64LE(BigInt(offset), 5);
    head.writeUInt32LE(length, 13);
    const end = Buffer.alloc(1);
    const reply = await this.#reach(Buffer.concat([head, encodePath(at.root), end, encodePath(at.path), end, bytes]));
    const number = reply.length < 4 ? constants.errno.EIO : reply.readUInt32LE(0);
    if (number !== 0) throw refusal(at, this.#operation, number);
    return reply.subarray(4);
  }

  #attributes(reply: Buffer): FoundAttributes {
    if (reply.length < attributeBytes) {
      throw new ErrnoError('EIO', {
        operation: this.#operation,
        reason: 'the answer of the calling process was cut short',
      });
    }
    return {
      type: kinds[reply.readUInt8(0)] ?? 'other',
      mode: reply.readUInt32LE(1),
      size: Number(reply.readBigUInt64LE(5)),
      modified: Number(reply.readBigInt64LE(13)),
    };
  }

  async read(at: BeneathPath, offset = 0, length = objectContentBytes) {
    const reply = await this.#ask(at, { what: 'r', offset, length });
    return { ...this.#attributes(reply), bytes: reply.subarray(attributeBytes) };
  }

  /** Its content from the start, in pieces. */
  async *content(at: BeneathPath): AsyncIterable<Buffer> {
    for (let offset = 0; ; ) {
      const { bytes } = await this.read(at, offset);
      if (bytes.length === 0) return;
      offset += bytes.length;
      yield bytes;
      if (bytes.length < objectContentBytes) return;
    }
  }

  /** Of the entry itself. */
  async stat(at: BeneathPath): Promise<FoundAttributes & { readonly target: string | undefined }> {
    const reply = await this.#ask(at, { what: 's' });
    const attributes = this.#attributes(reply);
    const target = attributes.type === 'symlink' ? decodePath(reply.subarray(attributeBytes)) : undefined;
    return { ...attributes, target };
  }

  /** Sorted by name. */
  async list(at: BeneathPath): Promise<{ readonly entries: readonly CallerEntry[]; readonly isMore: boolean }> {
    const reply = await this.#ask(at, { what: 'l' });
    const entries: CallerEntry[] = [];
    for (let from = 1; from + 9 < reply.length; ) {
      const end = reply.indexOf(0, from + 9);
      if (end < 0) break;
      const name = decodePath(reply.subarray(from + 9, end));
      entries.push({
        name,
        type: kinds[reply.readUInt8(from)] ?? 'other',
        size: Number(reply.readBigUInt64LE(from + 1)),
      });
      from = end + 1;
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { entries, isMore: reply.length > 0 && reply.readUInt8(0) !== 0 };
  }

  /** All of it. Its inode, mode and links stay; a new one has the caller's umask. */
  async write(at: BeneathPath, bytes: Buffer, { create = false, parents = false } = {}): Promise<void> {
    const first = bytes.subarray(0, objectContentBytes);
    const flags = (create ? writeFlags.new : 0) | (parents ? writeFlags.parents : 0);
    await this.#ask(at, { what: 'w', flags, bytes: first });
    for (let offset = first.length; offset < bytes.length; offset += objectContentBytes) {
      const part = bytes.subarray(offset, offset + objectContentBytes);
      await this.#ask(at, { what: 'w', flags: writeFlags.more, offset, bytes: part });
    }
  }
}
