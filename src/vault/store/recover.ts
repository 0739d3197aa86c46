/**
 * After the machine stopped: what was synced is whole, what came later may be on the disk, empty, or not there. A fork goes on
 * with its newest state of which everything is provably whole (a layer's digest was kept beside it when its command ended);
 * else with the last one that was synced. What is later and still there stays as a checkpoint that is skipped by a plain
 * rollback; what is gone is said. The trunk is the person's directory, so it is not believed but compared again, file by file.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { currentBoot } from '../../base/boot.js';
import { ErrnoError } from '../../base/errno.js';
import {
  type Checkpoint,
  type ForkMeta,
  type ForkVersion,
  forkVersions,
  layersNamedBy,
  writeForkMeta,
} from './fork-meta.js';
import { layerDigest } from './layer-digest.js';
import { makeLayer, rootsOf } from './layer-pool.js';
import type { ForkPaths } from './layout.js';
import { withVaultLock } from './locks.js';
import { writeUnknownStep } from './trunk-steps.js';
import type { VaultAccess } from './vault-access.js';
import { isForkName, isSuspectVault, readVaultMeta, type VaultMeta, writeVaultMeta } from './vault-meta.js';

type Proof = 'whole' | 'likely whole' | 'damaged';

/** Of a layer that no command writes any more; undefined where none was kept. */
export function keptDigest({ paths }: VaultAccess, layer: string): string | undefined {
  const path = paths.tree(layer, 'digest');
  const text = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
  return /^[0-9a-f]{64}$/.test(text) ? text : undefined;
}

/**
 * Without a digest: a file that a cut has emptied cannot be distinguished from one that is empty, so there must be
 * none.
 */
async function proofOf(access: VaultAccess, layer: string): Promise<Proof> {
  const { paths, tree } = access;
  if (!existsSync(paths.layer(layer))) return 'damaged';
  const digest = keptDigest(access, layer);
  if (digest !== undefined) return (await layerDigest(access, layer, 0)) === digest ? 'whole' : 'damaged';
  for (const root of rootsOf(paths, layer)) {
    const entries = await tree.diff({ uppers: [paths.tree(layer, root)], lowers: [], tellsUnlisted: true });
    if (entries.some(({ type, size, unlisted }) => (type === 'file' && size === 0) || unlisted !== undefined))
      return 'damaged';
    if (entries.length > 0) return 'likely whole';
  }
  return 'whole';
}

export async function proofOfState(access: VaultAccess, meta: ForkMeta, known: ReadonlySet<string>): Promise<Proof> {
  const base = new Set([meta, ...meta.checkpoints].flatMap((each) => each.base));
  let worst: Proof = 'whole';
  for (const layer of layersNamedBy(meta)) {
    // The trunk's are compared with the person's directory.
    if (known.has(layer) || base.has(layer)) continue;
    const proof = await proofOf(access, layer);
    if (proof === 'damaged') return proof;
    if (proof === 'likely whole') worst = proof;
  }
  return worst;
}

const isThere = ({ paths }: VaultAccess, layers: readonly string[]) =>
  layers.every((layer) => existsSync(paths.layer(layer)));

/** The state without what it names and the disk has not. */
function without(access: VaultAccess, meta: ForkMeta): ForkMeta {
  const checkpoints = meta.checkpoints.filter(({ deltas }) => isThere(access, deltas));
  const applied = meta.applied?.filter((layer) => isThere(access, [layer]));
  return { ...meta, checkpoints, applied };
}

/** What is later than the state that was chosen, where the disk still has it, in whatever condition. */
function remains(access: VaultAccess, { value }: ForkVersion, id: number): Checkpoint | undefined {
  const { position, base, live, clashes } = value;
  const deltas = [...value.deltas, ...(rootsOf(access.paths, live).length > 0 ? [live] : [])];
  if (!isThere(access, deltas)) return undefined;
  const reason = 'what is left of the commands before the machine stopped; it may be incomplete';
  return {
    id,
    made: new Date().toISOString(),
    automatic: false,
    reason,
    undone: true,
    clashes,
    position,
    base,
    deltas,
  };
}

export interface Recovered {
  readonly meta: ForkMeta;
  readonly warnings: readonly string[];
}

const commandsSince = (meta: ForkMeta, later: ForkMeta) =>
  later.checkpoints.filter(({ id }) => id >= meta.nextCheckpoint).map(({ reason }) => reason.slice(0, 80));

