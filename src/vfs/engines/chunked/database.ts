/**
 * The file of a chunk store: an LMDB database with pages of trees, chunks by digest, roots by name. Every change of it is one
 * transaction, on the disk when it returns: a process that is killed leaves the state after some transaction, whole.
 */
import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { dirname } from 'node:path';
import { ErrnoError, fromSystemError } from '../../../base/errno.js';
import { either, flag, having, integer, membersOf, optional, parsedAs, type Shape, text } from '../../../base/shape.js';
import { shellWord } from '../../../base/visible-text.js';
import { type Environment, openEnvironment } from './environment.js';
import { makeFile } from './reader-table.js';

export interface Root {
  /** Page of its tree. */
  readonly page: number;
  /** The top itself is one of them. */
  readonly inodes: number;
  readonly chunks: number;
  /** Bytes of attributes, as far as they were counted when they were set: earlier versions did not. */
  readonly attributes?: number | undefined;
  /** When it was made, for people. */
  readonly made: string;
  /** It is written to: a tree of its own beside the first one, and no snapshot. */
  readonly clone?: boolean | undefined;
}

/** What the tree holds, as people count it: files, directories and links, without the top itself. */
export const entriesIn = ({ inodes }: Pick<Root, 'inodes'>): number => Math.max(0, inodes - 1);

export interface Heading {
  readonly format: number;
  readonly generation: number;
  readonly nextPage: number;
  readonly nextInode: number;
  /** Goes up with every transaction. */
  readonly commits: number;
  /** Goes up with every transaction that changes the tree; missing in files that were never changed since it is counted. */
  readonly edits?: number;
  readonly head: Root;
}

const format = 1;
/** Of LMDB's first page, whose head is longer in the form that the npm package has. */
const magicOffsets = [24, 16] as const;
const magic = 0xbeefc0de;
const headingKey = Buffer.from('M');

/** Of a newer format only the format is looked at. */
const rootShape = having({
  page: integer(0),
  inodes: integer(0),
  chunks: integer(0),
  attributes: optional(integer(0)),
  made: text,
  clone: optional(flag),
});
const ownHeading = having({
  format: integer(format, format),
  generation: integer(0),
  nextPage: integer(0),
  nextInode: integer(0),
  commits: integer(0),
  edits: optional(integer(0)),
  head: rootShape,
});
const isOwn = (value: unknown) => membersOf(value)['format'] === format;
const headingShape = either(isOwn, ownHeading, having({ format: integer(format + 1) }));

export interface Batch {
  readonly heading: Heading;
  /** The clone that was written to, as it is now. */
  readonly root?: readonly [name: string, root: Root] | undefined;
  readonly pages: Iterable<readonly [number, Buffer]>;
  readonly dropped: Iterable<number>;
  /** By digest, as bytes of one character each. */
  readonly chunks: Iterable<readonly [string, Buffer]>;
}

export class ChunkDatabase {
  readonly file: string;
  readonly #environment: Environment;
  readonly #database: Environment['database'];

  private constructor(file: string, environment: Environment) {
    this.file = file;
    this.#environment = environment;
    this.#database = environment.database;
  }

  /** ENOENT where it is not there; EINVAL where it is something else; ENOTSUP where a newer ctx wrote it; EIO where it is damaged. */
  static async open(file: string, writable: boolean, create: boolean): Promise<ChunkDatabase> {
    checkFile(file, create);
    const database = new ChunkDatabase(file, await openEnvironment(file, writable));
    try {
      database.#refuseOther();
      return database;
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  #refuseOther(): void {
    const found = this.heading()?.format;
    if (found === undefined || found === format) return;
    throw new ErrnoError('ENOTSUP', {
      operation: 'open',
      path: this.file,
      reason: `it has format ${found}, and this ctx knows ${format}`,
      remedy: 'use the newer ctx that wrote it',
    });
  }

  heading(): Heading | undefined {
    const bytes = this.#database.get(headingKey);
    return bytes === undefined ? undefined : this.#read<Heading>(bytes, headingShape);
  }

  #read<T>(bytes: Buffer, shape: Shape): T {
    const found = parsedAs<T>(bytes.toString(), shape);
    if (found !== undefined) return found;
    throw new ErrnoError('EIO', { operation: 'read', path: this.file, reason: 'the chunk store is damaged' });
  }

  newHeading(head: Root): Heading {
    return { format, generation: 1, nextPage: 1, nextInode: 2, commits: 0, head };
  }

  /** What others have written since is seen from now on. */
  refresh(): void {
    this.#database.resetReadTxn();
  }

  page(number: number): Buffer | undefined {
    return this.#database.get(pageKey(number));
  }

  chunk(digest: string): Buffer | undefined {
    return this.#database.get(chunkKey(digest));
  }

  hasChunk(digest: string): boolean {
    return this.#database.doesExist(chunkKey(digest));
  }

