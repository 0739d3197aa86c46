/** The plan `ctx exec` would execute here, for anyone who wants to read it. Nothing is made, locked or run. */
import type { Plan } from '../../jail/operation.js';
import { readForkMeta } from '../../vault/store/fork-meta.js';
import { mainFork, rootKey, vaultId, vaultPaths, workspaceRoot } from '../../vault/store/layout.js';
import { readVaultMeta } from '../../vault/store/vault-meta.js';
import { resolveAuthority } from '../grants/authority-of.js';
import { enforcedPlan } from '../grants/enforced-plan.js';
import { assertRunnable } from '../grants/runnable.js';
import { type Host, type Place, placeOf } from '../host.js';
import { type ForkMounts, overlayOf } from './fork-mounts.js';
import { viewOf } from './view.js';

export interface PlanRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly agent?: string | undefined;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly liveWrites: readonly string[];
  readonly siblings: boolean;
}

/** The fork of a place as it is, or as its first import will make it: to be looked at, not used. */
export function unusedFork(host: Host, place: Place, roots: readonly string[] = []): ForkMounts {
  const paths = vaultPaths(host.store.directory, vaultId(place.origin));
  const fork = paths.fork(readVaultMeta(paths.meta)?.current ?? mainFork);
  // A directory that no command has run in yet: as its first import will be.
  const { base, deltas, live } = readForkMeta(fork.directory) ?? { base: [], deltas: [], live: 'live' };
  const overlays = [place.origin, ...roots].map((target, index) => {
    const root = index === 0 ? workspaceRoot : rootKey(target);
    const overlay = overlayOf(paths, { target, root, frozen: [...base, ...deltas], live });
    return { ...overlay, lower: overlay.lower.length === 0 ? [`layer/import/${root}`] : overlay.lower };
  });
  return { base: paths.directory, overlays, home: fork.home, temporary: fork.temporary };
}

export async function planOf(host: Host, request: PlanRequest): Promise<Plan> {
  const place = placeOf(host, request.cwd);
  const agent = request.agent === undefined ? undefined : await host.agents(request.agent);
  const { reads, writes, liveWrites, siblings } = request;
  const resolved = await resolveAuthority(host, { place, agent, reads, writes, liveWrites, siblings });
  assertRunnable(host, place, resolved);
  const { argv } = request;
  const mounts = unusedFork(host, place, resolved.roots);
  return enforcedPlan(viewOf({ host, place, resolved, mounts, argv, environmentAdditions: [], weakened: [] }));
}
