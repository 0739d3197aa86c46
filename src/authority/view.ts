/**
 * The view: where each path of a subject's namespace is on the host. The surface's entries are at their own paths;
 * mounts are at their targets, and at a target both name, the mount says what is there. The deepest target decides.
 * What is hidden is hidden by host path, so no mount brings it back under another name. A mount whose source is not a
 * path of the host (a tree, the objects) shows nothing of it: nothing in it is hidden.
 *
 * `allowedReads` and `allowedWrites` are the two flat lists that every layer goes by: the preamble and `ctx surface` print
 * them, the jail mounts them, what is written beside the fork is found in them, and the hook and the guard ask `locate`,
 * which finds the deepest of them.
 */
import { contains, isNormalPath, rebase } from './absolute-path.js';
import { kindOfSource, type Mount, type MountOption, type MountSource } from './mount.js';
import { PathIndex } from './path-index.js';
import { type Access, type Surface, type SurfaceField, surfaceEntries } from './surface.js';
import { surfaceMountOptions } from './surface-mounts.js';

export interface ViewEntry {
  readonly target: string;
  readonly source: string;
  /** What `source` is. */
  readonly of: MountSource;
  readonly access: 'read' | 'write';
  readonly options: readonly MountOption[];
  readonly origin: SurfaceField | 'mounts';
}

export interface Located {
  /** The host path behind a path of the view; of a tree its text, and of the objects a path of those. */
  readonly host: string;
  readonly entry: ViewEntry;
}

export class View {
  /** Sorted by target: an ancestor before what is inside it. */
  readonly entries: readonly ViewEntry[];
  readonly hidden: readonly string[];
  readonly #reads: readonly ViewEntry[];
  readonly #writes: readonly ViewEntry[];
  readonly #targets: PathIndex<ViewEntry>;
  readonly #hidden: PathIndex<string>;

  constructor(surface: Surface, mounts: readonly Mount[]) {
    const byTarget = new Map<string, ViewEntry>();
    for (const { path, access, field } of surfaceEntries(surface)) {
      const entry = {
        target: path,
        source: path,
        of: 'host' as const,
        access,
        options: surfaceMountOptions,
        origin: field,
      };
      byTarget.set(path, Object.freeze(entry));
    }
    for (const { source, target, mode, options } of mounts) {
      const access = mode === 'rw' ? 'write' : 'read';
      const of = kindOfSource(source);
      byTarget.set(target, Object.freeze({ target, source, of, access, options, origin: 'mounts' as const }));
    }
    this.entries = Object.freeze([...byTarget.values()].sort((a, b) => (a.target < b.target ? -1 : 1)));
    this.hidden = surface.hidden;
    this.#targets = new PathIndex(this.entries.map((entry) => [entry.target, entry]));
    this.#hidden = new PathIndex(this.hidden.map((path) => [path, path]));
    this.#reads = Object.freeze(this.entries.filter(({ target }) => this.locate(target) !== undefined));
    this.#writes = Object.freeze(this.#reads.filter(({ access }) => access === 'write'));
    Object.freeze(this);
  }

  /** What may be read, with all inside it unless a deeper one or what is hidden says otherwise; what may be written is part of it. */
  allowedReads(): readonly ViewEntry[] {
    return this.#reads;
  }

  /** What may be written, in the same way. */
  allowedWrites(): readonly ViewEntry[] {
    return this.#writes;
  }

  /** The deepest entry over `path`, hidden or not. */
  covering(path: string): ViewEntry | undefined {
    return isNormalPath(path) ? this.#targets.deepest(path) : undefined;
  }

  isHidden(host: string): boolean {
    return this.#hidden.deepest(host) !== undefined;
  }

  /** Where `path` is on the host, or undefined where the subject does not see it. */
  locate(path: string): Located | undefined {
    const entry = this.covering(path);
    if (entry === undefined) return undefined;
    if (entry.of === 'tree') return { host: entry.source, entry };
    const host = rebase(path, entry.target, entry.source);
    if (entry.of === 'objects') return { host, entry };
    return this.isHidden(host) ? undefined : { host, entry };
  }

  accessTo(path: string): Access {
    return this.locate(path)?.entry.access ?? 'none';
  }

  /** The entries strictly inside `path`. */
  beneath(path: string): readonly ViewEntry[] {
    return this.#targets.beneath(path);
  }

  /** The paths of the view that must be covered so that nothing hidden shows, sorted. */
  maskedTargets(): readonly string[] {
    const masks = new Set<string>();
    for (const entry of this.entries) {
      if (entry.of !== 'host') continue;
      for (const hidden of this.hidden) {
        if (contains(hidden, entry.source)) masks.add(entry.target);
        else if (contains(entry.source, hidden)) {
          const target = rebase(hidden, entry.source, entry.target);
          if (this.covering(target) === entry) masks.add(target);
        }
      }
    }
    return Object.freeze([...masks].sort());
  }
}
