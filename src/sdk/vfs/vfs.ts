/**
 * A tree of the VFS for programs, with the calls, shapes and errors of `fs.promises`. It is the trusted side: what `restricted`
 * gives is for guests, sees the same tree, and may do what it is granted and nothing else. Relative paths begin at `/`.
 */
import { posix } from 'node:path';
import type { Guard, VfsRefusal } from '../../guard/guard.js';
import { Guard as GuardGate, type VfsGrants } from '../../guard/guard.js';
import { type Answer, askEach, settle } from '../../vfs/answer.js';
import { failure } from '../../vfs/failure.js';
import type { Creation, Entry, TreeChange } from '../../vfs/filesystem.js';
import { type MountTable, pathOf } from '../../vfs/mount-table.js';
import { type Name, nameFromBytes, nameFromText, textFromName } from '../../vfs/names.js';
import { VfsTree } from '../../vfs/tree.js';
import { VfsFileHandle } from './file-handle.js';
import { openFlags } from './flags.js';
import { nodeError } from './node-error.js';
import { VfsEntry, VfsStats } from './stats.js';
import { type VfsWatchEvent, type WatchOptions, watched } from './watch.js';

export type VfsPath = string | Uint8Array;
type Encoding = BufferEncoding | null | undefined;
export interface ReadOptions {
  readonly encoding?: Encoding;
  readonly flag?: string | number | undefined;
}
export interface WriteOptions {
  readonly encoding?: Encoding;
  readonly mode?: number | undefined;
  readonly flag?: string | number | undefined;
}
export interface ListOptions {
  readonly withFileTypes?: boolean | undefined;
  readonly recursive?: boolean | undefined;
}

const ownMask = 0o022;
/** Links to follow and levels to go down before a recursive call gives up: as deep as a path can be long. */
const deepest = 2_048;

const isGone = (error: unknown) => (nodeError(error, 'rm') as { code?: string }).code === 'ENOENT';

export class Vfs {
  readonly #table: MountTable;
  readonly #tree: VfsTree;
  readonly #mayClose: boolean;
  readonly #open = new Set<VfsFileHandle>();

  constructor(table: MountTable, guard?: Guard) {
    this.#table = table;
    this.#tree = new VfsTree(table, guard);
    this.#mayClose = guard === undefined;
  }

