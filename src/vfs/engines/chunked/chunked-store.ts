/**
 * An inode store in one file: records and names in a copy-on-write tree, content in chunks by digest, equal ones once. What was
 * changed is in memory until `sync`, or until there is much of it, and then goes to the disk in one transaction.
 */
import { monotonic } from '../../../base/clock.js';
import { ErrnoError } from '../../../base/errno.js';
import { shellWord } from '../../../base/visible-text.js';
import { failure } from '../../failure.js';
import type { Creation, Inode } from '../../filesystem.js';
import type { Name } from '../../names.js';
import { attributeBytes, type InodeRecord, type InodeStore, type Usage } from '../inodes/inode-store.js';
import { now } from '../inodes/inode-time.js';
import { ChunkContent, chunkBytes } from './chunk-content.js';
import type { ChunkDatabase, Heading, Root } from './database.js';
import { decodePage, emptyPage, encodePage, type Page, type PageNumber } from './page.js';
import {
  after,
  type ChunkedRecord,
  childKey,
  decodeRecord,
  encodeRecord,
  inodeKey,
  orphanKey,
  packed,
  unpacked,
} from './records.js';
import { type PageStore, SortedTree } from './sorted-tree.js';

/** Of content that is only in memory. */
const mostDirtyBytes = 16 * 1024 * 1024;
const mostDirtyPages = 4_096;
const mostCachedPages = 16_384;
const mostCachedRecords = 65_536;
/** Between two transactions that no one asked for. */
const commitMilliseconds = 1_000;
/** How old a reader's look at what another process writes may be. */
const lookMilliseconds = 20;

export class ChunkedStore implements InodeStore, PageStore {
  readonly root: Inode = 1;
  readonly #database: ChunkDatabase;
  readonly #writable: boolean;
  /** A snapshot, which never changes, or a clone; without it, the file's first tree. */
  readonly #name: string | undefined;
  readonly #isClone: boolean;
  readonly #tree: SortedTree;
  readonly #pages = new Map<PageNumber, Page>();
  readonly #dirtyPages = new Map<PageNumber, Page>();
  readonly #droppedPages = new Set<PageNumber>();
  readonly #records = new Map<Inode, ChunkedRecord>();
  readonly #dirtyRecords = new Set<Inode>();
  readonly #content: ChunkContent;
  #heading: Heading;
  #head: Root;
  #dirtySince: number | undefined;
  /** Why the last transaction failed, and when. */
  #refused: { readonly error: unknown; readonly at: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looked = Number.NEGATIVE_INFINITY;

