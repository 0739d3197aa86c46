/**
 * One request of the kernel becomes one call of an engine, and its answer one reply. A mount's whole state is here and in the engine;
 * an engine that answers at once is answered at once. Modes are the kernel's to check (default_permissions), so that none of
 * them is asked twice.
 */
import { constants as openConstants } from 'node:fs';
import { constants } from 'node:os';
import { ErrnoError } from '../base/errno.js';
import { type Answer, ask, type Steps, settle } from '../vfs/answer.js';
import { failure } from '../vfs/failure.js';
import type { Attributes, Changes, Creation, Entry, FileSystem, Handle, Inode, OpenMode } from '../vfs/filesystem.js';
import { bytesFromName } from '../vfs/names.js';
import { staysWithin } from './links.js';
import { Nodes } from './nodes.js';
import {
  exchanged,
  inHeaderBytes,
  initFlags,
  kindOfMode,
  mostWriteBytes,
  type Owners,
  opcodes,
  outHeaderBytes,
  type Presentation,
  readName,
  readNumber,
  writeAttributesReply,
  writeDirectoryEntry,
  writeEntry,
  writeInit,
  writeNegativeEntry,
  writeNumber,
  writeSpace,
} from './wire.js';

export interface DispatchOptions {
  readonly filesystem: FileSystem;
  /** Where whoever uses it sees it: absolute links are compared with this. */
  readonly mountedAt: string;
  /** Others may change the tree: the kernel keeps nothing. */
  readonly shared: boolean;
  /** Of owners: 0, or what root's jails add to them. */
  readonly shift: number;
  /** Whose files of the tree are shown as whose. */
  readonly owners?: Owners | undefined;
  /** No file becomes set-uid or set-gid: for those who are not trusted with the rights of whoever serves. */
  readonly plainModes?: boolean | undefined;
}

/** What is known of a request before its own part. */
interface Request {
  readonly bytes: Buffer;
  readonly end: number;
  readonly inode: Inode;
  readonly uid: number;
  readonly gid: number;
}

/** Where its own part begins. */
const body = inHeaderBytes;
const hourSeconds = 3_600;
const { errno } = constants;
const errnoNumbers = new Map<string, number>([...Object.entries(errno), ['ENOTSUP', errno.EOPNOTSUPP]]);

const { O_WRONLY, O_RDWR, O_APPEND, O_TRUNC, O_EXCL } = openConstants;

/** Where the reply ends; undefined where there is none. */
type End = number | undefined;
type Serve = (request: Request) => Steps<End> | End;

