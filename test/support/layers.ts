/** Where the store keeps what a fork writes: for tests that plant there what no command could. */
import { readForkMeta } from '../../src/vault/store/fork-meta.js';
import { vaultId, vaultPaths, workspaceRoot } from '../../src/vault/store/layout.js';
import type { Stage } from './stage.js';

/** The directory that the next command of the fork writes into. */
export function liveTree(stage: Stage, project: string, fork = 'main'): string {
  const paths = vaultPaths(stage.store, vaultId(project));
  const meta = readForkMeta(paths.fork(fork).directory);
  if (meta === undefined) throw new Error(`there is no fork ${fork} of ${project}`);
  return paths.tree(meta.live, workspaceRoot);
}
