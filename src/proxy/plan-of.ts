/** The plan `ctx exec` would execute here, for whoever wants to read it. Nothing is made, locked or run. */
import type { Plan } from '../jail/operation.js';
import { vaultId, vaultPaths } from '../vault/layout.js';
import type { OpenVault } from '../vault/vault.js';
import { readVaultMeta, type VaultMeta } from '../vault/vault-meta.js';
import { resolveAuthority } from './authority-of.js';
import { enforcedPlan } from './enforced-plan.js';
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

/** The vault of a place as it stands, or as its first import will make it: to be looked at, not used. */
export function unusedVault(host: Host, place: Place): OpenVault {
  const id = vaultId(place.origin);
  const paths = vaultPaths(host.store.directory, id);
  const first: VaultMeta = { format: 1, origin: place.origin, created: '', layers: ['0'], nextLayer: 1, clashes: [] };
  return {
    id,
    paths,
    store: host.store,
    tree: host.tree,
    owner: place.owner,
    lockDescriptor: -1,
    meta: readVaultMeta(paths.meta) ?? first,
    imported: false,
    problems: [],
  };
}

export async function planOf(host: Host, request: PlanRequest): Promise<Plan> {
  const place = placeOf(host, request.cwd);
  const agent = request.agent === undefined ? undefined : await host.agents(request.agent);
  const { reads, writes, siblings } = request;
  const resolved = await resolveAuthority(host, { place, agent, reads, writes, siblings });
  assertRunnable(host, place, resolved);
  const vault = unusedVault(host, place);
  const { argv } = request;
  return enforcedPlan(
    viewOf({ host, place, resolved, vault, fork: vault.paths.fork, argv, environmentAdditions: [], weakened: [] }),
  );
}