/** What a verb would go on with, and whether all of it is there. */
export async function choose(access: VaultAccess, versions: readonly ForkVersion[]) {
  const synced = versions.find(({ boot }) => boot === undefined);
  const known = new Set(synced === undefined ? [] : layersNamedBy(synced.value));
  // It was synced while it was empty, and the next command wrote into it.
  if (synced !== undefined) known.delete(synced.value.live);
  for (const version of versions) {
    const trusted = version.boot === undefined || version.boot === currentBoot();
    const proof = trusted ? 'whole' : await proofOfState(access, version.value, known);
    if (proof !== 'damaged') return { chosen: version, proof };
  }
  return { chosen: versions.find(({ value }) => isThere(access, value.deltas)), proof: 'whole' as Proof };
}

/** The fork's lock is held. EIO where no version of its state is whole. */
export async function recoverFork(access: VaultAccess, name: string, place: ForkPaths): Promise<Recovered> {
  const versions = forkVersions(place.directory);
  const [newest] = versions;
  const { chosen, proof } = await choose(access, versions);
  if (newest === undefined || chosen === undefined) {
    throw new ErrnoError('EIO', {
      operation: 'open the fork',
      path: place.directory,
      reason: `the machine stopped, and no state of fork '${name}' is whole`,
      remedy: 'ctx fsck --repair or ctx drop starts it afresh; its layers are plain directories',
    });
  }
  const warnings: string[] = [];
  if (proof === 'likely whole') {
    warnings.push(
      `the machine stopped before fork '${name}' was synced; it looks whole, but not all of it can be checked`,
    );
  }
  let meta = without(access, chosen.value);
  const gone = chosen.value.checkpoints.length - meta.checkpoints.length;
  if (gone > 0) warnings.push(`${gone} checkpoints of fork '${name}' were lost when the machine stopped`);
  if (chosen !== newest) {
    const id = Math.max(meta.nextCheckpoint, newest.value.nextCheckpoint);
    const left = remains(access, newest, id);
    const lost = commandsSince(meta, newest.value);
    const what = lost.length === 0 ? 'later changes' : `${lost.length} later commands (${lost.slice(-3).join('; ')})`;
    const how = left === undefined ? 'are gone' : `were not synced: ctx rollback ${id} shows what is left of them`;
    warnings.push(`the machine stopped: fork '${name}' is back at its last synced state; ${what} ${how}`);
    const checkpoints = left === undefined ? meta.checkpoints : [...meta.checkpoints, left];
    meta = { ...meta, checkpoints, nextCheckpoint: id + 1 };
  } else if (newest.boot === undefined) {
    warnings.push(`the machine stopped: fork '${name}' is back at its last synced state; what came later is gone`);
  }
  // What was written into it after the sync is not to be distinguished from what was there.
  if (chosen.boot === undefined) meta = { ...meta, live: makeLayer(access.paths, { fork: name }) };
  await access.tree.sync(access.store.directory);
  writeForkMeta(place.directory, meta, { durable: true });
  return { meta, warnings };
}

/** Layers that the trunk names and the store has not. A directory that was never copied cannot be copied again. */
export function hasLostTrunk(access: VaultAccess, { trunk, uncopied }: VaultMeta): boolean {
  return uncopied !== true && !isThere(access, trunk);
}

/** Of directories that hold nothing: all that is in the person's is new to it, their modes and owners too. */
function emptyTrunk({ paths }: VaultAccess, { roots }: VaultMeta): string {
  const layer = makeLayer(paths, { trunk: true });
  for (const key of Object.keys(roots)) mkdirSync(paths.tree(layer, key), { mode: 0o700 });
  return layer;
}

/** The vault's lock is taken. Signatures may be newer than the layers: without them everything is looked at again. */
export function recoverVault(access: VaultAccess): Promise<VaultMeta | undefined> {
  const { paths, tree, store } = access;
  return withVaultLock(tree, paths.lock, 'recovering', async () => {
    const vault = readVaultMeta(paths.meta);
    if (vault === undefined || !(isSuspectVault(vault) || hasLostTrunk(access, vault))) return vault;
    for (const root of Object.keys(vault.roots)) rmSync(paths.scan(root), { force: true });
    const names = existsSync(paths.forks) ? readdirSync(paths.forks).filter(isForkName) : [];
    const positions = names.flatMap((name) =>
      forkVersions(paths.fork(name).directory).map(({ value }) => value.position),
    );
    const position = Math.max(vault.position, ...positions) + 1;
    for (let at = vault.position + 1; at <= position; at += 1) writeUnknownStep(access, at);
    const trunk = vault.trunk.filter((layer) => existsSync(paths.layer(layer)));
    if (trunk.length === 0) trunk.push(emptyTrunk(access, vault));
    await tree.sync(store.directory);
    const { boot: _boot, ...rest } = vault;
    const after: VaultMeta = { ...rest, trunk, position };
    writeVaultMeta(paths.meta, after);
    return after;
  });
}
