/** Whether a vault is whole. Only reads, and repairs nothing (`repair`): what it finds, it says. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { readWholeJson } from '../../base/atomic-file.js';
import { ErrnoError, hasCode } from '../../base/errno.js';
import { stepsFile } from '../store/applied-steps.js';
import { type ForkMeta, forkVersions, isSuspect, layersNamedBy, readForkMeta } from '../store/fork-meta.js';
import { layerDigest } from '../store/layer-digest.js';
import { makerOf, rootsOf } from '../store/layer-pool.js';
import { choose, keptDigest } from '../store/recover.js';
import { readVersions } from '../store/state-file.js';
import { lostSteps } from '../store/trunk-steps.js';
import type { VaultAccess } from '../store/vault-access.js';
import { isForkName, readVaultMeta, type VaultMeta } from '../store/vault-meta.js';

export interface VaultFault {
  /** What is wrong: something that is named and missing, or cannot be read. */
  readonly what: string;
  readonly where: string;
}

function checked<T>(where: string, faults: VaultFault[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    faults.push({ what: error.reason, where });
    return undefined;
  }
}

function missingLayers({ paths }: VaultAccess, layers: readonly string[], what: string): VaultFault[] {
  return layers
    .filter((name) => !existsSync(paths.layer(name)))
    .map((name) => ({ what: `${what} names a layer that is missing`, where: paths.layer(name) }));
}

/** A frozen layer without any tree holds nothing: something took it away. */
function emptyLayers({ paths }: VaultAccess, layers: readonly string[], what: string): VaultFault[] {
  return layers
    .filter((name) => existsSync(paths.layer(name)) && rootsOf(paths, name).length === 0)
    .map((name) => ({ what: `${what} names a layer that holds no tree`, where: paths.layer(name) }));
}

function forkFaults(access: VaultAccess, name: string, meta: ForkMeta, vault: VaultMeta): VaultFault[] {
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
    ...(ahead ? [{ what: `${what} needs a trunk that is newer than the vault's`, where: access.paths.meta }] : []),
    ...(doubled
      ? [{ what: `${what} has two checkpoints with the same number`, where: access.paths.fork(name).directory }]
      : []),
    ...(shared ? [{ what: `${what} writes into a layer that is frozen`, where: access.paths.layer(meta.live) }] : []),
  ];
}

/** What a power cut leaves: state files that are empty or cut short, and states whose layers are. */
async function cutFaults(access: VaultAccess, name: string): Promise<VaultFault[]> {
  const { directory } = access.paths.fork(name);
  const faults: VaultFault[] = readVersions(directory).damaged.map((where) => ({
    what: `a state of fork ${name} is damaged`,
    where,
  }));
  if (!isSuspect(directory)) return faults;
  const versions = forkVersions(directory);
  const { chosen } = await choose(access, versions);
  if (chosen !== versions[0]) {
    faults.push({ what: `fork ${name} was not synced before the machine stopped, and is damaged`, where: directory });
  }
  return faults;
}

/** Frozen layers that are not what they were: a copy that lost attributes shows here, opaque marks are part of a digest. */
async function digestFaults(access: VaultAccess, forks: ReadonlyMap<string, ForkMeta>): Promise<VaultFault[]> {
  const metas = [...forks.values()];
  const others = new Set(
    metas.flatMap((meta) => [meta.live, ...[meta, ...meta.checkpoints].flatMap(({ base }) => base)]),
  );
  const frozen = new Set(metas.flatMap((meta) => [...layersNamedBy(meta)]).filter((layer) => !others.has(layer)));
  const faults: VaultFault[] = [];
  for (const layer of frozen) {
    const kept = existsSync(access.paths.layer(layer)) ? keptDigest(access, layer) : undefined;
    if (kept === undefined || (await layerDigest(access, layer, 0)) === kept) continue;
    const where = access.paths.layer(layer);
    faults.push({ what: 'a frozen layer has changed: its digest differs', where });
  }
  return faults;
}

/** Lists of what an apply wrote, without which it cannot be undone. */
function applyFaults({ paths }: VaultAccess, name: string, meta: ForkMeta): VaultFault[] {
  return (meta.applied ?? [])
    .map((layer) => stepsFile(paths.layer(layer)))
    .filter((file) => existsSync(file) && readWholeJson(file) === undefined)
    .map((where) => ({ what: `an apply of fork ${name} cannot be undone: its list is damaged`, where }));
}

function stepFaults(access: VaultAccess, forks: ReadonlyMap<string, ForkMeta>, vault: VaultMeta): VaultFault[] {
  const oldest = Math.min(vault.position, ...[...forks.values()].map(({ position }) => position));
  return lostSteps(access, vault, oldest)
    .map((position) => access.paths.edits(position))
    .filter((file) => readWholeJson(file) === undefined)
    .map((where) => ({ what: 'a list of your edits is damaged or missing', where }));
}

/** No fork writes into a layer that another one names. */
function liveFaults(access: VaultAccess, forks: ReadonlyMap<string, ForkMeta>): VaultFault[] {
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

async function foundIn(access: VaultAccess): Promise<readonly VaultFault[]> {
  const { paths } = access;
  const faults: VaultFault[] = [];
  const vault = checked(paths.meta, faults, () => readVaultMeta(paths.meta));
  if (existsSync(paths.meta) && readWholeJson(paths.meta) === undefined && vault !== undefined)
    faults.push({ what: 'the newest state of the vault is damaged', where: paths.meta });
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
  for (const [name, meta] of forks) {
    faults.push(...forkFaults(access, name, meta, vault), ...applyFaults(access, name, meta));
    faults.push(...(await cutFaults(access, name)));
  }
  faults.push(...stepFaults(access, forks, vault));
  faults.push(...liveFaults(access, forks));
  faults.push(...(await digestFaults(access, forks)));
  for (const name of existsSync(paths.layers) ? readdirSync(paths.layers) : []) {
    const strange =
      checked(paths.layer(name), faults, () => makerOf(paths, name)) === undefined && rootsOf(paths, name).length > 0;
    if (strange) faults.push({ what: 'a layer that belongs to no fork', where: paths.layer(name) });
  }
  return faults;
}

/** Looks while others write, so often at most; what the last one found counts. */
const mostLooks = 5;

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // what is wrong with it is found by the look
  }
}

/** Changes with each state that is written, and with each layer that goes. */
function writtenIn({ paths }: VaultAccess): string {
  const modified = statSync(paths.meta, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
  const forks = namesIn(paths.forks).map((name) => namesIn(paths.fork(name).directory).join('/'));
  return [modified, ...forks, ...namesIn(paths.layers)].join('\n');
}

/** No lock is taken: where a fault was found, and somebody has written meanwhile, it may be what they did. */
export async function inspectVault(access: VaultAccess): Promise<readonly VaultFault[]> {
  for (let look = 1; ; look += 1) {
    const written = writtenIn(access);
    const isSettled = () => look === mostLooks || writtenIn(access) === written;
    try {
      const faults = await foundIn(access);
      if (faults.length === 0 || isSettled()) return faults;
    } catch (error) {
      if (!hasCode(error, 'ENOENT') || isSettled()) throw error;
    }
  }
}
