/**
 * The content of files, in chunks of one size. What was written is in memory until it is flushed; what is on the disk is found by its
 * digest in the store's tree, and is compared with it when it is read.
 */
import { Blake3 } from '../../../base/blake3.js';
import { ErrnoError } from '../../../base/errno.js';
import type { Inode } from '../../filesystem.js';
import type { ChunkDatabase } from './database.js';
import { chunkKey, unpacked } from './records.js';
import type { SortedTree } from './sorted-tree.js';

export const chunkBytes = 64 * 1024;
const mostCached = 128;

interface DirtyChunk {
  readonly inode: Inode;
  readonly index: number;
  readonly bytes: Buffer;
  /** Bytes of it that were ever written; zeros follow. */
  used: number;
}

export class ChunkContent {
  readonly #database: ChunkDatabase;
  readonly #tree: SortedTree;
  /** How many chunks an inode has is in its record. */
  readonly #recount: (inode: Inode, by: number) => void;
  readonly #hash = new Blake3();
  readonly #changed = new Map<string, DirtyChunk>();
  readonly #chunks = new Map<string, Buffer>();

  constructor(database: ChunkDatabase, tree: SortedTree, recount: (inode: Inode, by: number) => void) {
    this.#database = database;
    this.#tree = tree;
    this.#recount = recount;
  }

  /** Chunks that are only in memory. */
  get changed(): number {
    return this.#changed.size;
  }

  /** They are on the disk. */
  settled(): void {
    this.#changed.clear();
  }

  write(inode: Inode, offset: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) {
      const index = Math.floor((offset + done) / chunkBytes);
      const within = offset + done - index * chunkBytes;
      const count = Math.min(bytes.length - done, chunkBytes - within);
      const chunk = this.#dirty(inode, index);
      chunk.bytes.set(bytes.subarray(done, done + count), within);
      chunk.used = Math.max(chunk.used, within + count);
      done += count;
    }
  }

  erase(inode: Inode, offset: number, end: number): void {
    if (end <= offset) return;
    const [first, last] = [Math.floor(offset / chunkBytes), Math.floor((end - 1) / chunkBytes)];
    for (const index of this.#indexes(inode, first, last)) {
      const from = Math.max(0, offset - index * chunkBytes);
      const to = Math.min(chunkBytes, end - index * chunkBytes);
      const used = this.#used(inode, index);
      if (from === 0 && to >= used) this.#removeChunk(inode, index);
      else if (from < used) {
        const chunk = this.#dirty(inode, index);
        chunk.bytes.fill(0, from, to);
        if (to >= chunk.used) chunk.used = from;
      }
    }
  }

  seek(inode: Inode, offset: number, size: number, wanted: 'data' | 'hole'): number | undefined {
    const first = Math.floor(offset / chunkBytes);
    let expected = first;
    for (const index of this.#indexes(inode, first, Math.floor((size - 1) / chunkBytes))) {
      if (wanted === 'data') return Math.max(offset, index * chunkBytes);
      if (index !== expected) break;
      expected += 1;
    }
    if (wanted === 'data') return undefined;
    const found = Math.max(offset, expected * chunkBytes);
    return found < size ? found : undefined;
  }

  read(inode: Inode, offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let done = 0; done < length; ) {
      const index = Math.floor((offset + done) / chunkBytes);
      const within = offset + done - index * chunkBytes;
      const count = Math.min(length - done, chunkBytes - within);
      const key = chunkKey(inode, index);
      const content = this.#changed.get(key)?.bytes ?? this.#clean(key);
      if (content !== undefined && within < content.length) content.copy(bytes, done, within, within + count);
      done += count;
    }
    return bytes;
  }

  /** The chunk as it is on the disk, and checked: EIO where it is not what its digest says. */
  #clean(key: string): Buffer | undefined {
    const value = this.#tree.get(key);
    if (value === undefined) return undefined;
    const digest = value.toString('latin1');
    const cached = this.#chunks.get(digest);
    if (cached !== undefined) return cached;
    const bytes = this.#database.chunk(digest);
    if (bytes === undefined || this.#hash.digest(bytes).toString('latin1') !== digest) {
      throw new ErrnoError('EIO', {
        operation: 'read',
        path: this.#database.file,
        reason: `chunk ${value.toString('hex').slice(0, 16)} is ${bytes === undefined ? 'missing' : 'damaged'}`,
        remedy: 'ctx vfs check says what is damaged; an earlier snapshot may be whole',
      });
    }
    if (this.#chunks.size >= mostCached) this.#chunks.delete(this.#chunks.keys().next().value ?? '');
    this.#chunks.set(digest, bytes);
    return bytes;
  }

  #used(inode: Inode, index: number): number {
    const key = chunkKey(inode, index);
    return this.#changed.get(key)?.used ?? this.#clean(key)?.length ?? 0;
  }

  #dirty(inode: Inode, index: number): DirtyChunk {
    const key = chunkKey(inode, index);
    const known = this.#changed.get(key);
    if (known !== undefined) return known;
    const clean = this.#clean(key);
    const chunk: DirtyChunk = { inode, index, bytes: Buffer.alloc(chunkBytes), used: clean?.length ?? 0 };
    clean?.copy(chunk.bytes);
    this.#changed.set(key, chunk);
    if (clean === undefined) this.#recount(inode, 1);
    return chunk;
  }

  #removeChunk(inode: Inode, index: number): void {
    const key = chunkKey(inode, index);
    const known = this.#changed.delete(key);
    const onDisk = this.#tree.get(key) !== undefined;
    if (onDisk) this.#tree.delete(key);
    if (known || onDisk) this.#recount(inode, -1);
  }

  /** Numbers of the chunks there are, in order. */
  #indexes(inode: Inode, first: number, last: number): readonly number[] {
    const found = new Set<number>();
    for (const [key] of this.#tree.range(chunkKey(inode, first), chunkKey(inode, last + 1)))
      found.add(unpacked(key, 7));
    for (const { inode: of, index } of this.#changed.values()) {
      if (of === inode && index >= first && index <= last) found.add(index);
    }
    return [...found].sort((one, other) => one - other);
  }

  /** New chunks by digest; the tree has their digests. */
  flushed(): ReadonlyMap<string, Buffer> {
    const chunks = new Map<string, Buffer>();
    for (const [key, { bytes, used }] of this.#changed) {
      const content = bytes.subarray(0, used);
      const digest = this.#hash.digest(content);
      const name = digest.toString('latin1');
      this.#tree.set(key, Buffer.from(digest));
      if (!chunks.has(name) && !this.#database.hasChunk(name)) chunks.set(name, content);
    }
    return chunks;
  }
}
