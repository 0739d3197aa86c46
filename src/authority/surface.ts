/**
 * The Surface: which host paths one subject may read and write. Entries are canonical host paths; each names itself and
 * everything inside it. **The most specific entry decides**, as it does in the jail, where deeper mounts cover
 * shallower ones: `.ctx/` stays read-only inside a writable cwd, and a writable directory inside a readable one is
 * writable. Where the same path is listed both ways, write wins: the operator opted in.
 *
 * `hidden` is absolute: nothing at or inside a hidden path is ever reached, whatever else is granted above or below it.
 * The store, keys, record and operator socket are there.
 */
import { contains, isNormalPath, normalPathRule } from './absolute-path.js';
import { sortedUnique } from './frozen.js';
import { quoted, refuse } from './syntax.js';

export type Access = 'none' | 'read' | 'write';

export interface Surface {
  /** Read-write: the working directory. */
  readonly cwd: string;
  /** Read-write: what an operator added for this task or agent. */
  readonly additionalWrites: readonly string[];
  /** Read-only: the other repositories of the workspace. */
  readonly siblingReads: readonly string[];
  /** Read-only: the workspace's `.ctx/`. */
  readonly workspaceMetadata: readonly string[];
  /** Read-only: configuration and caches that tools read. */
  readonly toolingPaths: readonly string[];
  /** Read-only: what an operator added for this task or agent. */
  readonly additionalReads: readonly string[];
  /** Read-only: the system profile. */
  readonly systemReads: readonly string[];
  /** Never reached. */
  readonly hidden: readonly string[];
}

const writeFields = ['cwd', 'additionalWrites'] as const;
const readFields = ['siblingReads', 'workspaceMetadata', 'toolingPaths', 'additionalReads', 'systemReads'] as const;
const listFields = ['additionalWrites', ...readFields, 'hidden'] as const;

export type SurfaceField = (typeof writeFields)[number] | (typeof readFields)[number];

export interface SurfaceEntry {
  readonly path: string;
  readonly access: 'read' | 'write';
  readonly field: SurfaceField;
}

export type SurfaceParts = Pick<Surface, 'cwd'> & {
  readonly [Field in (typeof listFields)[number]]?: readonly string[];
};

/** Checked, sorted, each path once, frozen. A writable `/` is refused: it would make every other line meaningless. */
export function makeSurface(parts: SurfaceParts): Surface {
  const checked = (field: string, path: string): string =>
    isNormalPath(path) ? path : refuse('surface', `${field}: expected ${normalPathRule}, got ${quoted(path)}`);
  const list = (field: (typeof listFields)[number]) =>
    sortedUnique((parts[field] ?? []).map((path) => checked(field, path)));
  const surface: Surface = Object.freeze({
    cwd: checked('cwd', parts.cwd),
    additionalWrites: list('additionalWrites'),
    siblingReads: list('siblingReads'),
    workspaceMetadata: list('workspaceMetadata'),
    toolingPaths: list('toolingPaths'),
    additionalReads: list('additionalReads'),
    systemReads: list('systemReads'),
    hidden: list('hidden'),
  });
  if ([surface.cwd, ...surface.additionalWrites].includes('/'))
    refuse('surface', 'expected a writable directory below /, got / itself');
  return surface;
}

/** One entry a path, sorted by path, with the field that decided it. */
export function surfaceEntries(surface: Surface): readonly SurfaceEntry[] {
  const entries = new Map<string, SurfaceEntry>();
  const add = (path: string, access: 'read' | 'write', field: SurfaceField) => {
    if (!entries.has(path)) entries.set(path, Object.freeze({ path, access, field }));
  };
  add(surface.cwd, 'write', 'cwd');
  for (const path of surface.additionalWrites) add(path, 'write', 'additionalWrites');
  for (const field of readFields) for (const path of surface[field]) add(path, 'read', field);
  return [...entries.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The entry that decides for `path`, where one does. */
export function decidingEntry(surface: Surface, path: string): SurfaceEntry | undefined {
  let deciding: SurfaceEntry | undefined;
  for (const entry of surfaceEntries(surface)) {
    if (contains(entry.path, path) && entry.path.length >= (deciding?.path.length ?? 0)) deciding = entry;
  }
  return deciding;
}

/** `path` must be resolved by the caller; one that is not even normal is answered with none. */
export function accessTo(surface: Surface, path: string): Access {
  if (!isNormalPath(path) || surface.hidden.some((hidden) => contains(hidden, path))) return 'none';
  return decidingEntry(surface, path)?.access ?? 'none';
}
