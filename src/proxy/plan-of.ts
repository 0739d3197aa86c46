/** The plan `ctx exec` would execute here, for whoever wants to read it. Nothing is made, locked or run. */
import type { Plan } from '../jail/operation.js';
import { readForkMeta } from '../vault/fork-meta.js';
import { mainFork, vaultId, vaultPaths, workspaceRoot } from '../vault/layout.js';
import { readVaultMeta } from '../vault/vault-meta.js';
import { resolveAuthority } from './authority-of.js';
import { enforcedPlan } from './enforced-plan.js';
import { type ForkMounts, overlayOf } from './fork-mounts.js';
import { type Host, type Place, placeOf } from './host.js';
import { assertRunnable } from './runnable.js';
import { viewOf } from './view.js';

export interface PlanRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly agent?: string | undefined;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly siblings: boolean;
}

/** The fork of a place as it stands, or as its first import will make it: to be looked at, not used. */
export function unusedFork(host: Host, place: Place): ForkMounts {
  const paths = vaultPaths(host.store.directory, vaultId(place.origin));
  const fork = paths.fork(readVaultMeta(paths.meta)?.current ?? mainFork);
  // A directory that no command has run in yet: as its first import will be.
  const { base, deltas, live } = readForkMeta(fork.directory) ?? { base: [], deltas: [], live: 'live' };
  const root = { target: place.origin, root: workspaceRoot, frozen: [...base, ...deltas], live };
  const overlay = overlayOf(paths, root);
  const lower = overlay.lower.length === 0 ? ['layer/import/workspace'] : overlay.lower;
  return { base: paths.directory, overlays: [{ ...overlay, lower }], home: fork.home };
}

export async function planOf(host: Host, request: PlanRequest): Promise<Plan> {
  const place = placeOf(host, request.cwd);
  const agent = request.agent === undefined ? undefined : await host.agents(request.agent);
  const { reads, writes, siblings } = request;
  const resolved = await resolveAuthority(host, { place, agent, reads, writes, siblings });
  assertRunnable(host, place, resolved);
  const { argv } = request;
  const mounts = unusedFork(host, place);
  return enforcedPlan(viewOf({ host, place, resolved, mounts, argv, environmentAdditions: [], weakened: [] }));
}