export class Dispatch {
  readonly #fs: FileSystem;
  readonly #nodes: Nodes;
  readonly #options: DispatchOptions;
  readonly #valid: number;
  readonly #modeBits: number;
  readonly #listings = new Map<number, readonly Entry[]>();
  #nextListing = 1;
  /** One reply at a time is written, and sent before the next one begins. */
  readonly #reply = Buffer.allocUnsafeSlow(outHeaderBytes + mostWriteBytes + 4096);
  readonly #serve: ReadonlyMap<number, Serve>;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#fs = options.filesystem;
    this.#nodes = new Nodes(options.filesystem);
    this.#valid = options.shared ? 0 : hourSeconds;
    this.#modeBits = options.plainModes === true ? 0o1777 : 0o7777;
    this.#serve = this.#table();
  }

  /** Undefined where nothing is answered. The reply is to be sent before the next request is handed in. */
  answer(bytes: Buffer, length: number): Answer<Buffer | undefined> {
    const opcode = bytes.readUInt32LE(4);
    const unique = bytes.readBigUInt64LE(8);
    const serve = this.#serve.get(opcode);
    if (serve === undefined) return this.#error(unique, -errno.ENOSYS);
    const request: Request = {
      bytes,
      end: length,
      inode: this.#nodes.number(readNumber(bytes, 16)),
      uid: this.#inside(bytes.readUInt32LE(24), 'uid'),
      gid: this.#inside(bytes.readUInt32LE(28), 'gid'),
    };
    try {
      const served = serve(request);
      const end = typeof served === 'object' ? settle(served) : served;
      if (!(end instanceof Promise)) return this.#success(unique, end);
      return end.then(
        (at) => this.#success(unique, at),
        (error: unknown) => this.#failed(unique, error),
      );
    } catch (error) {
      return this.#failed(unique, error);
    }
  }

  #success(unique: bigint, end: number | undefined): Buffer | undefined {
    if (end === undefined) return undefined;
    this.#reply.writeUInt32LE(end, 0);
    this.#reply.writeInt32LE(0, 4);
    this.#reply.writeBigUInt64LE(unique, 8);
    return this.#reply.subarray(0, end);
  }

  #failed(unique: bigint, error: unknown): Buffer {
    const code = error instanceof ErrnoError ? errnoNumbers.get(error.code) : undefined;
    return this.#error(unique, -(code ?? errno.EIO));
  }

  #error(unique: bigint, code: number): Buffer {
    this.#reply.writeUInt32LE(outHeaderBytes, 0);
    this.#reply.writeInt32LE(code, 4);
    this.#reply.writeBigUInt64LE(unique, 8);
    return this.#reply.subarray(0, outHeaderBytes);
  }

  #inside(id: number, whose: 'uid' | 'gid'): number {
    const { shift, owners } = this.#options;
    return exchanged(id >= shift ? id - shift : id, owners?.[whose]);
  }

  #shown({ inode }: Attributes): Presentation {
    const { shift, owners } = this.#options;
    return { node: this.#nodes.number(inode), shift, owners, valid: this.#valid };
  }

  #entry(directory: Inode, attributes: Attributes): number {
    this.#nodes.told(attributes.inode, directory);
    return writeEntry(this.#reply, attributes, this.#shown(attributes), outHeaderBytes);
  }

  #opened(handle: Handle, start: number): number {
    const at = writeNumber(this.#reply, handle, start);
    return writeNumber(this.#reply, 0, at);
  }

  #creation({ uid, gid }: Request, mode: number): Creation {
    return { mode: mode & this.#modeBits, uid, gid };
  }

  #table(): ReadonlyMap<number, Serve> {
    const fs = this.#fs;
    const name = ({ bytes, end }: Request, at = body) => readName(bytes, at, end);
    return new Map<number, Serve>([
      [opcodes.init, (request) => this.#init(request)],
      [opcodes.destroy, () => this.#done(() => fs.sync())],
      [opcodes.lookup, (request) => this.#lookup(request)],
      [opcodes.forget, (request) => this.#forget(request)],
      [opcodes.batchForget, (request) => this.#batchForget(request)],
      [opcodes.interrupt, () => undefined],
      [opcodes.getattr, (request) => this.#attributes(request, () => fs.getattr(request.inode))],
      [
        opcodes.setattr,
        (request) => this.#attributes(request, () => fs.setattr(request.inode, this.#changes(request))),
      ],
      [opcodes.readlink, (request) => this.#readlink(request)],
      [
        opcodes.symlink,
        (request) => {
          const first = name(request);
          const target = name(request, body + first.length + 1);
          return this.#made(request, () => fs.symlink(request.inode, first, target, this.#creation(request, 0o777)));
        },
      ],
      [
        opcodes.mknod,
        (request) => {
          const mode = request.bytes.readUInt32LE(body);
          const device = request.bytes.readUInt32LE(body + 4);
          const kind = kindOfMode(mode) ?? 'file';
          const first = name(request, body + 16);
          return this.#made(request, () => fs.mknod(request.inode, first, this.#creation(request, mode), kind, device));
        },
      ],
      [
        opcodes.mkdir,
        (request) => {
          const mode = request.bytes.readUInt32LE(body);
          return this.#made(request, () =>
            fs.mkdir(request.inode, name(request, body + 8), this.#creation(request, mode)),
          );
        },
      ],
      [opcodes.unlink, (request) => this.#done(() => fs.unlink(request.inode, name(request)))],
      [opcodes.rmdir, (request) => this.#done(() => fs.rmdir(request.inode, name(request)))],
      [opcodes.rename, (request) => this.#rename(request, 0, body + 8)],
      [opcodes.rename2, (request) => this.#rename(request, request.bytes.readUInt32LE(body + 8), body + 16)],
      [
        opcodes.link,
        (request) => {
          const inode = this.#nodes.number(readNumber(request.bytes, body));
          return this.#made(request, () => fs.link(inode, request.inode, name(request, body + 8)));
        },
      ],
      [opcodes.open, (request) => this.#open(request)],
      [opcodes.create, (request) => this.#create(request)],
      [opcodes.read, (request) => this.#read(request)],
      [opcodes.write, (request) => this.#write(request)],
      [opcodes.statfs, (request) => this.#statfs(request)],
      [opcodes.release, ({ bytes }) => this.#done(() => fs.release(readNumber(bytes, body)))],
      [opcodes.fsync, ({ bytes }) => this.#done(() => fs.fsync(readNumber(bytes, body)))],
      [opcodes.fsyncdir, () => this.#done(() => fs.sync())],
      [opcodes.setxattr, (request) => this.#setxattr(request)],
      [
        opcodes.getxattr,
        (request) =>
          this.#bytes(
            request,
            valued(() => fs.getxattr(request.inode, name(request, body + 8))),
          ),
      ],
      [
        opcodes.listxattr,
        (request) =>
          this.#bytes(
            request,
            listed(() => fs.listxattr(request.inode)),
          ),
      ],
      [opcodes.removexattr, (request) => this.#done(() => fs.removexattr(request.inode, name(request)))],
      [opcodes.opendir, (request) => this.#opendir(request)],
      [opcodes.readdir, (request) => this.#readdir(request, false)],
      [opcodes.readdirplus, (request) => this.#readdir(request, true)],
      [opcodes.releasedir, ({ bytes }) => this.#done(() => void this.#listings.delete(readNumber(bytes, body)))],
      [opcodes.fallocate, (request) => this.#fallocate(request)],
      [opcodes.lseek, (request) => this.#lseek(request)],
    ]);
  }

  *#done(act: () => Answer<void>): Steps<number> {
    yield* ask(act());
    return outHeaderBytes;
  }

  #init({ bytes }: Request): number {
    const [major, minor, offered] = [
      bytes.readUInt32LE(body),
      bytes.readUInt32LE(body + 4),
      bytes.readUInt32LE(body + 12),
    ];
    if (major !== 7 || minor < 31) throw failure('ENOSYS', 'init', undefined, `FUSE ${major}.${minor} is too old`);
    const { asyncRead, atomicTruncate, bigWrites, autoInvalidateData } = initFlags;
    const { readdirPlus, readdirPlusAuto, parallelDirectories, maxPages } = initFlags;
    const wanted =
      asyncRead | atomicTruncate | bigWrites | readdirPlus | readdirPlusAuto | parallelDirectories | maxPages;
    const flags = (wanted | (this.#options.shared ? autoInvalidateData : 0)) & offered;
    return writeInit(this.#reply, { minor: Math.min(minor, 38), flags }, outHeaderBytes);
  }

  *#lookup(request: Request): Steps<number> {
    const found = yield* ask(this.#fs.lookup(request.inode, readName(request.bytes, body, request.end)));
    if (found !== undefined) return this.#entry(request.inode, found);
    if (this.#valid === 0) throw failure('ENOENT', 'lookup');
    return writeNegativeEntry(this.#reply, this.#valid, outHeaderBytes);
  }

  #forget({ bytes, inode }: Request): undefined {
    this.#nodes.forgotten(inode, readNumber(bytes, body));
    return undefined;
  }

  #batchForget({ bytes }: Request): undefined {
    const count = bytes.readUInt32LE(body);
    for (let index = 0; index < count; index += 1) {
      const at = body + 8 + index * 16;
      this.#nodes.forgotten(this.#nodes.number(readNumber(bytes, at)), readNumber(bytes, at + 8));
    }
    return undefined;
  }

  *#attributes(_request: Request, act: () => Answer<Attributes>): Steps<number> {
    const attributes = yield* ask(act());
    return writeAttributesReply(this.#reply, attributes, this.#shown(attributes), outHeaderBytes);
  }

  *#made(request: Request, act: () => Answer<Attributes>): Steps<number> {
    return this.#entry(request.inode, yield* ask(act()));
  }

  #changes({ bytes }: Request): Changes {
    const valid = bytes.readUInt32LE(body);
    const has = (bit: number) => (valid & bit) !== 0;
    const time = (at: number, rest: number) =>
      bytes.readBigInt64LE(body + at) * 1_000_000_000n + BigInt(bytes.readUInt32LE(body + rest));
    return {
      mode: has(1) ? bytes.readUInt32LE(body + 68) & this.#modeBits : undefined,
      uid: has(2) ? this.#inside(bytes.readUInt32LE(body + 76), 'uid') : undefined,
      gid: has(4) ? this.#inside(bytes.readUInt32LE(body + 80), 'gid') : undefined,
      size: has(8) ? readNumber(bytes, body + 16) : undefined,
      accessed: has(128) ? 'now' : has(16) ? time(32, 56) : undefined,
      modified: has(256) ? 'now' : has(32) ? time(40, 60) : undefined,
    };
  }

  *#readlink({ inode }: Request): Steps<number> {
    const text = yield* ask(this.#fs.readlink(inode));
    const { links } = yield* ask(this.#fs.getattr(inode));
    // Of a link with several names it is not known which one is followed.
    const depth = links > 1 ? 0 : this.#nodes.depth(inode);
    if (!staysWithin(text, depth, this.#options.mountedAt)) {
      throw failure('ENOENT', 'readlink', undefined, 'the link leads out of the tree it is in');
    }
    return outHeaderBytes + this.#reply.write(text, outHeaderBytes, 'latin1');
  }

  *#rename(request: Request, flags: number, at: number): Steps<number> {
    const to = this.#nodes.number(readNumber(request.bytes, body));
    const from = readName(request.bytes, at, request.end);
    const newName = readName(request.bytes, at + from.length + 1, request.end);
    if ((flags & ~3) !== 0 || flags === 3) throw failure('EINVAL', 'rename', from, 'expected flags that are known');
    const rule = flags === 1 ? 'keep' : flags === 2 ? 'exchange' : 'replace';
    yield* ask(this.#fs.rename(request.inode, from, to, newName, rule));
    const moved = yield* ask(this.#fs.lookup(to, newName));
    if (moved !== undefined) this.#nodes.placed(moved.inode, to);
    if (rule === 'exchange') {
      const other = yield* ask(this.#fs.lookup(request.inode, from));
      if (other !== undefined) this.#nodes.placed(other.inode, request.inode);
    }
    return outHeaderBytes;
  }

  *#open({ bytes, inode }: Request): Steps<number> {
    const handle = yield* ask(this.#fs.open(inode, openMode(bytes.readUInt32LE(body))));
    return this.#opened(handle, outHeaderBytes);
  }

  *#create(request: Request): Steps<number> {
    const { bytes, inode } = request;
    const flags = bytes.readUInt32LE(body);
    const name = readName(bytes, body + 16, request.end);
    const mode = openMode(flags);
    const there = (flags & O_EXCL) === 0 ? yield* ask(this.#fs.lookup(inode, name)) : undefined;
    if (there !== undefined) {
      const handle = yield* ask(this.#fs.open(there.inode, mode));
      return this.#opened(handle, this.#entry(inode, yield* ask(this.#fs.getattr(there.inode))));
    }
    const creation = this.#creation(request, bytes.readUInt32LE(body + 4));
    const { attributes, handle } = yield* ask(this.#fs.create(inode, name, creation, mode));
    return this.#opened(handle, this.#entry(inode, attributes));
  }

  *#read({ bytes }: Request): Steps<number> {
    const size = Math.min(bytes.readUInt32LE(body + 16), mostWriteBytes);
    const found = yield* ask(this.#fs.read(readNumber(bytes, body), readNumber(bytes, body + 8), size));
    return outHeaderBytes + found.copy(this.#reply, outHeaderBytes);
  }

  *#write({ bytes, end }: Request): Steps<number> {
    const [handle, offset] = [readNumber(bytes, body), readNumber(bytes, body + 8)];
    const size = bytes.readUInt32LE(body + 16);
    const data = bytes.subarray(body + 40, Math.min(end, body + 40 + size));
    const written = yield* ask(this.#fs.write(handle, offset, data));
    return writeNumber(this.#reply, written, outHeaderBytes);
  }

  *#statfs(_request: Request): Steps<number> {
    return writeSpace(this.#reply, yield* ask(this.#fs.statfs()), outHeaderBytes);
  }

  *#setxattr({ bytes, inode, end }: Request): Steps<number> {
    const [size, flags] = [bytes.readUInt32LE(body), bytes.readUInt32LE(body + 4)];
    const name = readName(bytes, body + 8, end);
    const from = body + 8 + name.length + 1;
    const rule = flags === 1 ? 'create' : flags === 2 ? 'replace' : 'any';
    yield* ask(this.#fs.setxattr(inode, name, Buffer.from(bytes.subarray(from, from + size)), rule));
    return outHeaderBytes;
  }

  /** Its size where no room is given, itself where there is enough. */
  *#bytes({ bytes }: Request, steps: Steps<Buffer>): Steps<number> {
    const room = bytes.readUInt32LE(body);
    const value = yield* steps;
    if (room === 0) return writeNumber(this.#reply, value.length, outHeaderBytes);
    if (value.length > room) throw failure('ERANGE', 'getxattr');
    return outHeaderBytes + value.copy(this.#reply, outHeaderBytes);
  }

  *#opendir({ inode }: Request): Steps<number> {
    const entries = yield* ask(this.#fs.readdir(inode));
    const handle = this.#nextListing;
    this.#nextListing += 1;
    this.#listings.set(handle, entries);
    return this.#opened(handle, outHeaderBytes);
  }

  /** A listing is what it was when the directory was opened, or rewound; places in it are numbers. */
  *#readdir({ bytes, inode }: Request, plus: boolean): Steps<number> {
    const handle = readNumber(bytes, body);
    const offset = readNumber(bytes, body + 8);
    const end = outHeaderBytes + Math.min(bytes.readUInt32LE(body + 16), mostWriteBytes);
    if (offset === 0) this.#listings.set(handle, yield* ask(this.#fs.readdir(inode)));
    const entries = this.#listings.get(handle) ?? [];
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
      const next = writeDirectoryEntry(this.#reply, shown, at + head, end);
      if (next === undefined) break;
      if (plus) yield* this.#entryPlus(inode, entry, at, index < 2);
      at = next;
    }
    return at;
  }

  /** Number 0 says that nothing is known of it: of `.` and `..`, and of what is gone since. */
  *#entryPlus(directory: Inode, entry: Entry, at: number, isDot: boolean): Steps<void> {
    const found = isDot ? undefined : yield* ask(this.#fs.lookup(directory, entry.name));
    if (found === undefined || found.inode !== entry.inode) {
      this.#reply.fill(0, at, at + 128);
      return;
    }
    this.#nodes.told(found.inode, directory);
    writeEntry(this.#reply, found, this.#shown(found), at);
  }

  *#fallocate({ bytes }: Request): Steps<number> {
    const [handle, offset, length] = [
      readNumber(bytes, body),
      readNumber(bytes, body + 8),
      readNumber(bytes, body + 16),
    ];
    const mode = bytes.readUInt32LE(body + 24);
    const how = mode === 0 ? 'extend' : mode === 1 ? 'keep' : mode === 3 ? 'punch' : undefined;
    if (how === undefined) throw failure('ENOTSUP', 'allocate');
    yield* ask(this.#fs.allocate(handle, offset, length, how));
    return outHeaderBytes;
  }

  *#lseek({ bytes }: Request): Steps<number> {
    const whence = bytes.readUInt32LE(body + 16);
    if (whence !== 3 && whence !== 4) throw failure('EINVAL', 'seek');
    const wanted = whence === 3 ? 'data' : 'hole';
    const found = yield* ask(this.#fs.seek(readNumber(bytes, body), readNumber(bytes, body + 8), wanted));
    return writeNumber(this.#reply, found, outHeaderBytes);
  }
}

function openMode(flags: number): OpenMode {
  const access = flags & (O_WRONLY | O_RDWR);
  return {
    read: access !== O_WRONLY,
    write: access !== 0,
    append: (flags & O_APPEND) !== 0 && access !== 0,
    truncate: (flags & O_TRUNC) !== 0,
  };
}

function* valued(act: () => Answer<Buffer>): Steps<Buffer> {
  return yield* ask(act());
}

function* listed(act: () => Answer<readonly string[]>): Steps<Buffer> {
  return Buffer.concat((yield* ask(act())).map((name) => Buffer.concat([bytesFromName(name), Buffer.alloc(1)])));
}
