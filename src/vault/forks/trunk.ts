/**
 * The trunk: the person's directories as layers that all forks share at their bottom. What the person edits becomes a layer
 * on top of the trunk, once, whichever fork saw it first; each fork moves onto the newer trunk when it is next used (`adopt`).
 */
import { renameSync } from 'node:fs';
import { writeFileAtomic } from '../../base/atomic-file.js';
import { currentBoot } from '../../base/boot.js';
import { makeLastDirectory } from '../../base/make-directory.js';
import type { Stack } from '../store/fork-meta.js';
import { makeLayer, treesOf } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import { withVaultLock } from '../store/locks.js';
import { discard } from '../store/trash.js';
import { lookAtRoot } from '../store/trunk-look.js';
import type { TrunkStep } from '../store/trunk-steps.js';
import { refuseEdits } from '../store/vault-limits.js';
import { readVaultMeta, type VaultMeta, writeVaultMeta } from '../store/vault-meta.js';
import { isHalfMade } from '../tree/beside-names.js';
import type { KnownTrees, Problem } from '../tree/tree.js';
import type { OpenFork, VaultAccess } from '../vault.js';

/** Paths by root, each relative to its root; one that ends with a slash is a whole tree. */
export type RootPaths = ReadonlyMap<string, readonly string[]>;

export function pathCount(paths: RootPaths): number {
  return [...paths.values()].reduce((sum, list) => sum + list.length, 0);
}

/** What the roots changed since they were last looked at; a root that the fork's request looked at is not scanned again. */
export async function lookAtRoots(
  fork: OpenFork,
  roots: readonly string[],
  known?: RootPaths,
  written: (key: string) => KnownTrees | undefined = () => undefined,
): Promise<RootPaths> {
  const looks = roots.map(async (key) => {
    const path = fork.vault.roots[key];
    const found = known?.get(key);
    if (path === undefined || found !== undefined) return [key, found ?? []] as const;
    const look = { access: fork, key, path, into: fork.place.scanned(key), known: written(key) };
    const drift = await lookAtRoot(look);
    return [key, drift.map((each) => each.path)] as const;
  });
  return new Map(await Promise.all(looks));
}

interface Differing {
  readonly edits: readonly string[];
  /** Those of the edits of which only the time is another. */
  readonly touched: readonly string[];
}

/** Paths at which a root is not what the trunk shows; those of which that is known are not looked at. */
async function differing(
  access: VaultAccess,
  vault: VaultMeta,
  key: string,
  paths: readonly string[],
  isKnown: (path: string) => boolean = () => false,
): Promise<Differing> {
  const root = vault.roots[key];
  const open = paths.filter((path) => !isKnown(path));
  if (open.length === 0 || root === undefined) return { edits: root === undefined ? [] : paths, touched: [] };
  const layers = treesOf(access.paths, vault.trunk, key);
  const compared = await access.tree.compare({ layers, root, shift: access.owner.shift, paths: open, times: true });
  return {
    edits: paths.filter((path) => compared.get(path) !== 'same'),
    touched: paths.filter((path) => compared.get(path) === 'touched'),
  };
}

export interface Advance {
  readonly vault: VaultMeta;
  readonly problems: readonly Problem[];
}

/** A layer becomes the trunk's topmost. `entered` are the paths at which it changes what a fork may have built on. */
export function extendTrunk(
  access: VaultAccess,
  vault: VaultMeta,
  layers: readonly string[],
  entered: RootPaths,
  more: {
    readonly by?: string | undefined;
    readonly roots?: VaultMeta['roots'];
    readonly known?: VaultMeta['known'];
    readonly touched?: RootPaths | undefined;
  } = {},
): VaultMeta {
  const position = vault.position + 1;
  const step: TrunkStep = {
    ...(more.by === undefined ? {} : { by: more.by }),
    paths: Object.fromEntries(entered),
    ...(more.touched === undefined || more.touched.size === 0 ? {} : { touched: Object.fromEntries(more.touched) }),
  };
  const text = `${JSON.stringify(step)}\n`;
  makeLastDirectory(access.paths.allEdits);
  writeFileAtomic(access.paths.edits(position), text, { durable: false });
  const after: VaultMeta = {
    ...vault,
    roots: more.roots ?? vault.roots,
    known: more.known ?? vault.known,
    trunk: [...vault.trunk, ...layers],
    position,
    boot: currentBoot(),
  };
  writeVaultMeta(access.paths.meta, after);
  return after;
}

/**
 * As enteredWith, from the layers themselves: where a record is lost it must not hide a clash. What the fork itself applied
 * may be among it; at paths where both have the same that makes no difference.
 */
export async function enteredByLayers(access: VaultAccess, vault: VaultMeta, stack: Stack): Promise<RootPaths> {
  const { paths, tree } = access;
  const entered = new Map<string, readonly string[]>();
  for (const key of Object.keys(vault.roots)) {
    const shown = vault.uncopied === true && key === workspaceRoot;
    const lowers = shown ? [] : treesOf(paths, stack.base, key);
    const uppers = treesOf(paths, shown ? stack.deltas : vault.trunk, key);
    if (uppers.length === 0) continue;
    // Of a directory that is not copied nothing earlier is known: whatever the fork changed may have been edited.
    const changes = await tree.diff({ uppers, lowers, whole: !shown });
    entered.set(
      key,
      changes.map(({ path }) => path),
    );
  }
  return entered;
}

