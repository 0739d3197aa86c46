/**
 * A child's mounts, derived from what its parent sees. A requested source is a path of the parent's **view**; it is
 * mapped through the parent's deepest mount over it, and every mount the parent has inside it comes along at the same
 * place: a bind of an ancestor alone would show what those mounts cover. Modes go from rw to ro only; restricting
 * options are kept; whether a bind is recursive is the parent's choice, since either change could uncover something.
 *
 * A tree of the parent's comes as a whole: no text names a part of one. A path of the objects (`/ctx/...`) is one of the child's own
 * view, which its policy decides about, and that is within its parent's.
 */
import { rebase } from './absolute-path.js';
import type { Excess } from './excess.js';
import { type Mount, type MountMode, type MountOption, orderedOptions } from './mount.js';
import { surfaceMountOptions } from './surface-mounts.js';
import type { View, ViewEntry } from './view.js';

export interface DerivedView {
  /** Beyond what the child's surface already says. */
  readonly mounts: readonly Mount[];
  readonly hidden: readonly string[];
  readonly excesses: readonly Excess[];
}

const isRecursion = (option: MountOption): boolean => option === 'bind' || option === 'rbind';

function keptOptions(parent: readonly MountOption[], child: readonly MountOption[]): readonly MountOption[] {
  return orderedOptions([...parent, ...child.filter((option) => !isRecursion(option))]);
}

const modeOf = (access: 'read' | 'write'): MountMode => (access === 'write' ? 'rw' : 'ro');

/** True where the surface entry alone, a plain mount of the path at itself, says the same. */
function isSaidBySurface(entry: ViewEntry, mount: Mount): boolean {
  return (
    entry.origin !== 'mounts' &&
    mount.source === mount.target &&
    mount.mode === modeOf(entry.access) &&
    mount.options.join() === surfaceMountOptions.join()
  );
}

function deriveEntry(
  parent: View,
  requested: View,
  entry: ViewEntry,
  isGranted: (excess: Excess) => boolean,
): { readonly mounts: readonly Mount[]; readonly excess?: Excess } {
  const { source, target, access } = entry;
  const mode = modeOf(access);
  if (entry.of === 'objects') return { mounts: [{ source, target, mode, options: entry.options }] };
  const located = parent.locate(source);
  if (located === undefined) {
    const excess: Excess = { kind: 'hidden path', source, target, mode, host: source };
    // The supervisor named a host path: it is mounted as such. What is hidden stays hidden all the same.
    return { mounts: isGranted(excess) ? [{ source, target, mode, options: entry.options }] : [], excess };
  }
  if (located.entry.of === 'tree' && located.entry.target !== source) {
    return { mounts: [], excess: { kind: 'part of a tree', source, tree: located.entry.target } };
  }
  const excess: Excess | undefined =
    access === 'write' && located.entry.access === 'read'
      ? { kind: 'read-only path', source, target, host: located.host }
      : undefined;
  const top: Mount = {
    source: located.host,
    target,
    mode: excess !== undefined && !isGranted(excess) ? 'ro' : mode,
    options: keptOptions(located.entry.options, entry.options),
  };
  const mounts: Mount[] = isSaidBySurface(entry, top) ? [] : [top];
  for (const nested of parent.beneath(source)) {
    const at = rebase(nested.target, source, target);
    // Where the child asked for something else at or above this place, that is what is there.
    if (requested.covering(at) !== entry) continue;
    mounts.push({
      source: nested.source,
      target: at,
      mode: access === 'write' && nested.access === 'write' ? 'rw' : 'ro',
      options: keptOptions(nested.options, entry.options),
    });
  }
  return { mounts, ...(excess === undefined ? {} : { excess }) };
}

/** `requested` has paths of the parent's view as its sources. */
export function deriveView(parent: View, requested: View, isGranted: (excess: Excess) => boolean): DerivedView {
  const mounts: Mount[] = [];
  const excesses: Excess[] = [];
  for (const entry of requested.entries) {
    const derived = deriveEntry(parent, requested, entry, isGranted);
    for (const mount of derived.mounts) mounts.push(mount);
    if (derived.excess !== undefined) excesses.push(derived.excess);
  }
  const hidden = requested.hidden.flatMap((path) => {
    const located = parent.locate(path);
    const inside = parent.beneath(path).filter(({ of }) => of === 'host');
    const own = located === undefined ? [path] : located.entry.of === 'host' ? [located.host] : [];
    return [...own, ...inside.map((nested) => nested.source)];
  });
  return { mounts, hidden: [...parent.hidden, ...hidden], excesses };
}
