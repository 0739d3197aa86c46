/**
 * What each request of the kernel asks of an engine, and how its answer is written. Each is one method, which returns where the reply
 * ends. A mount's whole state is here and in the engine.
 */
import { constants as openConstants } from 'node:fs';
import { constants } from 'node:os';
import { hasCode } from '../base/errno.js';
import { type Answer, ask, askEach, type Steps } from '../vfs/answer.js';
import { failure } from '../vfs/failure.js';
import type {
  Attributes,
  Changes,
  Creation,
  Entry,
  FileSystem,
  Handle,
  Inode,
  Opened,
  OpenMode,
} from '../vfs/filesystem.js';
import type { Name } from '../vfs/names.js';
import { againWhenOvertaken } from '../vfs/retried-steps.js';
import { type Kept, KeptTimes } from './cache-times.js';
import { Files, mayBeUnasked } from './files.js';
import { writeInitReply } from './init-reply.js';
import { staysWithin } from './links.js';
import { Listings } from './listings.js';
import { Nodes } from './nodes.js';
import { openMode } from './open-mode.js';
import { DirectoryReader } from './read-directory.js';
import { body, type Request } from './request.js';
import {
  exchanged,
  mostWriteBytes,
  type Owners,
  outHeaderBytes,
  type Presentation,
  readName,
  readNumber,
  writeAttributesReply,
  writeEntry,
  writeNegativeEntry,
  writeNumber,
  writeSpace,
} from './wire.js';
import { WriteWays } from './write-ways.js';

export interface DispatchOptions {
  readonly filesystem: FileSystem;
  /** Where whoever uses it sees it: absolute links are compared with this. */
  readonly mountedAt: string;
  /** Others may change the tree: the kernel keeps nothing but what `kept` says. */
  readonly shared: boolean;
  readonly kept?: Kept | undefined;
  /** Tells the kernel what it did not ask for. */
  readonly notify?: ((notice: Buffer) => void) | undefined;
  /** Of owners: 0, or what root's jails add to them. */
  readonly shift: number;
  /** Whose files of the tree are shown as whose. */
  readonly owners?: Owners | undefined;
  /** No file becomes set-uid or set-gid: for those who are not trusted with the rights of whoever serves. */
  readonly plainModes?: boolean | undefined;
  /** Locks are the tree's and not the kernel's: others than users of the mount take them, too. Without it, as the engine says. */
  readonly locks?: boolean | undefined;
  /** Of an engine that answers at once: all but writes, which it answers later. It takes their bytes when it is asked. */
  readonly laterWrites?: boolean | undefined;
  /** Links are ours and nobody else's text: they are handed out wherever they lead. */
  readonly ownLinks?: boolean | undefined;
}

const hourSeconds = 3_600;
/** Of an answer to OPEN: what the kernel has of its content is good; no one has to hear of its being closed. */
const keepCache = 2;
const noFlush = 32;

/** Of a write: from the kernel's own pages, through any handle of the file that may write. */
const fromPages = 1;

const { errno } = constants;
const { O_APPEND, O_EXCL } = openConstants;

export class Operations {
  readonly nodes: Nodes;
  readonly files: Files;
  readonly #fs: FileSystem;
  readonly #options: DispatchOptions;
  readonly kept: KeptTimes;
  readonly #modeBits: number;
  readonly listings: Listings;
  readonly directories: DirectoryReader;
  readonly ways: WriteWays;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#fs = options.filesystem;
    this.nodes = new Nodes(options.filesystem);
    this.ways = new WriteWays(options.filesystem);
    this.listings = new Listings(options.shared);
    this.directories = new DirectoryReader(options.filesystem, this.nodes, this.listings, (of) => this.#shown(of));
    const unasked = options.locks !== true && mayBeUnasked(options.filesystem, options.shared);
    const kept = options.shared ? options.kept : { names: hourSeconds, attributes: hourSeconds };
    this.kept = new KeptTimes(kept ?? { names: 0, attributes: 0 });
    this.files = new Files(options.filesystem, this.nodes, { unasked, keepsNames: this.kept.names > 0 });
    this.#modeBits = options.plainModes === true ? 0o1777 : 0o7777;
  }

  get servesLocks(): boolean {
    return this.#options.locks ?? this.#fs.capabilities.sharedLocks;
  }

