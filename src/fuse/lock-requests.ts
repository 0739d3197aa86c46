/**
 * Locks that the kernel asks of a server instead of keeping them itself: where others than the users of one mount are to be kept out,
 * too. A wait is a request that stays unanswered, so it has a reply of its own and can be given up.
 */
import { type Answer, ask, type Steps } from '../vfs/answer.js';
import { failure } from '../vfs/failure.js';
import type { FileSystem, Handle, Inode, LockRequest } from '../vfs/filesystem.js';
import { waitForLock } from '../vfs/locks.js';
import { body, type Request } from './request.js';
import { outHeaderBytes, readNumber, writeNumber } from './wire.js';

/** The kernel's words for kinds of locks, and for one that is of the whole file. */
const kinds = ['shared', 'exclusive', 'none'] as const;
const isWhole = 1;
/** Beyond what a number holds exactly: the end of every file. */
const furthest = 2 ** 53;
const kernelsEnd = 0x7fff_ffff_ffff_ffffn;

export class LockRequests {
  readonly #fs: FileSystem;
  readonly #granted: (inode: Inode) => void;
  readonly #waiting = new Set<bigint>();

  /** `granted` is called before whoever asked hears of it: what others wrote before they gave it back is to be seen. */
  constructor(filesystem: FileSystem, granted: (inode: Inode) => void) {
    this.#fs = filesystem;
    this.#granted = granted;
  }

  *get(request: Request): Steps<number> {
    const wanted = requested(request);
    const found = yield* ask(this.#fs.lock(handleOf(request), { ...wanted, test: true }));
    const { reply } = request;
    const kind = found === undefined ? 2 : kinds.indexOf(found.kind);
    const at = writeNumber(reply, found?.start ?? 0, outHeaderBytes);
    const isOpen = found === undefined || found.end === Infinity;
    reply.writeBigUInt64LE(isOpen ? kernelsEnd : BigInt(found.end - 1), at);
    reply.writeUInt32LE(kind, at + 8);
    return reply.writeUInt32LE(0, at + 12);
  }

  *set(request: Request): Steps<number> {
    const wanted = requested(request);
    const conflict = yield* ask(this.#fs.lock(handleOf(request), wanted));
    if (conflict !== undefined) throw failure('EAGAIN', 'lock', undefined, 'another process holds the lock');
    if (wanted.kind !== 'none') this.#granted(request.inode);
    return outHeaderBytes;
  }

  *wait(request: Request): Steps<number> {
    const unique = request.bytes.readBigUInt64LE(8);
    const wanted = requested(request);
    const handle = handleOf(request);
    this.#waiting.add(unique);
    try {
      yield* ask(waitForLock(this.#fs, handle, wanted, () => !this.#waiting.has(unique)));
      this.#granted(request.inode);
    } finally {
      this.#waiting.delete(unique);
    }
    return outHeaderBytes;
  }

  /** True where that request waits for a lock: it is answered by EINTR soon. */
  givesUp(unique: bigint): boolean {
    return this.#waiting.delete(unique);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  givesUpAll(): void {
    this.#waiting.clear();
  }

  /** A process has closed a file: what it had locked of it is free, through whichever descriptor. */
  closed({ bytes }: Request): Answer<unknown> {
    const owner = ownerAt(bytes, body + 16);
    const all = { family: 'ranges', owner, kind: 'none', start: 0, end: Infinity } as const;
    return this.#fs.lock(readNumber(bytes, body), all);
  }
}

const handleOf = ({ bytes }: Request): Handle => readNumber(bytes, body);
const ownerAt = (bytes: Buffer, at: number) => bytes.toString('hex', at, at + 8);

function requested({ bytes }: Request): LockRequest {
  const end = readNumber(bytes, body + 24);
  const kind = kinds[bytes.readUInt32LE(body + 32)];
  if (kind === undefined) throw failure('EINVAL', 'lock');
  const owner = ownerAt(bytes, body + 8);
  if ((bytes.readUInt32LE(body + 40) & isWhole) !== 0) return { family: 'whole', owner, kind, start: 0, end: Infinity };
  const start = readNumber(bytes, body + 16);
  return { family: 'ranges', owner, kind, start, end: end >= furthest ? Infinity : end + 1 };
}
