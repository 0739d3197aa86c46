/** What a vault may hold, and what it holds. */
import type { Json } from '../base/canonical-json.js';
import { ErrnoError } from '../base/errno.js';
import type { Host } from '../proxy/host.js';
import { confirmedRoots } from '../vault/store/known-roots.js';
import { withVaultLock } from '../vault/store/locks.js';
import { usageOfVault } from '../vault/store/vault-limits.js';
import { readVaultMeta, type VaultLimits, writeVaultMeta } from '../vault/store/vault-meta.js';
import type { TreeUsage } from '../vault/tree/usage.js';
import { recordedVerb } from './recorded-verb.js';
import { accessTo } from './vault-verbs.js';

export interface LimitedVault {
  readonly limits: VaultLimits;
  readonly usage: Pick<TreeUsage, 'bytes' | 'inodes'>;
}

/** A member that is null goes, one that is left out stays. */
export type LimitChanges = { readonly [Name in keyof VaultLimits]: number | null | undefined };

/** Pure. */
export function changedLimits(before: VaultLimits | undefined, changes: LimitChanges): VaultLimits {
  const all = { ...before, ...Object.fromEntries(Object.entries(changes).filter(([, most]) => most !== undefined)) };
  return Object.fromEntries(Object.entries(all).filter(([, most]) => most !== null)) as VaultLimits;
}

export async function limitsOfVault(host: Host, id: string): Promise<LimitedVault> {
  const access = accessTo(host, id);
  const { bytes, inodes } = await usageOfVault(access);
  return { limits: readVaultMeta(access.paths.meta)?.limits ?? {}, usage: { bytes, inodes } };
}

export async function limitVault(host: Host, id: string, changes: LimitChanges): Promise<LimitedVault> {
  const access = accessTo(host, id);
  const asked = Object.fromEntries(Object.entries(changes).filter(([, most]) => most !== undefined));
  const verb = { type: 'vault', object: `vault/${id}`, facts: { limits: asked as Readonly<Record<string, Json>> } };
  await recordedVerb(host, verb, () =>
    withVaultLock(access.tree, access.paths.lock, 'ctx vault set', () => {
      const meta = readVaultMeta(access.paths.meta);
      if (meta === undefined) {
        throw new ErrnoError('ENOENT', { operation: 'vault set', reason: 'the vault was deleted meanwhile' });
      }
      const { limits: before, ...rest } = meta;
      const limits = changedLimits(before, changes);
      writeVaultMeta(access.paths.meta, Object.keys(limits).length === 0 ? rest : { ...rest, limits }, {
        durable: true,
      });
    }),
  );
  return limitsOfVault(host, id);
}

/** The person says that the directories that are at the roots' paths now are the right ones. */
export async function confirmRoots(host: Host, id: string): Promise<void> {
  const { tree, paths } = accessTo(host, id);
  const verb = { type: 'vault', object: `vault/${id}`, facts: { moved: true } };
  await recordedVerb(host, verb, () =>
    withVaultLock(tree, paths.lock, 'ctx vault set', () => {
      const meta = readVaultMeta(paths.meta);
      if (meta === undefined) {
        throw new ErrnoError('ENOENT', { operation: 'vault set', reason: 'the vault was deleted meanwhile' });
      }
      writeVaultMeta(paths.meta, { ...meta, known: confirmedRoots(meta.roots) }, { durable: true });
    }),
  );
}
