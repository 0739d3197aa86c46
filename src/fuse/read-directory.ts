/** How a listing is read: page by page, from places that the kernel names, with or without the attributes of each entry. */
import { ErrnoError, hasCode } from '../base/errno.js';
import { ask, type Steps } from '../vfs/answer.js';
import type { Attributes, Entry, FileSystem, Inode } from '../vfs/filesystem.js';
import type { Name } from '../vfs/names.js';
import type { Listings } from './listings.js';
import type { Nodes } from './nodes.js';
import { body, type Request } from './request.js';
import {
  mostWriteBytes,
  outHeaderBytes,
  type Presentation,
  readNumber,
  writeDirectoryEntry,
  writeEntry,
} from './wire.js';

export class DirectoryReader {
  readonly #fs: FileSystem;
  readonly #nodes: Nodes;
  readonly #listings: Listings;
  readonly #shown: (attributes: Attributes) => Presentation;

  constructor(
    filesystem: FileSystem,
    nodes: Nodes,
    listings: Listings,
    shown: (attributes: Attributes) => Presentation,
  ) {
    this.#fs = filesystem;
    this.#nodes = nodes;
    this.#listings = listings;
    this.#shown = shown;
  }

  /** A listing is what it was when it was begun to be read; places in it are numbers. */
  *read(request: Request, plus: boolean): Steps<number> {
    const { bytes, inode, reply } = request;
    const handle = readNumber(bytes, body);
    const offset = readNumber(bytes, body + 8);
    const end = outHeaderBytes + Math.min(bytes.readUInt32LE(body + 16), mostWriteBytes);
    if (offset === 0) yield* this.#begun(handle, inode);
    const entries = this.#listings.get(handle);
    const dots: readonly Entry[] = [
      { name: '.', inode, kind: 'directory' },
      { name: '..', inode, kind: 'directory' },
    ];
    let at = outHeaderBytes;
    for (let index = offset; index < entries.length + 2; index += 1) {
      const entry = dots[index] ?? entries[index - 2];
      if (entry === undefined) break;
      const head = plus ? 128 : 0;
      if (at + head > end) break;
      const shown = { node: this.#nodes.number(entry.inode), offset: index + 1, kind: entry.kind, name: entry.name };
      const next = writeDirectoryEntry(reply, shown, at + head, end);
      if (next === undefined) break;
      if (plus) yield* this.#entryPlus(request, entry, at, index < 2);
      at = next;
    }
    return at;
  }

  *#begun(handle: number, inode: Inode): Steps<void> {
    const how = this.#listings.begun(handle);
    if (how === 'as it is') return;
    try {
      const isRemoved = this.#nodes.removed.get(inode) !== undefined;
      this.#listings.replace(handle, isRemoved ? [] : yield* ask(this.#fs.readdir(inode)));
    } catch (error) {
      // It was moved, or replaced, by others: what it held when it was opened is what is known.
      if (how === 'rewound' || !hasCode(error, 'ESTALE')) throw error;
    }
  }

  /** Number 0 says that nothing is known of it: of `.` and `..`, of what is gone since, and of what cannot be looked at now. */
  *#entryPlus({ inode: directory, reply }: Request, entry: Entry, at: number, isDot: boolean): Steps<void> {
    const found = isDot ? undefined : yield* this.#looked(directory, entry.name);
    if (found === undefined || found.inode !== entry.inode) {
      reply.fill(0, at, at + 128);
      return;
    }
    this.#nodes.told(found.inode, directory);
    this.#nodes.seen(found);
    writeEntry(reply, found, this.#shown(found), at);
  }

  /** The process that lists hears of one that fails when it asks for it: the other names are there. */
  *#looked(directory: Inode, name: Name): Steps<Attributes | undefined> {
    try {
      return yield* ask(this.#fs.lookup(directory, name));
    } catch (error) {
      if (error instanceof ErrnoError) return undefined;
      throw error;
    }
  }
}
