/**
 * What a vault may hold, all its forks together: set by a person, counted when a directory or their edits come in, before a
 * command, and, of the fork it works on, while it runs. What other forks write meanwhile is counted with the next command.
 */
import { ErrnoError } from '../../base/errno.js';
import { countUsage, type TreeUsage } from '../tree/usage.js';
import type { VaultAccess } from './vault-access.js';
import type { VaultLimits, VaultMeta } from './vault-meta.js';

/** As reports name them, beside the limits of a command. */
export const vaultLimitNames = Object.freeze(['vaultBytes', 'vaultFiles', 'vaultFileBytes'] as const);
export type VaultLimit = (typeof vaultLimitNames)[number];

/** One limit of a vault, and how much of it is used. */
export interface VaultLimitUse {
  readonly limit: VaultLimit;
  readonly used: number;
  readonly most: number;
}

/** Of every limit that is set. Pure. */
export function limitUses(
  limits: VaultLimits,
  { bytes, inodes, longest }: Pick<TreeUsage, 'bytes' | 'inodes' | 'longest'>,
): readonly VaultLimitUse[] {
  const { maxBytes, maxFiles, maxFileBytes } = limits;
  return [
    ...(maxBytes === undefined ? [] : [{ limit: 'vaultBytes' as const, used: bytes, most: maxBytes }]),
    ...(maxFiles === undefined ? [] : [{ limit: 'vaultFiles' as const, used: inodes, most: maxFiles }]),
    ...(maxFileBytes === undefined ? [] : [{ limit: 'vaultFileBytes' as const, used: longest, most: maxFileBytes }]),
  ];
}

const amounts: Readonly<Record<VaultLimit, (used: number) => string>> = {
  vaultBytes: (used) => `${used} bytes`,
  vaultFiles: (used) => `${used} files`,
  vaultFileBytes: (used) => `a file of ${used} bytes`,
};

/** In words what is above a limit; undefined where nothing is. Pure. */
export function exceeded(
  limits: VaultLimits,
  usage: Pick<TreeUsage, 'bytes' | 'inodes' | 'longest'>,
): string | undefined {
  const beyond = limitUses(limits, usage).find(({ used, most }) => used > most);
  return beyond === undefined ? undefined : `${amounts[beyond.limit](beyond.used)}, of at most ${beyond.most}`;
}

/** Of two places together. Pure. */
export function together(left: TreeUsage, right: TreeUsage): TreeUsage {
  return {
    bytes: left.bytes + right.bytes,
    inodes: left.inodes + right.inodes,
    unseen: left.unseen + right.unseen,
    files: left.files + right.files,
    content: left.content + right.content,
    longest: Math.max(left.longest, right.longest),
  };
}

export function refuseBeyond(limits: VaultLimits, usage: TreeUsage, operation: string, path?: string): void {
  const beyond = exceeded(limits, usage);
  if (beyond === undefined) return;
  throw new ErrnoError('EDQUOT', {
    operation,
    path,
    reason: `the vault would hold ${beyond}`,
    remedy: 'ctx drop, ctx fork delete, ctx checkpoint delete and ctx gc make room; ctx vault set changes its limits',
  });
}

/** Where a vault keeps all that is counted. */
export const countedPlaces = ({ paths }: Pick<VaultAccess, 'paths'>) => [paths.layers, paths.forks];

export function usageOfVault(access: VaultAccess): Promise<TreeUsage> {
  return countUsage(access.tree.program, countedPlaces(access));
}

/** Before a directory is copied in: what the vault holds already, and what would come. */
export async function refuseImport(access: VaultAccess, limits: VaultLimits | undefined, path: string): Promise<void> {
  if (limits === undefined) return;
  const comes = await countUsage(access.tree.program, [path]);
  refuseBeyond(limits, together(await usageOfVault(access), comes), 'import', path);
}

/** Before a layer of the person's edits is named: it is counted with the rest, since it is in the vault already. */
export async function refuseEdits(access: VaultAccess, vault: VaultMeta, layer: string): Promise<void> {
  if (vault.limits === undefined) return;
  const whole = await usageOfVault(access);
  const { longest } = await countUsage(access.tree.program, [access.paths.layer(layer)]);
  refuseBeyond(vault.limits, { ...whole, longest }, 'take over your edits', vault.origin);
}
