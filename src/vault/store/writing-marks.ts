/** Marks beside the layer of an apply: whether its writing, or that of its undo, came to its end. */
import { existsSync, rmSync } from 'node:fs';
import type { ForkMeta } from './fork-meta.js';
import type { VaultPaths } from './layout.js';

interface InVault {
  readonly paths: VaultPaths;
}

/** Stands while it writes, and until that is settled. */
export const markOf = ({ paths }: InVault, layer: string) => paths.tree(layer, 'writing');
export const cutMarkOf = ({ paths }: InVault, layer: string) => paths.tree(layer, 'cut');

/** Whether its writing has begun, and has not ended: while its lock is free, it was cut off. */
export const isBeingWritten = (fork: InVault, layer: string) => existsSync(markOf(fork, layer));

/** Whether the writing of it was cut off, and swept since. */
export const isCutOff = (fork: InVault, layer: string) => existsSync(cutMarkOf(fork, layer));

/** Whether the last apply of the fork, or its undo, was cut off: the person's directory has a part of what the fork wrote. */
export function hasHalfApplied(fork: InVault & { readonly meta: ForkMeta }): boolean {
  const layer = fork.meta.applied?.at(-1);
  return layer !== undefined && (isBeingWritten(fork, layer) || isCutOff(fork, layer));
}

/** What was written is in the fork's state, on the disk: an apply that follows does not go on with it. */
export function endWriting(fork: InVault, layer: string): void {
  for (const mark of [markOf(fork, layer), cutMarkOf(fork, layer)]) rmSync(mark, { force: true });
}
