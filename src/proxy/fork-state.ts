/** What a fork holds, as a digest: the layers it is made of. Commands before this one changed it; those that only looked did not. */
import { canonicalJson } from '../base/canonical-json.js';
import { sha256 } from '../base/sha256.js';
import { readForkMeta } from '../vault/fork-meta.js';
import { mainFork, vaultId, vaultPaths } from '../vault/layout.js';
import { isLiveTouched, type LiveLayer } from '../vault/vault.js';
import { readVaultMeta } from '../vault/vault-meta.js';
import type { Host, Place } from './host.js';

/** Of a directory that was never used: the fork is yet to be made, of the directory as it is. */
export const noFork = 'none';

function stateOf(name: string, fork: LiveLayer): string {
  const { position, base, deltas, live } = fork.meta;
  return `sha256:${sha256(canonicalJson({ name, position, base, deltas, live, touched: isLiveTouched(fork) }))}`;
}

/** Read without the fork's lock: a command that runs in it now is seen by whoever looks again with the lock. */
export function forkState(
  host: Pick<Host, 'store'>,
  { origin }: Pick<Place, 'origin'>,
  asked: string | undefined,
): string {
  const paths = vaultPaths(host.store.directory, vaultId(origin));
  const vault = readVaultMeta(paths.meta);
  if (vault === undefined) return noFork;
  const name = asked ?? vault.current ?? mainFork;
  const meta = readForkMeta(paths.fork(name).directory);
  return meta === undefined ? noFork : stateOf(name, { paths, meta, vault });
}
