/**
 * One request of the kernel becomes one call of an engine, and its answer one reply; an engine that answers at once is answered at
 * once. Modes are the kernel's to check (default_permissions), so that none of them is asked twice.
 */
import { constants } from 'node:os';
import { ErrnoError } from '../base/errno.js';
import { type Answer, ask, type Steps, settle } from '../vfs/answer.js';
import type { FileSystem } from '../vfs/filesystem.js';
import { listed, valued } from './attribute-values.js';
import { attributesNotice } from './invalidation.js';
import { LockRequests } from './lock-requests.js';
import type { Nodes } from './nodes.js';
import { type DispatchOptions, Operations } from './operations.js';
import { body, type Request } from './request.js';
import { entryBytes, kindOfMode, mostWriteBytes, opcodes, outHeaderBytes, readName, readNumber } from './wire.js';

const { errno } = constants;
const errnoNumbers = new Map<string, number>([...Object.entries(errno), ['ENOTSUP', errno.EOPNOTSUPP]]);
/** Of a reply that is neither read content nor a listing: the longest is an extended attribute. */
const plainReplyBytes = 128 * 1024;

/** Those whose reply tells the kernel of an inode. */
const makesEntry = new Set<number>([
  opcodes.lookup,
  opcodes.create,
  opcodes.mkdir,
  opcodes.mknod,
  opcodes.symlink,
  opcodes.link,
]);

/** Those that are about a name in a directory. */
const namesWithin = new Set<number>([...makesEntry, opcodes.unlink, opcodes.rmdir, opcodes.rename, opcodes.rename2]);

/** Where the reply ends, or a negative errno; undefined where there is none. */
type End = number | undefined;
type Serve = (request: Request) => Steps<End> | End;

export class Dispatch {
  readonly #fs: FileSystem;
  readonly #operations: Operations;
  readonly #locks: LockRequests;
  /** Of an engine that answers at once: one reply at a time is written, and sent before the next one begins. */
  readonly #shared: Buffer | undefined;
  readonly #laterWrites: boolean;
  readonly #serve: ReadonlyMap<number, Serve>;

