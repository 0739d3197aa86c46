/** Attributes in the shapes that Node's `fs` has them. */
import { constants } from 'node:fs';
import type { Attributes, Kind } from '../../vfs/filesystem.js';

const typeBits: Readonly<Record<Kind, number>> = {
  file: constants.S_IFREG,
  directory: constants.S_IFDIR,
  symlink: constants.S_IFLNK,
  fifo: constants.S_IFIFO,
  socket: constants.S_IFSOCK,
  character: constants.S_IFCHR,
  block: constants.S_IFBLK,
};

class OfKind {
  readonly #kind: Kind;

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  isFile(): boolean {
    return this.#kind === 'file';
  }
  isDirectory(): boolean {
    return this.#kind === 'directory';
  }
  isSymbolicLink(): boolean {
    return this.#kind === 'symlink';
  }
  isFIFO(): boolean {
    return this.#kind === 'fifo';
  }
  isSocket(): boolean {
    return this.#kind === 'socket';
  }
  isCharacterDevice(): boolean {
    return this.#kind === 'character';
  }
  isBlockDevice(): boolean {
    return this.#kind === 'block';
  }
}

/** As `fs.Stats`. */
export class VfsStats extends OfKind {
  readonly dev = 0;
  readonly ino: number;
  readonly mode: number;
  readonly nlink: number;
  readonly uid: number;
  readonly gid: number;
  readonly rdev: number;
  readonly size: number;
  readonly blksize = 4096;
  readonly blocks: number;
  readonly atimeMs: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly birthtimeMs: number;

  constructor(of: Attributes) {
    super(of.kind);
    this.ino = of.inode;
    this.mode = typeBits[of.kind] | of.mode;
    this.nlink = of.links;
    this.uid = of.uid;
    this.gid = of.gid;
    this.rdev = of.device;
    this.size = of.size;
    this.blocks = of.blocks;
    this.atimeMs = milliseconds(of.accessed);
    this.mtimeMs = milliseconds(of.modified);
    this.ctimeMs = milliseconds(of.changed);
    this.birthtimeMs = this.ctimeMs;
  }

  get atime(): Date {
    return new Date(this.atimeMs);
  }
  get mtime(): Date {
    return new Date(this.mtimeMs);
  }
  get ctime(): Date {
    return new Date(this.ctimeMs);
  }
  get birthtime(): Date {
    return new Date(this.birthtimeMs);
  }
}

/** As `fs.Dirent`. */
export class VfsEntry extends OfKind {
  readonly name: string;
  readonly parentPath: string;

  constructor(name: string, parentPath: string, kind: Kind) {
    super(kind);
    this.name = name;
    this.parentPath = parentPath;
  }
}

function milliseconds(time: bigint): number {
  return Number(time / 1000n) / 1000;
}