  root(name: string): Root | undefined {
    const bytes = this.#database.get(rootKey(name));
    return bytes === undefined ? undefined : this.#read<Root>(bytes, rootShape);
  }

  roots(): readonly (readonly [string, Root])[] {
    return Array.from(this.#keys('R'), (key) => {
      const name = key.subarray(1).toString();
      return [name, this.root(name)] as const;
    }).flatMap(([name, root]) => (root === undefined ? [] : [[name, root] as const]));
  }

  commit({ heading, root, pages, dropped, chunks }: Batch): void {
    this.#transaction(() => {
      for (const [digest, bytes] of chunks) this.#database.putSync(chunkKey(digest), bytes);
      for (const [number, bytes] of pages) this.#database.putSync(pageKey(number), bytes);
      for (const number of dropped) this.#database.removeSync(pageKey(number));
      if (root !== undefined) this.#database.putSync(rootKey(root[0]), Buffer.from(JSON.stringify(root[1])));
      this.#database.putSync(headingKey, Buffer.from(JSON.stringify(heading)));
    });
  }

  putRoot(name: string, root: Root, heading: Heading): void {
    this.#transaction(() => {
      this.#database.putSync(rootKey(name), Buffer.from(JSON.stringify(root)));
      this.#database.putSync(headingKey, Buffer.from(JSON.stringify(heading)));
    });
  }

  removeRoot(name: string): void {
    this.#transaction(() => void this.#database.removeSync(rootKey(name)));
  }

  /** Of all pages and chunks, deletes those that are not to be kept. Returns the bytes of what went. */
  sweep(keepPage: (number: number) => boolean, keepChunk: (digest: string) => boolean): number {
    const pages = [...this.#keys('P')].filter((key) => !keepPage(key.readUIntBE(1, 6)));
    const chunks = [...this.#keys('C')].filter((key) => !keepChunk(key.toString('latin1', 1)));
    let freed = 0;
    this.#transaction(() => {
      for (const key of [...pages, ...chunks]) {
        freed += this.#database.get(key)?.length ?? 0;
        this.#database.removeSync(key);
      }
    });
    return freed;
  }

  *chunkDigests(): Generator<string> {
    for (const key of this.#keys('C')) yield key.toString('latin1', 1);
  }

  async close(): Promise<void> {
    await this.#environment.close();
  }

  *#keys(kind: string): Generator<Buffer> {
    const start = Buffer.from(kind);
    const end = Buffer.from([(start[0] ?? 0) + 1]);
    for (const key of this.#database.getKeys({ start, end })) yield Buffer.from(key);
  }

  #transaction(act: () => void): void {
    try {
      this.#database.transactionSync(act);
    } catch (error) {
      const full = error instanceof Error && /ENOSPC|No space|MDB_MAP_FULL/.test(error.message);
      throw new ErrnoError(full ? 'ENOSPC' : 'EIO', {
        operation: 'write',
        path: this.file,
        reason: `the transaction failed, and nothing was written: ${error instanceof Error ? error.message : error}`,
        cause: error,
      });
    }
  }
}

function pageKey(number: number): Buffer {
  const key = Buffer.allocUnsafe(7);
  key[0] = 0x50;
  key.writeUIntBE(number, 1, 6);
  return key;
}

const chunkKey = (digest: string) => Buffer.from(`C${digest}`, 'latin1');
const rootKey = (name: string) => Buffer.from(`R${name}`);

function makeNew(file: string): void {
  try {
    makeFile(file);
  } catch (error) {
    throw fromSystemError(error, 'open', file);
  }
}

/** LMDB trusts what it opens, so we look first. */
function checkFile(file: string, create: boolean): void {
  if (!existsSync(file)) {
    const hasPlace = existsSync(dirname(file));
    if (create && hasPlace) {
      makeNew(file);
      return;
    }
    throw new ErrnoError('ENOENT', {
      operation: 'open',
      path: file,
      reason: hasPlace ? 'expected the file of a chunk store' : `the directory ${dirname(file)} does not exist`,
      remedy: hasPlace ? `ctx vfs put ${shellWord(`chunked:${file}`)} PATH makes one` : 'make it first',
    });
  }
  const bytes = Buffer.alloc(magicOffsets[0] + 4);
  let count = 0;
  let isFile = true;
  try {
    // A pipe would be waited for without end, and LMDB ends the process by a device.
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      const about = fstatSync(descriptor);
      isFile = about.isFile();
      count = isFile || about.isDirectory() ? readSync(descriptor, bytes, 0, bytes.length, 0) : 0;
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw fromSystemError(error, 'open', file);
  }
  if (count === 0 && create && isFile) return;
  if (count < bytes.length || !magicOffsets.some((offset) => bytes.readUInt32LE(offset) === magic)) {
    throw new ErrnoError('EINVAL', { operation: 'open', path: file, reason: 'it is not the file of a chunk store' });
  }
}
