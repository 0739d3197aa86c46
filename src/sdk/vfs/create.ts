/** `createVfs({ mounts })`: engines at their places in one tree. Where nothing is mounted at `/`, memory is. */
import { resolve as resolvePath } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { type Quota, type QuotaEvent, withQuota } from '../../guard/quota.js';
import { ask, type Steps, settle } from '../../vfs/answer.js';
import type { FileSystem } from '../../vfs/filesystem.js';
import { componentsOf, type Mount, MountTable, pathOf } from '../../vfs/mount-table.js';
import { nameFromText, textFromName } from '../../vfs/names.js';
import { openEngine } from '../../vfs/open-engine.js';
import { resolve } from '../../vfs/resolve.js';
import { parseSpecification } from '../../vfs/specification.js';
import { Vfs } from './vfs.js';

export type { FileSystem };

/** As text, `host:PATH` is read-only and what is ours is writable; or an engine of the caller's own. */
export type VfsMount = string | { readonly spec: string; readonly writable?: boolean | undefined } | FileSystem;

export interface VfsOptions {
  readonly mounts?: Readonly<Record<string, VfsMount>> | undefined;
  readonly quota?: Quota | undefined;
  /** A quota is used to four fifths. */
  readonly onQuota?: ((event: QuotaEvent) => void) | undefined;
  /** Where relative paths of specifications begin; the process's own directory. */
  readonly directory?: string | undefined;
}

export async function makeVfs(options: VfsOptions, lockLibrary: string): Promise<Vfs> {
  const { mounts = {}, quota, onQuota = () => undefined } = options;
  const directory = resolvePath(options.directory ?? '.');
  const given: [string, VfsMount][] = Object.entries(mounts);
  const all: [string, VfsMount][] = given.some(([path]) => path === '/') ? given : [['/', 'memory:'], ...given];
  const opened: Mount[] = [];
  try {
    for (const [path, mount] of all) {
      const filesystem = await openMount(mount, directory, lockLibrary);
      const limited = quota === undefined ? filesystem : withQuota(filesystem, quota, onQuota);
      opened.push({ path: mountPath(path), filesystem: limited });
    }
    const table = new MountTable(opened);
    for (const mount of [...opened].sort((one, other) => one.path.length - other.path.length)) {
      await settle(mountPoint(table, mount));
    }
    return new Vfs(table);
  } catch (error) {
    // Nothing stays half mounted.
    for (const { filesystem } of opened) await filesystem.close();
    throw error;
  }
}

async function openMount(mount: VfsMount, directory: string, lockLibrary: string): Promise<FileSystem> {
  if (typeof mount === 'object' && 'lookup' in mount) return mount;
  const { spec, writable } = typeof mount === 'string' ? { spec: mount, writable: undefined } : mount;
  const specification = parseSpecification(spec, directory);
  const { engine } = specification;
  const isOurs = engine === 'memory' || (engine === 'chunked' && specification.snapshot === undefined);
  return openEngine(specification, { writable: writable ?? isOurs, create: writable ?? isOurs, lockLibrary });
}

function mountPath(path: string): readonly string[] {
  if (!path.startsWith('/')) {
    throw new ErrnoError('EINVAL', { operation: 'mount', path, reason: 'expected an absolute path' });
  }
  return componentsOf(nameFromText(path));
}

/** The directory it is mounted on is made where it is not there, so that listings show it. */
function* mountPoint(table: MountTable, { path }: Mount): Steps<void> {
  for (let depth = 1; depth <= path.length; depth += 1) {
    const at = path.slice(0, depth);
    if (table.at(at) !== undefined && depth < path.length) continue;
    const parent = yield* resolve(table, pathOf(at.slice(0, -1)), { follow: false });
    const { found } = parent;
    const name = at.at(-1) ?? '';
    if (found === undefined) return;
    const { filesystem } = found.mount;
    const there = yield* ask(filesystem.lookup(found.attributes.inode, name));
    if (there?.kind === 'directory') continue;
    if (there !== undefined || !filesystem.capabilities.writable) {
      throw new ErrnoError(there === undefined ? 'ENOENT' : 'ENOTDIR', {
        operation: 'mount',
        path: textFromName(pathOf(at)),
        reason: `expected a directory to mount on in ${filesystem.label}`,
      });
    }
    const { uid, gid } = found.attributes;
    yield* ask(filesystem.mkdir(found.attributes.inode, name, { mode: 0o755, uid, gid }));
  }
}
