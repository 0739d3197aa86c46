/** An open file, as the FileHandle of `fs.promises`. */
import { ErrnoError } from '../../base/errno.js';
import { failure } from '../../vfs/failure.js';
import { waitForLock } from '../../vfs/locks.js';
import type { OpenedFile, OpenFlags } from '../../vfs/tree.js';
import { handleError } from './node-error.js';
import { VfsStats } from './stats.js';

const pieceBytes = 1024 * 1024;

export interface ReadPart {
  readonly buffer?: Uint8Array | undefined;
  readonly offset?: number | undefined;
  readonly length?: number | undefined;
  readonly position?: number | null | undefined;
}

export interface LockOptions {
  readonly kind?: 'shared' | 'exclusive' | undefined;
  /** The first byte, and the first one after the range; without them the whole file, whatever it grows to. */
  readonly start?: number | undefined;
  readonly end?: number | undefined;
  /** Until it is free, or the signal aborts; otherwise the answer comes at once. */
  readonly wait?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export class VfsFileHandle {
  /** Whose its locks are: this handle's, as the kernel's locks of open files are. */
  readonly #owner: string;
  readonly #file: OpenedFile;
  readonly #flags: OpenFlags;
  readonly #closed: () => void;
  #position = 0;
  #isOpen = true;
  #closing: Promise<void> | undefined;

  constructor(file: OpenedFile, flags: OpenFlags, closed: () => void) {
    this.#file = file;
    this.#flags = flags;
    this.#closed = closed;
    this.#owner = `handle ${file.handle}`;
  }

  async read(given: Uint8Array | ReadPart = {}, at?: number, count?: number, position?: number | null) {
    const part: ReadPart = given instanceof Uint8Array ? { buffer: given, offset: at, length: count, position } : given;
    const { buffer = Buffer.alloc(16 * 1024), offset = 0 } = part;
    const length = part.length ?? buffer.byteLength - offset;
    if (offset < 0 || length < 0 || offset + length > buffer.byteLength) {
      throw new ErrnoError('EINVAL', { operation: 'read', reason: 'expected a part of the buffer' });
    }
    const from = part.position ?? this.#position;
    const bytes = await this.#ask('read', () => this.#file.filesystem.read(this.#file.handle, from, length));
    buffer.set(bytes, offset);
    if (typeof part.position !== 'number') this.#position += bytes.length;
    return { bytesRead: bytes.length, buffer };
  }

  async write(data: string | Uint8Array, offset = 0, length?: number, position?: number | null) {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    const part = typeof data === 'string' ? bytes : bytes.subarray(offset, offset + (length ?? bytes.length - offset));
    const from = position ?? this.#position;
    const written = await this.#ask('write', () => this.#file.filesystem.write(this.#file.handle, from, part));
    if (typeof position !== 'number')
      this.#position = this.#flags.append === true ? await this.#size() : from + written;
    return { bytesWritten: written, buffer: data };
  }

  async readFile(options?: BufferEncoding | { readonly encoding?: BufferEncoding | null | undefined } | null) {
    const pieces: Buffer[] = [];
    const { filesystem, handle } = this.#file;
    for (let count = pieceBytes; count === pieceBytes; ) {
      const piece = await this.#ask('read', () => filesystem.read(handle, this.#position, pieceBytes));
      // Fewer bytes only at the end.
      count = piece.length;
      this.#position += count;
      pieces.push(piece);
    }
    const encoding = typeof options === 'string' ? options : options?.encoding;
    const bytes = Buffer.concat(pieces);
    return encoding === undefined || encoding === null ? bytes : bytes.toString(encoding);
  }

  async writeFile(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    for (let done = 0; done < bytes.length; ) {
      done += (await this.write(bytes, done, Math.min(pieceBytes, bytes.length - done))).bytesWritten;
    }
  }

  async appendFile(data: string | Uint8Array): Promise<void> {
    await this.writeFile(data);
  }

  async stat(): Promise<VfsStats> {
    return new VfsStats(await this.#ask('fstat', () => this.#file.filesystem.getattr(this.#file.inode)));
  }

  /** EINVAL where it was not opened to be written, as the kernel has it: a size is asked of the inode, which knows nothing of this handle. */
  async truncate(size = 0): Promise<void> {
    await this.#ask('ftruncate', () => {
      if (!this.#flags.write) throw failure('EINVAL', 'ftruncate', undefined, 'it is not open for writing');
      return this.#file.filesystem.setattr(this.#file.inode, { size });
    });
  }

  async #size(): Promise<number> {
    return (await this.#ask('fstat', () => this.#file.filesystem.getattr(this.#file.inode))).size;
  }

  async sync(): Promise<void> {
    await this.#ask('fsync', () => this.#file.filesystem.fsync(this.#file.handle));
  }

  async datasync(): Promise<void> {
    await this.sync();
  }

  /** An advisory lock that this handle has until it gives it back or is closed. False where another one has it and `wait` is false. */
  async lock(options: LockOptions = {}): Promise<boolean> {
    const { kind = 'exclusive', start = 0, end = Infinity, wait = true, signal } = options;
    const request = { family: 'ranges', owner: this.#owner, kind, start, end } as const;
    const { filesystem, handle } = this.#file;
    return this.#ask('lock', async () => {
      if (filesystem.lock === undefined)
        throw failure('ENOTSUP', 'lock', undefined, `${filesystem.label} has no locks`);
      if (!wait) return (await filesystem.lock(handle, request)) === undefined;
      await waitForLock(filesystem, handle, request, () => signal?.aborted === true || !this.#isOpen);
      return true;
    });
  }

  async unlock({ start = 0, end = Infinity }: Pick<LockOptions, 'start' | 'end'> = {}): Promise<void> {
    const request = { family: 'ranges', owner: this.#owner, kind: 'none', start, end } as const;
    await this.#ask('lock', () => this.#file.filesystem.lock(this.#file.handle, request));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** It is closed also where the engine says that it could not write everything. */
  async #close(): Promise<void> {
    try {
      await this.#ask('close', () => this.#file.filesystem.release(this.#file.handle));
    } finally {
      this.#isOpen = false;
      this.#closed();
    }
  }

  async #ask<T>(operation: string, act: () => T | Promise<T>): Promise<T> {
    try {
      if (!this.#isOpen) throw failure('EBADF', operation);
      return await act();
    } catch (error) {
      throw handleError(error, operation);
    }
  }
}