  /** The same tree for a guest: nothing but these grants. `onRefusal` hears of everything that is refused. */
  restricted(grants: VfsGrants, onRefusal?: (refusal: VfsRefusal) => void): Vfs {
    if (!this.#mayClose) throw failure('EPERM', 'restricted', undefined, 'a guest cannot grant anything');
    return new Vfs(this.#table, new GuardGate(grants, onRefusal));
  }

  async readFile(path: VfsPath, options?: BufferEncoding | ReadOptions | null): Promise<Buffer | string> {
    const { flag = 'r', encoding } = optionsOf<ReadOptions>(options);
    return this.#with(path, flag, undefined, (file) => file.readFile({ encoding: encoding ?? null }));
  }

  async writeFile(path: VfsPath, data: string | Uint8Array, options?: BufferEncoding | WriteOptions): Promise<void> {
    const { flag = 'w', mode, encoding } = optionsOf<WriteOptions>(options);
    const bytes = typeof data === 'string' ? Buffer.from(data, encoding ?? 'utf8') : data;
    await this.#with(path, flag, mode, (file) => file.writeFile(bytes));
  }

  async appendFile(path: VfsPath, data: string | Uint8Array, options?: BufferEncoding | WriteOptions): Promise<void> {
    const { flag = 'a', ...rest } = optionsOf<WriteOptions>(options);
    await this.writeFile(path, data, { ...rest, flag });
  }

  async copyFile(path: VfsPath, newPath: VfsPath): Promise<void> {
    await this.writeFile(newPath, await this.readFile(path), { mode: (await this.stat(path)).mode & 0o777 });
  }

  async open(path: VfsPath, flags: string | number = 'r', mode?: number): Promise<VfsFileHandle> {
    const asked = await this.#ask('open', path, () => openFlags(flags));
    const file = await this.#ask('open', path, (name) => this.#tree.open(name, asked, creation(mode, 0o666)));
    const handle: VfsFileHandle = new VfsFileHandle(file, asked, () => this.#open.delete(handle));
    this.#open.add(handle);
    return handle;
  }

  async stat(path: VfsPath): Promise<VfsStats> {
    return new VfsStats(await this.#ask('stat', path, (name) => this.#tree.stat(name, true)));
  }

  async lstat(path: VfsPath): Promise<VfsStats> {
    return new VfsStats(await this.#ask('lstat', path, (name) => this.#tree.stat(name, false)));
  }

  /** That it is there and may be seen; a mode is not looked at, since this is the owner's side. */
  async access(path: VfsPath): Promise<void> {
    await this.#ask('access', path, (name) => this.#tree.stat(name, true));
  }

  async realpath(path: VfsPath): Promise<string> {
    return textFromName(await this.#ask('realpath', path, (name) => this.#tree.realpath(name)));
  }

  async readdir(path: VfsPath, options: ListOptions = {}): Promise<string[] | VfsEntry[]> {
    const found: { readonly below: Name; readonly entry: Entry }[] = [];
    const list = async (below: Name, depth: number): Promise<void> => {
      const at = below === '' ? nameOf(path) : `${nameOf(path)}/${below}`;
      const entries = await this.#ask('scandir', path, () => this.#tree.readdir(at));
      for (const entry of [...entries].sort((one, other) => (one.name < other.name ? -1 : 1))) {
        found.push({ below, entry });
        if (options.recursive !== true || entry.kind !== 'directory') continue;
        if (depth >= deepest) throw failure('ENAMETOOLONG', 'scandir', at);
        await list(below === '' ? entry.name : `${below}/${entry.name}`, depth + 1);
      }
    };
    await list('', 0);
    const shown = typeof path === 'string' ? path : textFromName(nameOf(path));
    const join = (below: Name, name: Name) => textFromName(below === '' ? name : `${below}/${name}`);
    if (options.withFileTypes !== true) return found.map(({ below, entry }) => join(below, entry.name));
    return found.map(({ below, entry: { name, kind } }) => {
      const parent = below === '' ? shown : posix.join(shown, textFromName(below));
      return new VfsEntry(textFromName(name), parent, kind);
    });
  }

  async mkdir(
    path: VfsPath,
    options: number | { recursive?: boolean; mode?: number } = {},
  ): Promise<string | undefined> {
    const { recursive = false, mode } = typeof options === 'number' ? { mode: options } : options;
    const make = (name: Name) => this.#ask('mkdir', path, () => this.#tree.mkdir(name, creation(mode, 0o777)));
    if (!recursive) {
      await make(nameOf(path));
      return undefined;
    }
    const names = nameOf(path).split('/').filter(Boolean);
    let first: string | undefined;
    for (const [index] of names.entries()) {
      const part = pathOf(names.slice(0, index + 1));
      try {
        await make(part);
        first ??= textFromName(part);
      } catch (error) {
        const there = await Promise.resolve(this.#tree.stat(part, true)).catch(() => undefined);
        if (there?.kind !== 'directory')
          throw there === undefined
            ? error
            : nodeError(failure(index + 1 === names.length ? 'EEXIST' : 'ENOTDIR', 'mkdir', part), 'mkdir');
      }
    }
    return first;
  }

  async rmdir(path: VfsPath): Promise<void> {
    await this.#ask('rmdir', path, (name) => this.#tree.rmdir(name));
  }

  async unlink(path: VfsPath): Promise<void> {
    await this.#ask('unlink', path, (name) => this.#tree.unlink(name));
  }

  async rm(path: VfsPath, options: { recursive?: boolean; force?: boolean } = {}): Promise<void> {
    const { recursive = false, force = false } = options;
    const remove = async (name: Name, depth: number): Promise<void> => {
      const { kind } = await this.#tree.stat(name, false);
      if (kind !== 'directory') {
        await this.#tree.unlink(name);
        return;
      }
      if (!recursive) throw failure('EISDIR', 'rm', name, 'it is a directory', 'use recursive: true');
      if (depth >= deepest) throw failure('ENAMETOOLONG', 'rm', name);
      for (const entry of await this.#tree.readdir(name))
        await remove(`${name}/${entry.name}`, depth + 1).catch((error: unknown) => {
          // Removed by somebody else: the entries behind it are still there.
          if (!isGone(error)) throw error;
        });
      await this.#tree.rmdir(name);
    };
    try {
      await remove(nameOf(path), 0);
    } catch (error) {
      if (force && isGone(error)) return;
      throw nodeError(error, 'rm');
    }
  }

  async rename(path: VfsPath, newPath: VfsPath): Promise<void> {
    await this.#ask('rename', path, (name) => this.#tree.rename(name, nameOf(newPath)), newPath);
  }

  async link(path: VfsPath, newPath: VfsPath): Promise<void> {
    await this.#ask('link', path, (name) => this.#tree.link(name, nameOf(newPath)), newPath);
  }

  async symlink(target: VfsPath, path: VfsPath): Promise<void> {
    const text = typeof target === 'string' ? nameFromText(target) : nameFromBytes(target);
    await this.#ask('symlink', path, (name) => this.#tree.symlink(text, name, creation(undefined, 0o777)));
  }

  async readlink(path: VfsPath): Promise<string> {
    return textFromName(await this.#ask('readlink', path, (name) => this.#tree.readlink(name)));
  }

  async truncate(path: VfsPath, size = 0): Promise<void> {
    await this.#ask('truncate', path, (name) => this.#tree.setattr(name, { size }, true));
  }

  async chmod(path: VfsPath, mode: number): Promise<void> {
    await this.#ask('chmod', path, (name) => this.#tree.setattr(name, { mode }, true));
  }

  async chown(path: VfsPath, uid: number, gid: number): Promise<void> {
    await this.#ask('chown', path, (name) => this.#tree.setattr(name, { uid, gid }, true));
  }

  async utimes(path: VfsPath, accessed: number | Date, modified: number | Date): Promise<void> {
    const changes = { accessed: timeOf(accessed), modified: timeOf(modified) };
    await this.#ask('utime', path, (name) => this.#tree.setattr(name, changes, true));
  }

  /** What changes in a directory, by name, until the signal aborts. */
  watch(path: VfsPath, options: WatchOptions = {}): AsyncIterable<VfsWatchEvent> {
    return watched(async (changed: (change: TreeChange) => void) => {
      const { attributes, filesystem } = await this.#directory(path);
      return filesystem.watch((change) => {
        if (change.directory === attributes.inode) changed(change);
      });
    }, options);
  }

  /** Everything written is durable where an engine is; open files are closed. A guest's closes its own files alone. */
  async close(): Promise<void> {
    const files = () => settle(askEach([...this.#open], (file) => file.close()));
    const table = () => (this.#mayClose ? settle(this.#table.close()) : undefined);
    await settle(askEach([files, table], (close) => close()));
  }

  async #directory(path: VfsPath) {
    const opened = await this.#ask('watch', path, (name) =>
      this.#tree.open(name, openFlags('r'), creation(undefined, 0)),
    );
    await opened.filesystem.release(opened.handle);
    return { filesystem: opened.filesystem, attributes: await opened.filesystem.getattr(opened.inode) };
  }

  async #with<T>(
    path: VfsPath,
    flags: string | number,
    mode: number | undefined,
    act: (file: VfsFileHandle) => Promise<T>,
  ): Promise<T> {
    const file = await this.open(path, flags, mode);
    try {
      return await act(file);
    } finally {
      await file.close();
    }
  }

  async #ask<T>(syscall: string, path: VfsPath, act: (name: Name) => Answer<T>, dest?: VfsPath): Promise<T> {
    try {
      return await act(nameOf(path));
    } catch (error) {
      const shown = (each: VfsPath) => (typeof each === 'string' ? each : textFromName(nameFromBytes(each)));
      throw nodeError(error, syscall, shown(path), dest === undefined ? undefined : shown(dest));
    }
  }
}

function nameOf(path: VfsPath): Name {
  const name = typeof path === 'string' ? nameFromText(path) : nameFromBytes(path);
  return name === '' || name.startsWith('/') ? name : `/${name}`;
}

function optionsOf<T extends { readonly encoding?: Encoding }>(options: BufferEncoding | T | null | undefined): T {
  return (typeof options === 'string' ? { encoding: options } : (options ?? {})) as T;
}

function creation(mode: number | undefined, usual: number): Creation {
  return { mode: (mode ?? usual) & ~ownMask, uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
}

function timeOf(time: number | Date): bigint {
  const milliseconds = typeof time === 'number' ? time * 1000 : time.getTime();
  return BigInt(Math.round(milliseconds * 1000)) * 1000n;
}