  constructor(options: DispatchOptions) {
    this.#fs = options.filesystem;
    this.#operations = new Operations(options);
    this.#locks = new LockRequests(options.filesystem, (inode) =>
      options.notify?.(attributesNotice(this.#operations.nodes.number(inode))),
    );
    this.#laterWrites = options.laterWrites === true;
    const isImmediate = options.filesystem.capabilities.immediate;
    this.#shared = isImmediate ? Buffer.allocUnsafeSlow(outHeaderBytes + mostWriteBytes + 4096) : undefined;
    this.#serve = this.#table();
  }

  /**
   * Undefined where nothing is answered; how long a reply is, it says itself (`replyLength`). Of an engine that answers at once the reply is to be sent before the next request is handed
   * in; of another, the bytes of the request are the caller's own again when it is answered.
   */
  answer(bytes: Buffer, length: number): Answer<Buffer | undefined> {
    const opcode = bytes.readUInt32LE(4);
    const unique: Unique = [bytes.readUInt32LE(8), bytes.readUInt32LE(12)];
    const serve = this.#serve.get(opcode);
    const isLater = opcode === opcodes.setlkw || (opcode === opcodes.write && this.#laterWrites);
    const own = this.#shared === undefined || isLater;
    const reply = own ? Buffer.allocUnsafe(replyBytes(opcode, bytes)) : (this.#shared ?? bytes);
    if (serve === undefined) return refused(reply, unique, -errno.ENOSYS);
    const request: Request = {
      bytes,
      end: length,
      inode: this.#operations.nodes.number(readNumber(bytes, 16)),
      uid: this.#operations.inside(bytes.readUInt32LE(24), 'uid'),
      gid: this.#operations.inside(bytes.readUInt32LE(28), 'gid'),
      reply,
    };
    try {
      const served = (this.#ofRemoved(opcode, request) ?? serve)(request);
      const end = typeof served === 'object' ? settle(served) : served;
      if (!(end instanceof Promise)) return succeeded(reply, unique, end);
      return end.then(
        (at) => succeeded(reply, unique, at),
        (error: unknown) => failed(reply, unique, error),
      );
    } catch (error) {
      return failed(reply, unique, error);
    }
  }

  get nodes(): Nodes {
    return this.#operations.nodes;
  }

  /** Whether its answer may come later: of a wait for a lock, whatever the engine. */
  mayWait(bytes: Buffer): boolean {
    return this.#shared === undefined || bytes.readUInt32LE(4) === opcodes.setlkw;
  }

  /** True where it waits for a lock, and answers soon by itself. */
  givesUp(unique: bigint): boolean {
    return this.#locks.givesUp(unique);
  }

  get waitingForLocks(): number {
    return this.#locks.waiting;
  }

  givesUpLocks(): void {
    this.#locks.givesUpAll();
  }

  /** That a request was given up. */
  interrupted(unique: bigint): Buffer {
    const halves: Unique = [Number(BigInt.asUintN(32, unique)), Number(unique >> 32n)];
    return refused(Buffer.allocUnsafe(outHeaderBytes), halves, -errno.EINTR);
  }

  /** Takes back what only the kernel would have ended, of a reply that it was never sent. */
  async undo(request: Buffer, reply: Buffer): Promise<void> {
    if (reply.readInt32LE(4) !== 0) return;
    const { nodes } = this.#operations;
    const opcode = request.readUInt32LE(4);
    if (opcode === opcodes.opendir) this.#operations.listings.close(readNumber(reply, outHeaderBytes));
    const node = makesEntry.has(opcode) ? readNumber(reply, outHeaderBytes) : 0;
    if (node !== 0) nodes.forgotten(nodes.number(node), 1);
    if (opcode !== opcodes.open && opcode !== opcodes.create) return;
    this.#operations.kept.released(nodes.number(opcode === opcodes.open ? readNumber(request, 16) : node));
    const handle = readNumber(reply, opcode === opcodes.open ? outHeaderBytes : outHeaderBytes + entryBytes);
    try {
      for (const each of this.#operations.ways.released(handle)) await this.#fs.release(each);
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error; // No one is left to hear of it.
    }
  }

  /** Of a directory that was removed and is still in use: the engine does not have it. */
  #ofRemoved(opcode: number, { inode }: Request): Serve | undefined {
    const of = this.#operations;
    const { removed } = of.nodes;
    const left = removed.get(inode);
    if (left === undefined) return undefined;
    if (namesWithin.has(opcode)) return () => -errno.ENOENT;
    if (opcode === opcodes.getattr) return (request) => of.attributes(request, () => left);
    if (opcode === opcodes.setattr)
      return (request) => of.attributes(request, () => removed.change(left, of.changes(request)));
    return opcode === opcodes.opendir ? (request) => of.listing(request, []) : undefined;
  }

  /** What is not in the table is ENOSYS, and the kernel does without it. */
  #opening(): readonly (readonly [number, Serve])[] {
    const of = this.#operations;
    return [
      [opcodes.open, (request) => of.open(request)],
      [opcodes.create, (request) => of.create(request)],
      [opcodes.release, (request) => of.release(request)],
    ];
  }

  /** What is asked when a process closes a file, and of locks: nothing where neither is the engine's. */
  #closing(): readonly (readonly [number, Serve])[] {
    const { servesLocks } = this.#operations;
    const fs = this.#fs;
    const locks = this.#locks;
    if (fs.flush === undefined && !servesLocks) return [];
    const flush = function* (request: Request): Steps<number> {
      if (servesLocks) yield* ask(locks.closed(request));
      yield* ask(fs.flush?.(readNumber(request.bytes, body)));
      return outHeaderBytes;
    };
    if (!servesLocks) return [[opcodes.flush, flush]];
    return [
      [opcodes.flush, flush],
      [opcodes.getlk, (request) => locks.get(request)],
      [opcodes.setlk, (request) => locks.set(request)],
      [opcodes.setlkw, (request) => locks.wait(request)],
    ];
  }

  /** The kernel looks for an attribute before each write; where there are none it learns so once, and asks no more. */
  #attributes(): readonly (readonly [number, Serve])[] {
    const of = this.#operations;
    const fs = this.#fs;
    const name = ({ bytes, end }: Request, at: number) => readName(bytes, at, end);
    /** No guard hears of it. */
    const isPlain = fs.capabilities.immediate && fs.invalidated === undefined;
    return [
      [opcodes.setxattr, (request) => of.setxattr(request)],
      [
        opcodes.getxattr,
        (request) => {
          const wanted = name(request, body + 8);
          // Asked before the first write to each file, and nearly always in vain: no error is made of that.
          if (isPlain && !(fs.listxattr(request.inode) as readonly string[]).includes(wanted)) return -errno.ENODATA;
          return of.bytes(
            request,
            valued(() => fs.getxattr(request.inode, wanted)),
          );
        },
      ],
      [opcodes.removexattr, (request) => of.done(() => fs.removexattr(request.inode, name(request, body)))],
    ];
  }

  #table(): ReadonlyMap<number, Serve> {
    const of = this.#operations;
    const fs = this.#fs;
    const name = ({ bytes, end }: Request, at = body) => readName(bytes, at, end);
    return new Map<number, Serve>([
      [opcodes.init, (request) => of.init(request)],
      [opcodes.destroy, () => of.done(() => fs.sync())],
      [opcodes.lookup, (request) => of.lookup(request)],
      [opcodes.forget, (request) => of.forget(request)],
      [opcodes.batchForget, (request) => of.batchForget(request)],
      [opcodes.interrupt, () => undefined],
      [opcodes.getattr, (request) => of.attributes(request, () => fs.getattr(request.inode))],
      [
        opcodes.setattr,
        (request) =>
          of.attributes(
            request,
            () => fs.setattr(request.inode, of.changes(request)),
            (left) => of.nodes.removed.change(left, of.changes(request)),
          ),
      ],
      [opcodes.readlink, (request) => of.readlink(request)],
      [
        opcodes.symlink,
        (request) => {
          const first = name(request);
          const target = name(request, body + first.length + 1);
          return of.made(request, () => fs.symlink(request.inode, first, target, of.creation(request, 0o777)));
        },
      ],
      [
        opcodes.mknod,
        (request) => {
          const mode = request.bytes.readUInt32LE(body);
          const device = request.bytes.readUInt32LE(body + 4);
          const kind = kindOfMode(mode) ?? 'file';
          const first = name(request, body + 16);
          return of.made(request, () => fs.mknod(request.inode, first, of.creation(request, mode), kind, device));
        },
      ],
      [
        opcodes.mkdir,
        (request) => {
          const mode = request.bytes.readUInt32LE(body);
          return of.made(request, () => fs.mkdir(request.inode, name(request, body + 8), of.creation(request, mode)));
        },
      ],
      [opcodes.unlink, (request) => of.unlink(request)],
      [opcodes.rmdir, (request) => of.rmdir(request)],
      [opcodes.rename, (request) => of.rename(request, 0, body + 8)],
      [opcodes.rename2, (request) => of.rename(request, request.bytes.readUInt32LE(body + 8), body + 16)],
      [
        opcodes.link,
        (request) => {
          const inode = of.nodes.number(readNumber(request.bytes, body));
          return of.made(request, () => fs.link(inode, request.inode, name(request, body + 8)));
        },
      ],
      [opcodes.read, (request) => of.read(request)],
      [opcodes.write, (request) => of.write(request)],
      [opcodes.statfs, (request) => of.statfs(request)],
      ...(of.files.unasked ? [] : this.#opening()),
      ...this.#closing(),
      [opcodes.fsync, (request) => of.fsync(request)],
      [opcodes.fsyncdir, () => of.done(() => fs.sync())],
      ...(fs.capabilities.attributes ? this.#attributes() : []),
      [
        opcodes.listxattr,
        (request) =>
          of.bytes(
            request,
            listed(() => fs.listxattr(request.inode)),
          ),
      ],
      [opcodes.opendir, (request) => of.opendir(request)],
      [opcodes.readdir, (request) => of.directories.read(request, false)],
      [opcodes.readdirplus, (request) => of.directories.read(request, true)],
      [opcodes.releasedir, (request) => of.releasedir(request)],
      [opcodes.fallocate, (request) => of.fallocate(request)],
      [opcodes.lseek, (request) => of.lseek(request)],
    ]);
  }
}

function replyBytes(opcode: number, bytes: Buffer): number {
  const { read, readdir, readdirplus } = opcodes;
  if (opcode !== read && opcode !== readdir && opcode !== readdirplus) return plainReplyBytes;
  return outHeaderBytes + Math.min(bytes.readUInt32LE(body + 16), mostWriteBytes) + 4096;
}

/** The number of a request, by which it is answered: its lower and its higher half. */
type Unique = readonly [number, number];

function succeeded(reply: Buffer, unique: Unique, end: End): Buffer | undefined {
  if (end === undefined) return undefined;
  return end < 0 ? refused(reply, unique, end) : headed(reply, unique, end, 0);
}

function failed(reply: Buffer, unique: Unique, error: unknown): Buffer {
  const code = error instanceof ErrnoError ? errnoNumbers.get(error.code) : undefined;
  return refused(reply, unique, -(code ?? errno.EIO));
}

function refused(reply: Buffer, unique: Unique, code: number): Buffer {
  return headed(reply, unique, outHeaderBytes, code);
}

function headed(reply: Buffer, [low, high]: Unique, end: number, code: number): Buffer {
  reply.writeUInt32LE(end, 0);
  reply.writeInt32LE(code, 4);
  reply.writeUInt32LE(low, 8);
  reply.writeUInt32LE(high, 12);
  return reply;
}
