/**
 * The guard: the gate that every operation of a guest crosses. Nothing is granted by default. Scope first: what is granted nowhere
 * is EACCES before a path is looked at. Then, on the resolved path: what no grant shows is ENOENT, as if it were not there; what
 * is shown without this scope is EACCES. Every refusal is reported once, by one function. Imports `base` and `vfs`.
 */
import { ErrnoError } from '../base/errno.js';
import type { Answer } from '../vfs/answer.js';
import { componentsOf, isBelow, pathOf } from '../vfs/mount-table.js';
import { type Name, nameFromText, textFromName } from '../vfs/names.js';
import type { Gate, TreeScope } from '../vfs/tree.js';

export const scopes: readonly TreeScope[] = ['fs.read', 'fs.write', 'fs.create', 'fs.delete', 'fs.metadata'];

/** For each scope the directories (or files) it is granted for, as absolute paths of the tree. */
export type VfsGrants = { readonly [Name in TreeScope]?: readonly string[] | undefined };

export interface VfsRefusal {
  readonly scope: TreeScope;
  readonly operation: string;
  readonly path: string;
  readonly code: 'EACCES' | 'ENOENT';
}

type Granted = ReadonlyMap<TreeScope, readonly (readonly Name[])[]>;

export class Guard implements Gate {
  #granted: Granted;
  #all: readonly (readonly Name[])[];
  readonly #refused: (refusal: VfsRefusal) => void;
  readonly #listeners = new Set<() => Answer<void>>();

  /** EINVAL where a grant is not an absolute path without `.` and `..`. */
  constructor(grants: VfsGrants, refused: (refusal: VfsRefusal) => void = () => undefined) {
    this.#granted = grantedBy(grants);
    this.#all = [...this.#granted.values()].flat();
    this.#refused = refused;
  }

  /**
   * Nothing but these from now on. Settles when no one goes by what was granted before, a kernel that remembers
   * neither. EINVAL, and nothing changes.
   */
  async grant(grants: VfsGrants): Promise<void> {
    this.#granted = grantedBy(grants);
    this.#all = [...this.#granted.values()].flat();
    for (const listener of this.#listeners) await listener();
  }

  /** Calls it at each change of rights, until the returned function is called. */
  changed(listener: () => Answer<void>): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  enter(scope: TreeScope, operation: string, path: Name): void {
    if ((this.#granted.get(scope) ?? []).length > 0) return;
    this.#refuse('EACCES', scope, operation, textFromName(path), `${scope} is not granted for any path`);
  }

  allows(scope: TreeScope, path: readonly Name[]): boolean {
    if ((this.#granted.get(scope) ?? []).some((prefix) => isBelow(path, prefix))) return true;
    // Directories on the way to what is granted are there, and show only that way.
    return scope === 'fs.read' && this.#leadsToGrant(path);
  }

  pass(scope: TreeScope, operation: string, path: readonly Name[]): void {
    if (this.allows(scope, path)) return;
    const text = textFromName(pathOf(path));
    if (this.shows(path)) this.#refuse('EACCES', scope, operation, text, `${scope} is not granted for this path`);
    this.#refuse('ENOENT', scope, operation, text, 'no such file or directory');
  }

  /**
   * A right to remove is none to read: all that is moved, below a directory too, would be read where it comes to. What has other names
   * would be written to there by all of them.
   */
  move(operation: string, from: readonly Name[], to: readonly Name[], shared: boolean): void {
    const kept: readonly TreeScope[] = shared ? ['fs.read', 'fs.write', 'fs.metadata'] : ['fs.read'];
    for (const scope of kept) {
      const granted = this.#granted.get(scope) ?? [];
      if (!granted.some((prefix) => isBelow(to, prefix) || isBelow(prefix, to))) continue;
      if (granted.some((prefix) => isBelow(from, prefix))) continue;
      const reason = `${scope} is not granted for this path, and would be for its new one`;
      this.#refuse('EACCES', scope, operation, textFromName(pathOf(from)), reason);
    }
  }

  shows(path: readonly Name[]): boolean {
    return this.#all.some((prefix) => isBelow(path, prefix)) || this.#leadsToGrant(path);
  }

  #leadsToGrant(path: readonly Name[]): boolean {
    return this.#all.some((prefix) => prefix.length > path.length && isBelow(prefix, path));
  }

  #refuse(code: 'EACCES' | 'ENOENT', scope: TreeScope, operation: string, path: string, reason: string): never {
    this.#refused({ scope, operation, path, code });
    const remedy = code === 'EACCES' ? `grant ${scope} for a directory it is in` : undefined;
    throw new ErrnoError(code, { operation, path, reason, remedy });
  }
}

function grantedBy(grants: VfsGrants): Granted {
  return new Map(scopes.map((scope) => [scope, (grants[scope] ?? []).map((path) => prefixOf(scope, path))]));
}

function prefixOf(scope: TreeScope, path: string): readonly Name[] {
  const components = componentsOf(nameFromText(path));
  if (!path.startsWith('/') || components.some((name) => name === '.' || name === '..')) {
    const reason = `expected an absolute path without '.' and '..'`;
    throw new ErrnoError('EINVAL', { operation: `grant ${scope}`, path, reason });
  }
  return components;
}
