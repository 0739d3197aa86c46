/**
 * From a Surface to mounts: each entry at its own host path, so that the paths an agent names stay the host's. A path
 * that does not exist is returned as skipped. Sorted by target, so an ancestor always comes before what is inside it.
 *
 * The merge with an operator's mounts: `additive` lays them beside the surface, which wins a target both name, so an
 * operator's line can neither demote nor replace it; `exclusive` drops them. What is dropped is returned, and any other
 * mode is refused: a misspelt `exclusive` must not become `additive`.
 */
import type { Mount, MountOption } from './mount.js';
import { type Surface, surfaceEntries } from './surface.js';
import { quoted, refuse } from './syntax.js';

/** Recursive, since a person's home may itself be of several file systems; devices and setuid bits are never needed. */
export const surfaceMountOptions: readonly MountOption[] = Object.freeze(['rbind', 'nosuid', 'nodev'] as const);

const surfaceModes = Object.freeze(['additive', 'exclusive'] as const);
export type SurfaceMode = (typeof surfaceModes)[number];

export interface SurfaceMounts {
  readonly mounts: readonly Mount[];
  readonly skipped: readonly string[];
}

export interface DroppedMount {
  readonly mount: Mount;
  readonly reason: string;
}

export interface MergedMounts {
  readonly mounts: readonly Mount[];
  readonly dropped: readonly DroppedMount[];
}

export function parseSurfaceMode(text: string): SurfaceMode {
  const mode = surfaceModes.find((word) => word === text);
  return mode ?? refuse('surface_mode', `expected one of ${surfaceModes.join(', ')}, got ${quoted(text)}`);
}

function sortedByTarget(mounts: readonly Mount[]): readonly Mount[] {
  return Object.freeze([...mounts].sort((a, b) => (a.target < b.target ? -1 : 1)));
}

export function surfaceMounts(surface: Surface, pathExists: (path: string) => boolean): SurfaceMounts {
  const skipped: string[] = [];
  const mounts: Mount[] = [];
  for (const { path, access } of surfaceEntries(surface)) {
    if (!pathExists(path)) skipped.push(path);
    else {
      const mode = access === 'write' ? 'rw' : 'ro';
      // Not by way of the text format, which has no word for a path with a newline: a project may have one.
      mounts.push(Object.freeze({ source: path, target: path, mode, options: surfaceMountOptions }));
    }
  }
  return Object.freeze({ mounts: sortedByTarget(mounts), skipped: Object.freeze(skipped) });
}

export function mergeMounts(surface: readonly Mount[], operator: readonly Mount[], mode: SurfaceMode): MergedMounts {
  const checkedMode = parseSurfaceMode(mode);
  const taken = new Map(surface.map((mount) => [mount.target, mount.mode]));
  const kept: Mount[] = [];
  const dropped: DroppedMount[] = [];
  for (const mount of operator) {
    const held = taken.get(mount.target);
    if (checkedMode === 'exclusive') dropped.push(Object.freeze({ mount, reason: 'surface_mode is exclusive' }));
    else if (held !== undefined) {
      dropped.push(Object.freeze({ mount, reason: `the surface already holds this target as ${held}` }));
    } else kept.push(mount);
  }
  return Object.freeze({ mounts: sortedByTarget([...surface, ...kept]), dropped: Object.freeze(dropped) });
}
