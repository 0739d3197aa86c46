/** The Authority of a harness's task, as `ctx exec` resolves it. Apart from the hook's own bundle: few calls need it. */
import type { Authority } from './authority/authority.js';
import { composeHost } from './compose.js';
import type { Task } from './hook/hook-host.js';
import { resolveAuthority } from './proxy/grants/authority-of.js';
import { placeOf } from './proxy/host.js';

export async function authorityOf({ directory, agent, reads, writes, network, environment }: Task): Promise<Authority> {
  const host = composeHost(environment);
  const place = placeOf(host, directory);
  const facts = agent === undefined ? undefined : await host.agents(agent);
  const grants = { network, quota: {} };
  const request = { place, agent: facts, cwd: place.directory, reads, writes, grants };
  return (await resolveAuthority(host, request)).authority;
}
