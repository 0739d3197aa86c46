/**
 * The authority again, written apart and the slow way, to compare with: paths are arrays, sets are lists, and
 * everything is found by looking at all of it.
 */
import type { Mount } from '../../src/authority/mount.js';
import type { Surface } from '../../src/authority/surface.js';

export interface NaiveEntry {
  readonly target: string;
  readonly source: string;
  readonly writable: boolean;
}

const parts = (path: string): string[] => path.split('/').filter((part) => part !== '');
const startsWith = (path: string[], start: string[]): boolean => start.every((part, index) => path[index] === part);

/** Reads first, writes after, mounts last: at one target the last one counts. */
export function naiveEntries(surface: Surface, mounts: readonly Mount[]): NaiveEntry[] {
  const reads = [
    ...surface.siblingReads,
    ...surface.workspaceMetadata,
    ...surface.toolingPaths,
    ...surface.additionalReads,
    ...surface.systemReads,
  ];
  return [
    ...reads.map((path) => ({ target: path, source: path, writable: false })),
    ...[surface.cwd, ...surface.additionalWrites].map((path) => ({ target: path, source: path, writable: true })),
    ...mounts.map((mount) => ({ target: mount.target, source: mount.source, writable: mount.mode === 'rw' })),
  ];
}

export interface Seen {
  readonly host: string;
  readonly writable: boolean;
}

export function naiveLook(entries: readonly NaiveEntry[], hidden: readonly string[], path: string): Seen | undefined {
  let best: NaiveEntry | undefined;
  for (const entry of entries) {
    const deeper = best === undefined || parts(entry.target).length >= parts(best.target).length;
    if (startsWith(parts(path), parts(entry.target)) && deeper) best = entry;
  }
  if (best === undefined) return undefined;
  const host = [...parts(best.source), ...parts(path).slice(parts(best.target).length)];
  if (hidden.some((each) => startsWith(host, parts(each)))) return undefined;
  return { host: `/${host.join('/')}`, writable: best.writable };
}

/** Every path of up to `depth` components from `names`. */
export function universe(names: readonly string[], depth: number): string[] {
  let level = [''];
  const all = ['/'];
  for (let each = 0; each < depth; each += 1) {
    level = level.flatMap((path) => names.map((name) => `${path}/${name}`));
    all.push(...level);
  }
  return all;
}
