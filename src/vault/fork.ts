/** The fork's delta: what it holds, and what one command added to it. */
import { rmSync } from 'node:fs';
import { readJsonFile, writeFileAtomic } from '../base/atomic-file.js';
import { throwAway } from './trash.js';
import type { Change, Content } from './tree.js';
import { layersFromTop, makeEmptyFork, type OpenVault } from './vault.js';
import { type VaultMeta, writeVaultMeta } from './vault-meta.js';

/** Every difference between the fork and the layers below it. The fork must not be mounted. */
export async function forkChanges(vault: OpenVault): Promise<readonly Change[]> {
  return vault.tree.diff({ uppers: [vault.paths.fork.upper], lowers: layersFromTop(vault) });
}

export interface TextChange {
  readonly change: Change;
  readonly before: Content;
  readonly after: Content;
}

/** The contents on both sides of each change. The fork must not be mounted. */
export async function readChanges(vault: OpenVault, changes: readonly Change[]): Promise<readonly TextChange[]> {
  if (changes.length === 0) return [];
  const paths = changes.map(({ path }) => path);
  const lowers = layersFromTop(vault);
  const before = await vault.tree.read({ layers: lowers, paths });
  const after = await vault.tree.read({ layers: [vault.paths.fork.upper, ...lowers], paths });
  const nothing: Content = { type: 'missing', bytes: Buffer.alloc(0) };
  return changes.map((change, index) => ({ change, before: before[index] ?? nothing, after: after[index] ?? nothing }));
}

/** A path that one command made, changed, deleted, or put back as it was. */
export type CommandChange = Change | (Omit<Change, 'kind'> & { readonly kind: 'restored' });

function fingerprint(change: Change): string {
  return [change.kind, change.type, change.mode, change.size, change.content, change.stamp].join(' ');
}

/** What happened between two change lists of one fork. Pure. */
export function changesBetween(before: readonly Change[], after: readonly Change[]): readonly CommandChange[] {
  const known = new Map(before.map((change) => [change.path, change]));
  const kept = new Set(after.map(({ path }) => path));
  const news = after.filter((change) => {
    const old = known.get(change.path);
    return old === undefined || fingerprint(old) !== fingerprint(change);
  });
  const restored = before
    .filter(({ path }) => !kept.has(path))
    .map((change) => ({ ...change, kind: 'restored' as const }));
  return [...news, ...restored];
}

/** The list as of the last command's end; empty for a fresh fork. */
export function rememberedChanges(vault: OpenVault): readonly Change[] {
  return (readJsonFile(vault.paths.fork.changes) as readonly Change[] | undefined) ?? [];
}

/** A convenience for the next report, made anew when lost: not durable. */
export function rememberChanges(vault: OpenVault, changes: readonly Change[]): void {
  const { changes: path } = vault.paths.fork;
  if (changes.length === 0) rmSync(path, { force: true });
  else writeFileAtomic(path, JSON.stringify(changes), { durable: false });
}

/** Forgets everything the fork holds, its private home too. One rename; the rest is deleted afterwards by `emptyTrash`. */
export function dropFork(vault: OpenVault): OpenVault {
  const { paths, meta, owner, store } = vault;
  throwAway(store, paths.fork.directory);
  const after: VaultMeta = { ...meta, clashes: [] };
  if (meta.clashes.length > 0) writeVaultMeta(paths.meta, after);
  makeEmptyFork(paths.fork, meta.origin, owner);
  return { ...vault, meta: after };
}