  inside(id: number, whose: 'uid' | 'gid'): number {
    const { shift, owners } = this.#options;
    return exchanged(id >= shift ? id - shift : id, owners?.[whose]);
  }

  #shown({ inode }: Attributes): Presentation {
    const { shift, owners } = this.#options;
    const node = this.nodes.number(inode);
    const lasting = this.#fs.lasting?.(inode);
    const nameValid = lasting === 'name' ? hourSeconds : this.kept.names;
    return { node, shift, owners, nameValid, valid: lasting ? hourSeconds : this.kept.attributes(inode) };
  }

  #entry({ reply }: Request, directory: Inode, attributes: Attributes): number {
    this.nodes.told(attributes.inode, directory);
    this.nodes.seen(attributes);
    return writeEntry(reply, attributes, this.#shown(attributes), outHeaderBytes);
  }

  #opened({ reply, inode }: Request, handle: Handle, start: number): number {
    const at = writeNumber(reply, handle, start);
    return writeNumber(reply, this.#fs.lasting?.(inode) === undefined ? 0 : keepCache | noFlush, at);
  }

  creation({ uid, gid }: Request, mode: number): Creation {
    return { mode: mode & this.#modeBits, uid, gid };
  }

  *done(act: () => Answer<void>): Steps<number> {
    yield* ask(act());
    return outHeaderBytes;
  }

  init({ bytes, reply }: Request): number {
    const { shared } = this.#options;
    const { servesLocks, files, kept } = this;
    return writeInitReply(bytes, reply, { shared, servesLocks, truncates: !files.unasked, keepsNames: kept.names > 0 });
  }

  *lookup(request: Request): Steps<number> {
    const found = yield* ask(this.#fs.lookup(request.inode, readName(request.bytes, body, request.end)));
    if (found !== undefined) return this.#entry(request, request.inode, found);
    // Said so often that making an error of it each time would cost more than the rest.
    if (this.kept.names === 0) return -errno.ENOENT;
    return writeNegativeEntry(request.reply, this.kept.names, outHeaderBytes);
  }

  forget({ bytes, inode }: Request): undefined {
    if (this.nodes.forgotten(inode, readNumber(bytes, body))) this.files.forgotten(inode);
    return undefined;
  }

  batchForget({ bytes }: Request): undefined {
    const count = bytes.readUInt32LE(body);
    for (let index = 0; index < count; index += 1) {
      const at = body + 8 + index * 16;
      const inode = this.nodes.number(readNumber(bytes, at));
      if (this.nodes.forgotten(inode, readNumber(bytes, at + 8))) this.files.forgotten(inode);
    }
    return undefined;
  }

  /** `without`: of what is in use and has no name any more, whose attributes the engine does not have. */
  *attributes(
    { inode, reply }: Request,
    act: () => Answer<Attributes>,
    without: (left: Attributes) => Attributes = (left) => left,
  ): Steps<number> {
    let attributes: Attributes;
    try {
      attributes = yield* ask(act());
      this.nodes.seen(attributes);
    } catch (error) {
      const left = hasCode(error, 'ESTALE') ? this.nodes.withoutName(inode) : undefined;
      if (left === undefined) throw error;
      attributes = without(left);
    }
    return writeAttributesReply(reply, attributes, this.#shown(attributes), outHeaderBytes);
  }

  *made(request: Request, act: () => Answer<Attributes>): Steps<number> {
    const attributes = yield* ask(act());
    this.listings.changed();
    return this.#entry(request, request.inode, attributes);
  }

  changes({ bytes }: Request): Changes {
    const valid = bytes.readUInt32LE(body);
    const has = (bit: number) => (valid & bit) !== 0;
    const time = (at: number, rest: number) =>
      bytes.readBigInt64LE(body + at) * 1_000_000_000n + BigInt(bytes.readUInt32LE(body + rest));
    return {
      mode: has(1) ? bytes.readUInt32LE(body + 68) & this.#modeBits : undefined,
      uid: has(2) ? this.inside(bytes.readUInt32LE(body + 76), 'uid') : undefined,
      gid: has(4) ? this.inside(bytes.readUInt32LE(body + 80), 'gid') : undefined,
      size: has(8) ? readNumber(bytes, body + 16) : undefined,
      accessed: has(128) ? 'now' : has(16) ? time(32, 56) : undefined,
      modified: has(256) ? 'now' : has(32) ? time(40, 60) : undefined,
    };
  }

  *readlink({ inode, reply }: Request): Steps<number> {
    const text = yield* ask(this.#fs.readlink(inode));
    const { links } = yield* ask(this.#fs.getattr(inode));
    // Of a link with several names it is not known which one is followed.
    const { root, path } = this.#fs.region?.(inode) ?? { root: this.#fs.root, path: '/' };
    const depth = links > 1 ? 0 : this.nodes.depth(inode, root);
    if (this.#options.ownLinks !== true && !staysWithin(text, depth, `${this.#options.mountedAt}${path}`)) {
      throw failure('ENOENT', 'readlink', undefined, 'the link leads out of the tree it is in');
    }
    return outHeaderBytes + reply.write(text, outHeaderBytes, 'latin1');
  }

  *rename(request: Request, flags: number, at: number): Steps<number> {
    const to = this.nodes.number(readNumber(request.bytes, body));
    const from = readName(request.bytes, at, request.end);
    const newName = readName(request.bytes, at + from.length + 1, request.end);
    if ((flags & ~3) !== 0 || flags === 3)
      throw failure('EINVAL', 'rename', from, 'expected no flag, or RENAME_NOREPLACE or RENAME_EXCHANGE');
    const rule = flags === 1 ? 'keep' : flags === 2 ? 'exchange' : 'replace';
    const replaced = rule === 'replace' ? yield* this.files.keep(to, newName) : undefined;
    yield* ask(this.#fs.rename(request.inode, from, to, newName, rule));
    this.listings.changed();
    this.nodes.lost(replaced);
    const moved = yield* ask(this.#fs.lookup(to, newName));
    if (moved !== undefined) this.nodes.placed(moved.inode, to);
    if (rule === 'exchange') {
      const other = yield* ask(this.#fs.lookup(request.inode, from));
      if (other !== undefined) this.nodes.placed(other.inode, request.inode);
    }
    return outHeaderBytes;
  }

  *open(request: Request): Steps<number> {
    const { bytes, inode } = request;
    const handle = yield* this.#openAs(inode, openMode(bytes.readUInt32LE(body)));
    this.kept.opened(inode);
    return this.#opened(request, handle, outHeaderBytes);
  }

  *create(request: Request): Steps<number> {
    const { bytes, inode } = request;
    const flags = bytes.readUInt32LE(body);
    const name = readName(bytes, body + 16, request.end);
    const mode = openMode(flags);
    const creation = this.creation(request, bytes.readUInt32LE(body + 4));
    const make = () => ask(this.#fs.create(inode, name, creation, mode));
    const { attributes, handle } =
      (flags & O_EXCL) === 0
        ? yield* againWhenOvertaken(() => this.#openOrMake(inode, name, mode, make))
        : yield* make();
    if (mode.append === true) this.ways.appends(handle);
    this.listings.changed();
    const at = this.#entry(request, inode, attributes);
    this.kept.opened(attributes.inode);
    return this.#opened(request, handle, at);
  }

  *release({ bytes, inode }: Request): Steps<number> {
    this.kept.released(inode);
    yield* askEach(this.ways.released(readNumber(bytes, body)), (each) => this.#fs.release(each));
    return outHeaderBytes;
  }

  /** A process that may only read the handle may have its file made empty all the same, as Linux has it: the kernel looked at its rights. */
  *#openAs(inode: Inode, mode: OpenMode): Steps<Handle> {
    if (mode.truncate === true && !mode.write) yield* ask(this.#fs.setattr(inode, { size: 0 }));
    const handle = yield* ask(this.#fs.open(inode, mode));
    if (mode.append === true) this.ways.appends(handle);
    return handle;
  }

  *#openOrMake(directory: Inode, name: Name, mode: OpenMode, make: () => Steps<Opened>): Steps<Opened> {
    const found = yield* ask(this.#fs.lookup(directory, name));
    if (found === undefined) return yield* make();
    const handle = yield* this.#openAs(found.inode, mode);
    return { attributes: yield* ask(this.#fs.getattr(found.inode)), handle };
  }

  *unlink({ bytes, inode, end }: Request): Steps<number> {
    const name = readName(bytes, body, end);
    const found = yield* this.files.keep(inode, name);
    yield* ask(this.#fs.unlink(inode, name));
    this.listings.changed();
    this.nodes.lost(found);
    return outHeaderBytes;
  }

  *rmdir({ bytes, inode, end }: Request): Steps<number> {
    const name = readName(bytes, body, end);
    const found = yield* ask(this.#fs.lookup(inode, name));
    yield* ask(this.#fs.rmdir(inode, name));
    this.listings.changed();
    this.nodes.lost(found);
    return outHeaderBytes;
  }

  *fsync(request: Request): Steps<number> {
    yield* ask(this.#fs.fsync(yield* this.files.handle(request)));
    return outHeaderBytes;
  }

  *read(request: Request): Steps<number> {
    const { bytes, reply } = request;
    const size = Math.min(bytes.readUInt32LE(body + 16), mostWriteBytes);
    const handle = yield* this.files.handle(request);
    const found = yield* ask(this.#fs.read(handle, readNumber(bytes, body + 8), size));
    return outHeaderBytes + found.copy(reply, outHeaderBytes);
  }

  *write(request: Request): Steps<number> {
    const { bytes, end, reply } = request;
    const handle = yield* this.files.handle(request);
    const offset = readNumber(bytes, body + 8);
    const size = bytes.readUInt32LE(body + 16);
    const data = bytes.subarray(body + 40, Math.min(end, body + 40 + size));
    const appends =
      (bytes.readUInt32LE(body + 20) & fromPages) === 0 && (bytes.readUInt32LE(body + 32) & O_APPEND) !== 0;
    const writes = this.files.unasked ? handle : yield* this.ways.handle(handle, request.inode, appends);
    const written = yield* ask(this.#fs.write(writes, offset, data));
    return writeNumber(reply, written, outHeaderBytes);
  }

  *statfs({ reply }: Request): Steps<number> {
    return writeSpace(reply, yield* ask(this.#fs.statfs()), outHeaderBytes);
  }

  *setxattr({ bytes, inode, end }: Request): Steps<number> {
    const [size, flags] = [bytes.readUInt32LE(body), bytes.readUInt32LE(body + 4)];
    const name = readName(bytes, body + 8, end);
    const from = body + 8 + name.length + 1;
    const rule = flags === 1 ? 'create' : flags === 2 ? 'replace' : 'any';
    yield* ask(this.#fs.setxattr(inode, name, Buffer.from(bytes.subarray(from, from + size)), rule));
    return outHeaderBytes;
  }

  /** Its size where no room is given, itself where there is enough. */
  *bytes({ bytes, reply }: Request, steps: Steps<Buffer>): Steps<number> {
    const room = bytes.readUInt32LE(body);
    const value = yield* steps;
    if (room === 0) return writeNumber(reply, value.length, outHeaderBytes);
    if (value.length > room) throw failure('ERANGE', 'getxattr');
    return outHeaderBytes + value.copy(reply, outHeaderBytes);
  }

  *opendir(request: Request): Steps<number> {
    return this.listing(request, yield* ask(this.#fs.readdir(request.inode)));
  }

  listing(request: Request, entries: readonly Entry[]): number {
    return this.#opened(request, this.listings.add(entries), outHeaderBytes);
  }

  releasedir({ bytes }: Request): number {
    this.listings.close(readNumber(bytes, body));
    return outHeaderBytes;
  }

  *fallocate(request: Request): Steps<number> {
    const { bytes } = request;
    const handle = yield* this.files.handle(request);
    const [offset, length] = [readNumber(bytes, body + 8), readNumber(bytes, body + 16)];
    const mode = bytes.readUInt32LE(body + 24);
    const how = mode === 0 ? 'extend' : mode === 1 ? 'keep' : mode === 3 ? 'punch' : undefined;
    if (how === undefined) throw failure('ENOTSUP', 'allocate');
    yield* ask(this.#fs.allocate(handle, offset, length, how));
    return outHeaderBytes;
  }

  *lseek(request: Request): Steps<number> {
    const { bytes, reply } = request;
    const handle = yield* this.files.handle(request);
    const whence = bytes.readUInt32LE(body + 16);
    if (whence !== 3 && whence !== 4) throw failure('EINVAL', 'seek');
    const wanted = whence === 3 ? 'data' : 'hole';
    const found = yield* ask(this.#fs.seek(handle, readNumber(bytes, body + 8), wanted));
    return writeNumber(reply, found, outHeaderBytes);
  }
}
