/** Whether a vault is whole. Only reads, and repairs nothing: what it finds, it says. */
import { existsSync, readdirSync } from 'node:fs';
import { ErrnoError } from '../base/errno.js';
import { type ForkMeta, readForkMeta } from './fork-meta.js';
import { makerOf, rootsOf } from './layer-pool.js';
import type { VaultAccess } from './vault-access.js';
import { isForkName, readVaultMeta, type VaultMeta } from './vault-meta.js';

export interface Fault {
  /** What is wrong: something that is named and missing, or cannot be read. */
  readonly what: string;
  readonly where: string;
}

function checked<T>(where: string, faults: Fault[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    faults.push({ what: error.reason, where });
    return undefined;
  }
}

function missingLayers({ paths }: VaultAccess, layers: readonly string[], what: string): Fault[] {
  return layers
    .filter((name) => !existsSync(paths.layer(name)))
    .map((name) => ({ what: `${what} names a layer that is missing`, where: paths.layer(name) }));
}

/** A frozen layer without any tree holds nothing: something took it away. */
function emptyLayers({ paths }: VaultAccess, layers: readonly string[], what: string): Fault[] {
  return layers
    .filter((name) => existsSync(paths.layer(name)) && rootsOf(paths, name).length === 0)
    .map((name) => ({ what: `${what} names a layer that holds no tree`, where: paths.layer(name) }));
}

function forkFaults(access: VaultAccess, name: string, meta: ForkMeta, vault: VaultMeta): Fault[] {
  const what = `fork ${name}`;
  const frozen = [...meta.base, ...meta.deltas, ...(meta.applied ?? [])];
  const moments = meta.checkpoints.flatMap((each) => {
    const moment = `checkpoint ${each.id} of ${what}`;
    const layers = [...each.base, ...each.deltas];
    return [...missingLayers(access, layers, moment), ...emptyLayers(access, layers, moment)];
  });
  const ahead = [meta, ...meta.checkpoints].some(({ position }) => position > vault.position);
  const ids = meta.checkpoints.map(({ id }) => id);
  const doubled = new Set(ids).size !== ids.length || ids.some((id) => id >= meta.nextCheckpoint);
  const shared = frozen.includes(meta.live) || meta.checkpoints.some(({ deltas }) => deltas.includes(meta.live));
  return [
    ...missingLayers(access, [...frozen, meta.live], what),
    ...emptyLayers(access, frozen, what),
    ...moments,
    ...(ahead ? [{ what: `${what} stands on a trunk that is newer than the vault's`, where: access.paths.meta }] : []),
    ...(doubled
      ? [{ what: `${what} has two checkpoints of one number`, where: access.paths.fork(name).directory }]
      : []),
    ...(shared ? [{ what: `${what} writes into a layer that is frozen`, where: access.paths.layer(meta.live) }] : []),
  ];
}

/** No fork writes into a layer that another one names. */
function liveFaults(access: VaultAccess, forks: ReadonlyMap<string, ForkMeta>): Fault[] {
  return [...forks].flatMap(([name, { live }]) =>
    [...forks]
      .filter(([other, meta]) => {
        const stacks = [meta, ...meta.checkpoints].flatMap(({ base, deltas }) => [...base, ...deltas]);
        return other !== name && (meta.live === live || stacks.includes(live));
      })
      .map(([other]) => ({
        what: `fork ${name} writes into a layer of fork ${other}`,
        where: access.paths.layer(live),
      })),
  );
}

export function inspectVault(access: VaultAccess): readonly Fault[] {
  const { paths } = access;
  const faults: Fault[] = [];
  const vault = checked(paths.meta, faults, () => readVaultMeta(paths.meta));
  if (vault === undefined) return faults;
  faults.push(...missingLayers(access, vault.trunk, 'the trunk'), ...emptyLayers(access, vault.trunk, 'the trunk'));
  const forks = new Map<string, ForkMeta>();
  for (const name of existsSync(paths.forks) ? readdirSync(paths.forks) : []) {
    const place = paths.fork(name).directory;
    const meta = checked(place, faults, () => readForkMeta(place));
    if (!isForkName(name)) faults.push({ what: 'expected a fork’s name', where: place });
    else if (meta !== undefined) forks.set(name, meta);
  }
  if (!forks.has(vault.current))
    faults.push({ what: `the fork in use, ${vault.current}, is missing`, where: paths.forks });
  for (const [name, meta] of forks) faults.push(...forkFaults(access, name, meta, vault));
  faults.push(...liveFaults(access, forks));
  for (const name of existsSync(paths.layers) ? readdirSync(paths.layers) : []) {
    const strange =
      checked(paths.layer(name), faults, () => makerOf(paths, name)) === undefined && rootsOf(paths, name).length > 0;
    if (strange) faults.push({ what: 'a layer that nobody made', where: paths.layer(name) });
  }
  return faults;
}
