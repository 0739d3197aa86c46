/** The Authority of a harness's task, as `ctx exec` resolves it, with what a decision about its tools has to know. */
import { objectFacts } from '../objects/object-facts.js';
import { resolveAuthority } from '../proxy/grants/authority-of.js';
import { usedSoFarOf } from '../proxy/grants/uses.js';
import { type Host, placeOf } from '../proxy/host.js';
import type { Task, TaskAuthority } from './hook-host.js';

export async function taskAuthority(host: Host, task: Omit<Task, 'environment'>): Promise<TaskAuthority> {
  const { directory, agent, reads, writes, network } = task;
  const place = placeOf(host, directory);
  const facts = agent === undefined ? undefined : await host.agents(agent);
  const grants = { network, quota: {} };
  const request = { place, agent: facts, cwd: place.directory, reads, writes, grants };
  const resolved = await resolveAuthority(host, request);
  const { authority } = resolved;
  const roots = { root: host.root, uid: authority.identity.uid, system: host.system };
  return {
    authority,
    used: usedSoFarOf(resolved),
    toolFacts: (name) => objectFacts(roots, authority, 'tool', name),
  };
}
