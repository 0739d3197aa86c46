/** Which engine has a path: the longest prefix. A table is made once; mounts may be nested, and a deeper one hides what is below it. */
import { ErrnoError } from '../base/errno.js';
import { askEach, type Steps } from './answer.js';
import type { FileSystem } from './filesystem.js';
import { type Name, textFromName } from './names.js';

export interface TableMount {
  /** Where it is, by component; empty for the root. */
  readonly path: readonly Name[];
  readonly filesystem: FileSystem;
}

export function componentsOf(path: Name): readonly Name[] {
  return path.split('/').filter((name) => name !== '');
}

export function pathOf(components: readonly Name[]): Name {
  return `/${components.join('/')}`;
}

export class MountTable {
  readonly root: TableMount;
  readonly mounts: readonly TableMount[];
  readonly #byPath: ReadonlyMap<Name, TableMount>;

  /** EINVAL: no root, a path twice or not canonical, or a tree that would be mounted inside itself. */
  constructor(mounts: readonly TableMount[]) {
    const byPath = new Map<Name, TableMount>();
    for (const mount of mounts) {
      const at = pathOf(mount.path);
      const refuse = (reason: string) => {
        throw new ErrnoError('EINVAL', { operation: 'mount', path: textFromName(at), reason });
      };
      if (mount.path.some((name) => name === '.' || name === '..')) refuse("expected a path without '.' and '..'");
      if (byPath.has(at)) refuse('something is mounted there already');
      const isAround = (other: TableMount) =>
        other !== mount && other.filesystem === mount.filesystem && isBelow(mount.path, other.path);
      if (mounts.some(isAround)) refuse('it cannot be mounted inside itself');
      byPath.set(at, mount);
    }
    const root = byPath.get('/');
    if (root === undefined) {
      throw new ErrnoError('EINVAL', { operation: 'mount', reason: "expected something to be mounted at '/'" });
    }
    this.root = root;
    this.mounts = mounts;
    this.#byPath = byPath;
  }

  /** What is mounted at exactly this path. */
  at(path: readonly Name[]): TableMount | undefined {
    return this.#byPath.size === 1 && path.length > 0 ? undefined : this.#byPath.get(pathOf(path));
  }

  /** All of them, also where one says that it could not write everything. */
  close(): Steps<void> {
    return askEach([...this.mounts].reverse(), ({ filesystem }) => filesystem.close());
  }
}

export function isBelow(path: readonly Name[], prefix: readonly Name[]): boolean {
  return path.length >= prefix.length && prefix.every((name, index) => name === path[index]);
}
