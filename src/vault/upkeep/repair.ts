/**
 * What can be brought back of a vault is; what is gone is said. Nothing that is whole is touched, and a fork in use is
 * left for another time. A fork of which nothing is left starts afresh, so that it is in no one's way.
 */
import { closeSync, existsSync, readdirSync } from 'node:fs';
import { readWholeJson } from '../../base/atomic-file.js';
import { hasCode } from '../../base/errno.js';
import { makeDirectory } from '../../base/make-directory.js';
import { stepsFile } from '../store/applied-steps.js';
import { lockFoundFork } from '../store/fork-lock.js';
import { type ForkMeta, isSuspect, readableForkMeta, writeForkMeta } from '../store/fork-meta.js';
import { makeLayer } from '../store/layer-pool.js';
import { mainFork } from '../store/layout.js';
import { withVaultLock } from '../store/locks.js';
import { hasLostTrunk, recoverFork, recoverVault } from '../store/recover.js';
import { readVersions } from '../store/state-file.js';
import { lostSteps, writeUnknownStep } from '../store/trunk-steps.js';
import type { VaultAccess } from '../store/vault-access.js';
import { isForkName, isSuspectVault, readVaultMeta, type VaultMeta, writeVaultMeta } from '../store/vault-meta.js';
import { newForkMeta, writeFork } from '../vault.js';

function withoutMissing({ paths }: VaultAccess, meta: ForkMeta): ForkMeta {
  const isThere = (layers: readonly string[]) => layers.every((layer) => existsSync(paths.layer(layer)));
  const checkpoints = meta.checkpoints.filter(({ base, deltas }) => isThere([...base, ...deltas]));
  const applied = meta.applied?.filter(
    (layer) => isThere([layer]) && readWholeJson(stepsFile(paths.layer(layer))) !== undefined,
  );
  const isSame = checkpoints.length === meta.checkpoints.length && applied?.length === meta.applied?.length;
  return isSame ? meta : { ...meta, checkpoints, applied };
}

async function repairFork(access: VaultAccess, vault: VaultMeta, name: string): Promise<readonly string[]> {
  const place = access.paths.fork(name);
  const said: string[] = [];
  const found = readableForkMeta(place.directory);
  if (found === undefined) {
    const stack = { position: vault.position, base: vault.trunk, deltas: [] };
    writeForkMeta(place.directory, newForkMeta(access, name, stack), { durable: true });
    return [`fork ${name}: it could not be read and was reset; its changes are lost`];
  }
  let meta: ForkMeta = found;
  if (isSuspect(place.directory)) {
    const recovered = await recoverFork(access, name, place);
    said.push(...recovered.warnings.map((text) => `fork ${name}: ${text}`));
    if (recovered.warnings.length === 0) said.push(`fork ${name}: checked, and whole`);
    meta = recovered.meta;
  }
  const { checkpoints, applied = [], deltas } = meta;
  let after = withoutMissing(access, meta);
  const gone = deltas.filter((layer) => !existsSync(access.paths.layer(layer)));
  if (gone.length > 0) after = { ...after, deltas: after.deltas.filter((layer) => !gone.includes(layer)) };
  // What they held is in the person's directory, which the trunk is compared with.
  const base = vault.uncopied === true ? meta.base : meta.base.filter((layer) => existsSync(access.paths.layer(layer)));
  if (base.length < meta.base.length) after = { ...after, base };
  if (gone.length > 0) said.push(`fork ${name}: ${gone.length} layers are gone, with what they held`);
  if (!existsSync(access.paths.layer(after.live))) {
    after = { ...after, live: makeLayer(access.paths, { fork: name }) };
    said.push(`fork ${name}: the layer that it writes into was gone, with what was written last`);
  }
  if (after.checkpoints.length < checkpoints.length)
    said.push(`fork ${name}: ${checkpoints.length - after.checkpoints.length} checkpoints are gone`);
  if ((after.applied ?? []).length < applied.length)
    said.push(`fork ${name}: ${applied.length - (after.applied ?? []).length} applies can no longer be undone`);
  if (after !== meta || readVersions(place.directory).damaged.length > 0) {
    await access.tree.sync(access.store.directory);
    writeForkMeta(place.directory, after, { durable: true });
  }
  return said;
}

async function repairForks(access: VaultAccess, vault: VaultMeta): Promise<readonly string[]> {
  const said: string[] = [];
  const { paths, tree } = access;
  for (const name of existsSync(paths.forks) ? readdirSync(paths.forks).filter(isForkName) : []) {
    try {
      const options = { wait: false, purpose: 'ctx fsck', what: name };
      const fork = await lockFoundFork(tree, paths.fork(name), options);
      if (fork === undefined) continue;
      try {
        said.push(...(await repairFork(access, vault, name)));
      } finally {
        closeSync(fork.descriptor);
      }
    } catch (error) {
      if (!hasCode(error, 'EBUSY')) throw error;
      said.push(`fork ${name}: in use, and left alone`);
    }
  }
  return said;
}

/** There is always a fork main, and one in use. */
async function repairMissing(access: VaultAccess): Promise<readonly string[]> {
  const { paths, tree, store } = access;
  const isMissing = (name: string) => readableForkMeta(paths.fork(name).directory) === undefined;
  return withVaultLock(tree, paths.lock, 'ctx fsck', async () => {
    const vault = readVaultMeta(paths.meta);
    const said: string[] = [];
    if (vault === undefined) return said;
    if (isMissing(mainFork)) {
      const meta = newForkMeta(access, mainFork, { position: vault.position, base: vault.trunk, deltas: [] });
      await tree.sync(store.directory);
      writeFork(access, mainFork, meta, true);
      said.push(`fork ${mainFork}: it was missing and was made anew; its changes are lost`);
    }
    if (!isMissing(vault.current)) return said;
    writeVaultMeta(paths.meta, { ...vault, current: mainFork }, { durable: true });
    return [...said, `fork ${vault.current}: it was in use and is missing; ${mainFork} is in use now`];
  });
}

/** What was done, and what is gone, in sentences. */
export async function repairVault(access: VaultAccess): Promise<readonly string[]> {
  const { paths, tree } = access;
  let vault = readVaultMeta(paths.meta);
  if (vault === undefined) return [];
  const said: string[] = [];
  if (isSuspectVault(vault) || hasLostTrunk(access, vault)) {
    vault = (await recoverVault(access)) ?? vault;
    said.push('your directory is compared again, file by file, with the next command');
  }
  const meta = vault;
  const lost = await withVaultLock(tree, paths.lock, 'ctx fsck', () => {
    // The cut may have come while the vault was being deleted.
    makeDirectory(paths.allEdits);
    const seen = readdirSync(paths.allEdits).map((name) => Number.parseInt(name, 10));
    // The first position is the import, which has no record.
    const damaged = lostSteps(access, meta, Math.max(0, Math.min(meta.position, ...seen) - 1));
    for (const position of damaged) writeUnknownStep(access, position);
    return damaged.length;
  });
  if (lost > 0) said.push(`${lost} lists of your edits are gone: what you edited is found by comparing instead`);
  return [...said, ...(await repairForks(access, vault)), ...(await repairMissing(access))];
}
