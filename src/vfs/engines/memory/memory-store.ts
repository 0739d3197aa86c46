/** An inode store in maps. */
import type { Creation, Inode } from '../../filesystem.js';
import type { Name } from '../../names.js';
import { attributeBytes, type InodeRecord, type InodeStore, type Usage } from '../inodes/inode-store.js';
import { now } from '../inodes/inode-time.js';
import { Content } from './content.js';

interface Node {
  record: InodeRecord;
  children: Map<Name, Inode> | undefined;
  content: Content | undefined;
}

export class MemoryStore implements InodeStore {
  readonly root: Inode = 1;
  readonly #nodes = new Map<Inode, Node>();
  #last: Inode = 1;
  #bytes = 0;

  constructor({ mode, uid, gid }: Creation) {
    const time = now();
    const times = { accessed: time, modified: time, changed: time };
    const owner = { mode, uid, gid, device: 0, size: 0, links: 2 };
    this.put({ inode: 1, kind: 'directory', parent: 1, target: undefined, attributes: undefined, ...owner, ...times });
  }

  newInode(): Inode {
    this.#last += 1;
    return this.#last;
  }

  get(inode: Inode): InodeRecord | undefined {
    return this.#nodes.get(inode)?.record;
  }

  put(record: InodeRecord): void {
    const node = this.#nodes.get(record.inode);
    if (node !== undefined) node.record = record;
    else {
      const children = record.kind === 'directory' ? new Map<Name, Inode>() : undefined;
      this.#nodes.set(record.inode, { record, children, content: undefined });
    }
  }

  weigh(bytes: number): void {
    this.#bytes += bytes;
  }

  remove(inode: Inode): void {
    const record = this.get(inode);
    this.#bytes -= this.stored(inode) + (record === undefined ? 0 : attributeBytes(record));
    this.#nodes.delete(inode);
  }

  child(directory: Inode, name: Name): Inode | undefined {
    return this.#nodes.get(directory)?.children?.get(name);
  }

  setChild(directory: Inode, name: Name, inode: Inode): void {
    this.#nodes.get(directory)?.children?.set(name, inode);
  }

  removeChild(directory: Inode, name: Name): void {
    this.#nodes.get(directory)?.children?.delete(name);
  }

  children(directory: Inode): Iterable<readonly [Name, Inode]> {
    return this.#nodes.get(directory)?.children ?? [];
  }

  isEmpty(directory: Inode): boolean {
    return (this.#nodes.get(directory)?.children?.size ?? 0) === 0;
  }

  read(inode: Inode, offset: number, length: number): Buffer {
    return this.#nodes.get(inode)?.content?.read(offset, length) ?? Buffer.alloc(length);
  }

  write(inode: Inode, offset: number, bytes: Uint8Array): void {
    const node = this.#nodes.get(inode);
    if (node === undefined) return;
    node.content ??= new Content();
    const before = node.content.stored;
    node.content.write(offset, bytes);
    this.#bytes += node.content.stored - before;
  }

  erase(inode: Inode, offset: number, end: number): void {
    const content = this.#nodes.get(inode)?.content;
    if (content === undefined) return;
    const before = content.stored;
    content.erase(offset, end);
    this.#bytes += content.stored - before;
  }

  seek(inode: Inode, offset: number, size: number, wanted: 'data' | 'hole'): number | undefined {
    const content = this.#nodes.get(inode)?.content;
    if (content === undefined) return wanted === 'hole' ? offset : undefined;
    return content.seek(offset, size, wanted);
  }

  stored(inode: Inode): number {
    return this.#nodes.get(inode)?.content?.stored ?? 0;
  }

  usage(): Usage {
    return { bytes: this.#bytes, inodes: this.#nodes.size };
  }

  ready(): void {
    // Nothing is written, so nothing fails.
  }

  settled(): void {
    // Anyone who looks sees every change at once: there is one thread.
  }

  sync(): void {
    // Nothing outlives the process.
  }

  close(): void {
    this.#nodes.clear();
  }
}
