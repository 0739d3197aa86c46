/** An agent's files as one typed value. `meta.json` is read for people; nothing that decides takes it. */
import type { Agent } from '../authority/agent.js';
import { mayConnect } from '../authority/authority.js';
import { ErrnoError } from '../base/errno.js';
import { type AgentValues, agentFiles } from './control-file.js';
import type { ObjectRoots } from './layout.js';
import { decidingText, type LocatedObject, listObjects, requireObject } from './object-store.js';
import { type ReadValues, readValues, wholeValues } from './read-values.js';

/** What no file says alone: hosts without the permission to connect would be a network that no one granted. */
function checkTogether(name: string, { label, policy, network }: AgentValues): void {
  if (network === undefined || mayConnect(policy, label.type)) return;
  throw new ErrnoError('EINVAL', {
    operation: `agent ${name}`,
    reason: `network:1:1: hosts are listed, and the policy has no \`allow ${label.type} network:default connect\``,
    remedy: 'write that line into the policy first, or empty the network file',
  });
}

export function agentFrom(name: string, directory: string, values: AgentValues): Agent {
  checkTogether(name, values);
  const { owner, uid, gid, groups, label, iso, life, env, path, mount, model, expiry } = values;
  return Object.freeze({
    name,
    directory,
    identity: Object.freeze({ owner, uid, gid, groups, label, isolation: iso, life }),
    parent: values.parent,
    root: values.root,
    cwd: values.cwd,
    environment: env,
    toolPath: path,
    mounts: mount,
    models: model,
    policy: values.policy,
    network: values.network,
    quota: values.quota,
    lifetime: expiry,
    scope: values.scope,
    siblingReads: values.sibling_reads,
    additionalReads: values.additional_reads,
    supervised: values.supervised,
  });
}

/** `changed` replaces what is on disk, to see what an agent would be. */
export function inspectAgent(
  object: LocatedObject,
  changed?: ReadonlyMap<string, string>,
): ReadValues<typeof agentFiles> {
  return readValues(
    agentFiles,
    // The log may be long, and says nothing of what the agent is.
    (file) => changed?.get(file) ?? (file === 'log' ? '' : decidingText(object, file)),
    (file) => `${object.shown}/${file}`,
  );
}

export function readAgent(object: LocatedObject, changed?: ReadonlyMap<string, string>): Agent {
  return agentFrom(object.name, object.directory, wholeValues(inspectAgent(object, changed), `agent ${object.name}`));
}

export function agentNamed(roots: ObjectRoots, name: string): Agent {
  return readAgent(requireObject(roots, 'agent', name));
}

/** Names of the agents whose parent is `name`; one whose files are wrong counts, since no one knows. */
export function childrenOf(roots: ObjectRoots, name: string): readonly string[] {
  return listObjects(roots, 'agent')
    .filter((object) => object.name !== name)
    .filter((object) => {
      const { values, problems } = inspectAgent(object);
      return values.parent?.agent === name || (problems.length > 0 && !('parent' in values));
    })
    .map((object) => object.name);
}
