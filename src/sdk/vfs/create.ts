/** `createVfs({ mounts })`: engines at their places in one tree. Where nothing is mounted at `/`, memory is. */
import { resolve as resolvePath } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { type QuotaEvent, type VfsQuota, withQuota } from '../../guard/quota.js';
import { settle } from '../../vfs/answer.js';
import type { FileSystem } from '../../vfs/filesystem.js';
import { makeMountPoints } from '../../vfs/mount-points.js';
import { componentsOf, MountTable, type TableMount } from '../../vfs/mount-table.js';
import { nameFromText } from '../../vfs/names.js';
import { closed, openMounts } from '../../vfs/open-engine.js';
import { planOf } from '../../vfs/read-plan.js';

import { Vfs } from './vfs.js';

export type { FileSystem };

/** As text, `host:PATH` is read-only and what is ours is writable; or an engine of the caller's own. */
export type VfsMount = string | { readonly spec: string; readonly writable?: boolean | undefined } | FileSystem;

export interface VfsOptions {
  readonly mounts?: Readonly<Record<string, VfsMount>> | undefined;
  readonly quota?: VfsQuota | undefined;
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
  const opened: TableMount[] = [];
  try {
    for (const [path, mount] of all) {
      const place = mountPath(path); // first: what is open by then is closed below
      for (const each of await openMount(mount, directory, lockLibrary)) {
        const filesystem = quota === undefined ? each.filesystem : withQuota(each.filesystem, quota, onQuota);
        opened.push({ path: [...place, ...each.path], filesystem });
      }
    }
    const table = new MountTable(opened);
    await settle(makeMountPoints(table));
    return new Vfs(table);
  } catch (error) {
    // Nothing stays half mounted.
    await closed(opened.map(({ filesystem }) => filesystem));
    throw error;
  }
}

async function openMount(mount: VfsMount, directory: string, lockLibrary: string): Promise<readonly TableMount[]> {
  if (typeof mount === 'object' && 'lookup' in mount) return [{ path: [], filesystem: mount }];
  const { spec, writable } = typeof mount === 'string' ? { spec: mount, writable: undefined } : mount;
  return openMounts(planOf(spec, directory), { writable, create: true, lockLibrary });
}

function mountPath(path: string): readonly string[] {
  if (!path.startsWith('/')) {
    throw new ErrnoError('EINVAL', { operation: 'mount', path, reason: 'expected an absolute path' });
  }
  return componentsOf(nameFromText(path));
}
