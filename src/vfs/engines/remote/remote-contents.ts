/** The content of remote files: parts that were read, and what is changed here until it becomes the whole file there. */
import { monotonic } from '../../../base/clock.js';
import { remoteBlockBytes, remoteCacheBytes } from '../../../base/limits/trees.js';
import type { OpenFiles } from '../inodes/open-files.js';
import { BlockCache } from './block-cache.js';
import { type Reading, readOn } from './read-ahead.js';
import type { RemoteNode } from './remote-nodes.js';
import type { RemoteEntry, RemotePath, RemoteStore } from './remote-store.js';
import { StagedFile } from './staged-file.js';

export class RemoteContents {
  readonly #store: RemoteStore;
  readonly #open: OpenFiles;
  readonly #cache = new BlockCache(remoteCacheBytes);
  readonly #readings = new WeakMap<RemoteNode, Reading>();

  constructor(store: RemoteStore, open: OpenFiles) {
    this.#store = store;
    this.#open = open;
  }

  async read(node: RemoteNode, offset: number, length: number): Promise<Buffer> {
    if (node.staged !== undefined) return node.staged.read(offset, length);
    // The same version for all of it, whatever is heard of it meanwhile.
    const { entry } = node;
    const end = Math.min(entry.size, offset + length);
    if (offset < end) this.#askAhead(node, entry, offset, end);
    const pieces: Buffer[] = [];
    for (let at = offset; at < end; ) {
      const index = Math.floor(at / remoteBlockBytes);
      const block = await this.#block(node.path, entry, index);
      const from = at - index * remoteBlockBytes;
      const piece = block.subarray(from, from + end - at);
      if (piece.length === 0) break;
      pieces.push(piece);
      at += piece.length;
    }
    return pieces.length === 1 && pieces[0] !== undefined ? Buffer.from(pieces[0]) : Buffer.concat(pieces);
  }

  /** What fails of it is asked for again when it is read. */
  #askAhead(node: RemoteNode, entry: RemoteEntry, offset: number, end: number): void {
    const reading = readOn(this.#readings.get(node), offset, end);
    this.#readings.set(node, reading);
    if (reading.ahead === 0) return;
    const first = Math.floor(offset / remoteBlockBytes);
    const last = Math.floor((end - 1) / remoteBlockBytes) + reading.ahead;
    for (let index = first; index <= last && index * remoteBlockBytes < entry.size; index += 1) {
      this.#block(node.path, entry, index).catch(() => undefined);
    }
  }

  /** Its content here, as far as `most` bytes of it are needed. */
  async stage(node: RemoteNode, most = Number.POSITIVE_INFINITY): Promise<StagedFile> {
    if (node.staged !== undefined) return node.staged;
    const { entry } = node;
    const staged = new StagedFile();
    try {
      const size = Math.min(most, entry.size);
      for (let at = 0; at < size; at += remoteBlockBytes) {
        this.#askAhead(node, entry, at, Math.min(size, at + remoteBlockBytes));
        const block = await this.#block(node.path, entry, at / remoteBlockBytes);
        staged.write(at, block.subarray(0, size - at));
      }
    } catch (error) {
      staged.close();
      throw error;
    }
    node.staged = staged;
    // What somebody else wrote meanwhile is not in it, and may not be written over.
    node.entry = entry;
    return staged;
  }

  /** A process that has it open keeps it when it loses its name. */
  async holdOpen(node: RemoteNode): Promise<void> {
    if (node.kind !== 'file' || !this.#open.has(node.inode)) return;
    await this.stage(node);
    if (!this.#open.has(node.inode) && !node.changed) this.#drop(node);
  }

  async upload(node: RemoteNode): Promise<void> {
    const { staged } = node;
    if (staged === undefined || !node.changed || node.removed) return;
    node.entry = await this.#store.write(node.path, staged, { version: node.entry.version });
    node.heard = monotonic();
    node.changed = false;
  }

  /** No one has it open: what is staged of it goes to the store, and from here. */
  async finish(node: RemoteNode): Promise<void> {
    if (this.#open.has(node.inode)) return;
    try {
      await this.upload(node);
    } finally {
      this.#drop(node);
    }
  }

  #drop(node: RemoteNode): void {
    node.staged?.close();
    node.staged = undefined;
    node.changed = false;
  }

  #block(path: RemotePath, { version, size }: RemoteEntry, index: number): Promise<Buffer> {
    const offset = index * remoteBlockBytes;
    return this.#cache.get(`${path}\0${version}\0${index}`, () =>
      this.#store.read(path, version, offset, Math.min(remoteBlockBytes, size - offset)),
    );
  }
}