type Steps = readonly (TrunkStep | undefined)[];

function pathsOfSteps(steps: Steps, pathsOf: (step: TrunkStep) => TrunkStep['paths'] | undefined): RootPaths {
  const entered = new Map<string, Set<string>>();
  for (const step of steps) {
    for (const [root, paths] of step === undefined ? [] : Object.entries(pathsOf(step) ?? {})) {
      const known = entered.get(root) ?? new Set();
      for (const path of paths) known.add(path);
      entered.set(root, known);
    }
  }
  return new Map([...entered].map(([root, paths]) => [root, [...paths]]));
}

/** What entered the trunk with these steps. What the fork itself applied is no news to it. */
export function enteredWith(steps: Steps, fork: string): RootPaths {
  return pathsOfSteps(steps, ({ by, paths }) => (by === fork ? undefined : paths));
}

/** What was only touched by these steps. */
export function touchedWith(steps: Steps, fork: string): RootPaths {
  return pathsOfSteps(steps, ({ by, touched }) => (by === fork ? undefined : touched));
}

/** What the fork itself applied with these steps. */
export function appliedWith(steps: Steps, fork: string): RootPaths {
  return pathsOfSteps(steps, ({ by, paths }) => (by === fork ? paths : undefined));
}

export interface Taking {
  /** The fork that wrote it; undefined: the person. */
  readonly by?: string | undefined;
  /** By root, layers that show what is in the whole trees among the paths. */
  readonly shown?: ((key: string) => readonly string[]) | undefined;
  /** Paths that are known to be something else than the trunk has. */
  readonly isKnown?: ((key: string, path: string) => boolean) | undefined;
  /** Before the layer is named: refuses it. */
  readonly check?: ((vault: VaultMeta, layer: string) => Promise<void>) | undefined;
}

/**
 * Takes over what the person edited at `looked`, with the vault's lock held. Signatures become the vault's own after the
 * layer is named: signatures that are newer than the layers would hide the edits for good.
 */
export async function takeEdits(
  fork: OpenFork,
  looked: RootPaths,
  { by, isKnown, shown: shownBy, check }: Taking = {},
): Promise<Advance> {
  const { paths, tree, owner } = fork;
  const vault = readVaultMeta(paths.meta) ?? fork.vault;
  const entered = new Map<string, readonly string[]>();
  const onlyTouched = new Map<string, readonly string[]>();
  const problems: Problem[] = [];
  let layer: string | undefined;
  for (const [key, found] of looked) {
    const root = vault.roots[key];
    const list = found.filter((path) => !isHalfMade(path));
    // What is not copied shows its edits already: they are only written down.
    const shown = vault.uncopied === true && key === workspaceRoot;
    const isOther = isKnown === undefined ? undefined : (path: string) => isKnown(key, path);
    const { edits, touched } = shown ? { edits: list, touched: [] } : await differing(fork, vault, key, list, isOther);
    if (edits.length === 0 || root === undefined) continue;
    const times = new Set(touched);
    if (times.size > 0) onlyTouched.set(key, touched);
    if (times.size < edits.length)
      entered.set(key, times.size === 0 ? edits : edits.filter((path) => !times.has(path)));
    if (shown) continue;
    layer ??= makeLayer(paths, { trunk: true });
    const layers = treesOf(paths, vault.trunk, key);
    const into = paths.tree(layer, key);
    const shift = owner.shift;
    const mirrored = await tree.mirror({ root, into, layers, shift, paths: edits, shown: shownBy?.(key) });
    for (const problem of mirrored) problems.push(problem);
  }
  if (layer !== undefined) await check?.(vault, layer);
  const layers = layer === undefined ? [] : [layer];
  const same = entered.size === 0 && onlyTouched.size === 0;
  const after = same ? vault : extendTrunk(fork, vault, layers, entered, { by, touched: onlyTouched });
  return { vault: after, problems };
}

/** The trunk as of now: takes over the edits of the roots, if there are any. */
export async function advanceTrunk(fork: OpenFork, looked: RootPaths): Promise<Advance> {
  if (pathCount(looked) === 0) return { vault: readVaultMeta(fork.paths.meta) ?? fork.vault, problems: [] };
  return withVaultLock(fork.tree, fork.paths.lock, 'taking over edits', async () => {
    const check = async (vault: VaultMeta, layer: string) => {
      try {
        await refuseEdits(fork, vault, layer);
      } catch (error) {
        await discard(fork.store, fork.tree, [fork.paths.layer(layer)]);
        throw error;
      }
    };
    const advance = await takeEdits(fork, looked, { check });
    // A look that found nothing in a root need not have written its signatures (`look-ahead`).
    adoptScans(fork, new Map([...looked].filter(([, paths]) => paths.length > 0)));
    return advance;
  });
}

/** The signatures of a scan that was acted on become the vault's. */
export function adoptScans({ paths, place }: OpenFork, looked: RootPaths): void {
  if (looked.size > 0) makeLastDirectory(paths.scans);
  for (const key of looked.keys()) renameSync(place.scanned(key), paths.scan(key));
}