  constructor(database: ChunkDatabase, options: { writable: boolean; snapshot?: string | undefined; root: Creation }) {
    const { writable, snapshot, root } = options;
    this.#database = database;
    this.#writable = writable;
    this.#name = snapshot;
    const found = database.heading();
    const empty: Root = { page: 0, inodes: 0, chunks: 0, made: new Date().toISOString() };
    this.#heading = found ?? database.newHeading(empty);
    const named = snapshot === undefined ? this.#heading.head : requireSnapshot(database, snapshot);
    this.#isClone = named.clone === true;
    if (writable && snapshot !== undefined && !this.#isClone) refuseSnapshot(database.file, snapshot);
    this.#head = named;
    this.#tree = new SortedTree(this, named.page);
    this.#content = new ChunkContent(database, this.#tree, (inode, by) => this.#recount(inode, by));
    if (found === undefined) this.#begin(root);
    else if (writable) this.#forgetOrphans();
  }

  /** Another process may write to it meanwhile. */
  get changesOutside(): boolean {
    return !this.#writable && (this.#name === undefined || this.#isClone);
  }

  get generation(): number {
    return this.#heading.generation;
  }

  newNumber(): PageNumber {
    const number = this.#heading.nextPage;
    this.#heading = { ...this.#heading, nextPage: number + 1 };
    return number;
  }

  wrote(page: Page): void {
    this.#pages.set(page.number, page);
    this.#dirtyPages.set(page.number, page);
  }

  dropped({ number }: Page): void {
    this.#pages.delete(number);
    this.#dirtyPages.delete(number);
    this.#droppedPages.add(number);
  }

  newInode(): Inode {
    const inode = this.#heading.nextInode;
    this.#heading = { ...this.#heading, nextInode: inode + 1 };
    return inode;
  }

  get(inode: Inode): ChunkedRecord | undefined {
    if (this.changesOutside) this.#look();
    const cached = this.#records.get(inode);
    if (cached !== undefined) return cached;
    const bytes = this.#tree.get(inodeKey(inode));
    if (bytes === undefined) return undefined;
    const record = decodeRecord(inode, bytes);
    this.#records.set(inode, record);
    return record;
  }

  put(record: InodeRecord): void {
    const { inode } = record;
    const known = this.#records.get(inode);
    if (known === undefined) this.#count(1, 0);
    const chunked: ChunkedRecord = known === record ? known : Object.assign(record, { chunks: known?.chunks ?? 0 });
    this.#records.set(inode, chunked);
    this.#dirtyRecords.add(inode);
    if (chunked.links === 0) this.#tree.set(orphanKey(inode), Buffer.alloc(0));
  }

  weigh(bytes: number): void {
    if (bytes !== 0) this.#head = { ...this.#head, attributes: Math.max(0, (this.#head.attributes ?? 0) + bytes) };
  }

  remove(inode: Inode): void {
    const record = this.get(inode);
    if (record === undefined) return;
    this.weigh(-attributeBytes(record));
    if (record.kind === 'file') this.erase(inode, 0, record.size);
    this.#records.delete(inode);
    this.#dirtyRecords.delete(inode);
    this.#tree.delete(inodeKey(inode));
    this.#tree.delete(orphanKey(inode));
    this.#count(-1, 0);
  }

  child(directory: Inode, name: Name): Inode | undefined {
    const bytes = this.#tree.get(childKey(directory, name));
    return bytes?.readUIntBE(0, 6);
  }

  setChild(directory: Inode, name: Name, inode: Inode): void {
    this.#tree.set(childKey(directory, name), Buffer.from(packed(inode), 'latin1'));
  }

  removeChild(directory: Inode, name: Name): void {
    this.#tree.delete(childKey(directory, name));
  }

  *children(directory: Inode): Generator<readonly [Name, Inode]> {
    for (const [key, value] of this.#tree.range(childKey(directory, ''), after('d', directory))) {
      yield [key.slice(7), value.readUIntBE(0, 6)];
    }
  }

  isEmpty(directory: Inode): boolean {
    return this.children(directory).next().done === true;
  }

  read(inode: Inode, offset: number, length: number): Buffer {
    return this.#content.read(inode, offset, length);
  }

  write(inode: Inode, offset: number, bytes: Uint8Array): void {
    this.#content.write(inode, offset, bytes);
  }

  erase(inode: Inode, offset: number, end: number): void {
    this.#content.erase(inode, offset, end);
  }

  seek(inode: Inode, offset: number, size: number, wanted: 'data' | 'hole'): number | undefined {
    return this.#content.seek(inode, offset, size, wanted);
  }

  stored(inode: Inode): number {
    const record = this.get(inode);
    return record === undefined ? 0 : Math.min(record.chunks * chunkBytes, Math.ceil(record.size / 512) * 512);
  }

  usage(): Usage {
    const { chunks, attributes = 0, inodes } = this.#head;
    return { bytes: chunks * chunkBytes + attributes, inodes };
  }

  settled(): void {
    if (!this.#writable) return;
    this.#dirtySince ??= monotonic();
    const bytes = this.#content.changed * chunkBytes;
    const isOld = monotonic() - this.#dirtySince > commitMilliseconds;
    if (bytes > mostDirtyBytes || this.#dirtyPages.size > mostDirtyPages || isOld) this.#tryToSync();
    else if (!this.#isDirty) this.#trim();
    else this.#timer ??= setTimeout(() => this.#tryToSync(), commitMilliseconds).unref();
  }

  /** What was changed stays in memory when its transaction fails; nothing more is added to it until one succeeds. */
  ready(): void {
    if (this.#refused === undefined) return;
    if (monotonic() - this.#refused.at < commitMilliseconds) throw this.#refused.error;
    this.sync();
  }

  /** What the calls before it did is done: the next one is refused, and so is `fsync`. */
  #tryToSync(): void {
    try {
      this.sync();
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
    }
  }

  sync(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#writable || !this.#isDirty) return;
    try {
      this.#commit();
      this.#refused = undefined;
    } catch (error) {
      this.#refused = { error, at: monotonic() };
      throw error;
    }
  }

  #commit(): void {
    const chunks = this.#content.flushed();
    for (const inode of this.#dirtyRecords) {
      const record = this.#records.get(inode);
      if (record !== undefined) this.#tree.set(inodeKey(inode), encodeRecord(record));
    }
    const now = { ...this.#head, page: this.#tree.root };
    const { commits, edits = 0 } = this.#heading;
    const first = this.#name === undefined ? { edits: edits + 1, head: now } : {};
    this.#heading = { ...this.#heading, commits: commits + 1, ...first };
    this.#database.commit({
      heading: this.#heading,
      root: this.#name === undefined ? undefined : [this.#name, now],
      pages: Array.from(this.#dirtyPages.values(), (page) => [page.number, encodePage(page)] as const),
      dropped: this.#droppedPages,
      chunks,
    });
    this.#dirtyRecords.clear();
    this.#content.settled();
    this.#dirtyPages.clear();
    this.#droppedPages.clear();
    this.#dirtySince = undefined;
    this.#trim();
  }

  /** Remembers the tree as it is: one small record, however large the tree. */
  snapshot(name: string): Root {
    return this.#remember(name, false);
  }

  /** The same, to be written to: of this tree, or of one that has a name. ENOENT EEXIST */
  clone(name: string, of?: string): Root {
    return this.#remember(name, true, of === undefined ? undefined : requireSnapshot(this.#database, of));
  }

  #remember(name: string, clone: boolean, of?: Root): Root {
    if (this.#database.root(name) !== undefined) {
      throw new ErrnoError('EEXIST', {
        operation: clone ? 'clone' : 'snapshot',
        path: this.#database.file,
        reason: `there is a snapshot or clone '${name}' already`,
        remedy: 'choose another name',
      });
    }
    this.sync();
    const { page, inodes, chunks, attributes } = of ?? { ...this.#head, page: this.#tree.root };
    const counts = { inodes, chunks, ...(attributes === undefined ? {} : { attributes }) };
    const root: Root = { page, ...counts, made: new Date().toISOString(), ...(clone ? { clone } : {}) };
    const { generation, commits } = this.#heading;
    const heading = { ...this.#heading, generation: generation + 1, commits: commits + 1 };
    this.#database.putRoot(name, root, heading);
    this.#heading = heading;
    return root;
  }

  /**
   * The tree of a root, from now on; no one may have anything of it open. Its pages are of earlier generations, so none
   * of them changes.
   */
  goBack({ page, inodes, chunks, attributes }: Root): void {
    this.sync();
    const head = { ...this.#head, page, inodes, chunks, attributes };
    const { generation, commits, edits = 0 } = this.#heading;
    const counts = { generation: generation + 1, commits: commits + 1, edits: edits + 1 };
    const heading = { ...this.#heading, ...counts, head };
    this.#database.commit({ heading, pages: [], dropped: [], chunks: [] });
    this.#pages.clear();
    this.#records.clear();
    this.#head = head;
    this.#tree.root = page;
    this.#heading = heading;
  }

  async close(): Promise<void> {
    try {
      this.sync();
    } finally {
      await this.#database.close();
    }
  }

  get #isDirty(): boolean {
    return this.#dirtyRecords.size + this.#content.changed + this.#dirtyPages.size + this.#droppedPages.size > 0;
  }

  #begin({ mode, uid, gid }: Creation): void {
    const leaf = emptyPage(this.newNumber(), this.generation, true);
    this.wrote(leaf);
    this.#tree.root = leaf.number;
    const time = now();
    const times = { accessed: time, modified: time, changed: time };
    const owner = { mode, uid, gid, device: 0, size: 0, links: 2, chunks: 0 };
    const made = { inode: 1, kind: 'directory', parent: 1, target: undefined, attributes: undefined } as const;
    this.put({ ...made, ...owner, ...times } as ChunkedRecord);
    this.sync();
  }

  #forgetOrphans(): void {
    for (const [key] of [...this.#tree.range('o', 'p')]) this.remove(unpacked(key, 1));
  }

  /** A reader sees what a writer in another process has committed. */
  #look(): void {
    const time = monotonic();
    if (time - this.#looked < lookMilliseconds) return;
    this.#looked = time;
    this.#database.refresh();
    const heading = this.#database.heading();
    if (heading === undefined || heading.commits === this.#heading.commits) return;
    this.#heading = heading;
    this.#head = this.#name === undefined ? heading.head : requireSnapshot(this.#database, this.#name);
    this.#tree.root = this.#head.page;
    this.#pages.clear();
    this.#records.clear();
  }

  #count(inodes: number, chunks: number): void {
    this.#head = { ...this.#head, inodes: this.#head.inodes + inodes, chunks: this.#head.chunks + chunks };
  }

  page(number: PageNumber): Page {
    const cached = this.#pages.get(number);
    if (cached !== undefined) return cached;
    const bytes = this.#database.page(number);
    if (bytes === undefined) {
      throw new ErrnoError('EIO', {
        operation: 'read',
        path: this.#database.file,
        reason: `page ${number} is missing`,
        remedy: 'ctx vfs check says what is damaged; an earlier snapshot may be whole',
      });
    }
    const page = decodePage(number, bytes);
    this.#pages.set(number, page);
    return page;
  }

  #recount(inode: Inode, by: number): void {
    const record = this.get(inode);
    if (record !== undefined) record.chunks += by;
    this.#dirtyRecords.add(inode);
    this.#count(0, by);
  }

  /** Between calls no one holds what is cached. */
  #trim(): void {
    if (this.#pages.size > mostCachedPages) this.#pages.clear();
    if (this.#records.size > mostCachedRecords) this.#records.clear();
  }
}

function refuseSnapshot(file: string, name: string): never {
  const remedy = `make a clone: ctx vfs clone ${shellWord(`chunked:${file}@${name}`)} NAME`;
  throw failure('EROFS', 'open', undefined, `snapshot '${name}' does not change`, remedy);
}

/** ENOENT, with the names there are. */
export function requireSnapshot(database: ChunkDatabase, name: string): Root {
  const root = database.root(name);
  if (root !== undefined) return root;
  const names = database.roots().map(([each]) => each);
  throw new ErrnoError('ENOENT', {
    operation: 'open',
    path: `${database.file}@${name}`,
    reason: 'there is no such snapshot or clone',
    remedy: names.length === 0 ? 'it has none; ctx vfs snapshot makes one' : `it has: ${names.join(', ')}`,
  });
}
