/**
 * What an agent does to those that descend from it: it makes them, beside itself and within what it has, and writes their control files.
 * Whatever carries authority beyond that is the operator's alone.
 */
import { tell } from '../../authority/refusal.js';
import { ErrnoError } from '../../base/errno.js';
import { childrenOfAgent } from '../../base/limits/objects.js';
import { agentNamed, childrenOf } from '../../objects/agent.js';
import { requireObject } from '../../objects/object-store.js';
import { agentViewer } from '../../objects/projection/agent-viewer.js';
import { lineBelow, verdictOnAgent } from '../../objects/projection/visible.js';
import { wholeCatalogue } from '../../objects/projection/whole-catalogue.js';
import type { Host } from '../../proxy/host.js';
import { recordedRefusal } from '../../proxy/report/recorded-refusal.js';
import { Agents } from './agents.js';
import type { LocatedObject, Spec } from './objects.js';

/** EACCES names everything that the parent does not have; EEXIST, EINVAL as for everybody. */
export async function createChild(
  host: Host,
  parent: string,
  name: string,
  spec: Spec,
  directory: string,
): Promise<LocatedObject> {
  const { tier } = requireObject(host, 'agent', parent);
  const allowed = () => {
    if (childrenOf(host, parent).length >= childrenOfAgent) {
      throw new ErrnoError('EDQUOT', {
        operation: `agent ${name}`,
        reason: `agent ${parent} has ${childrenOfAgent} children, as many as one may make`,
        remedy: 'an operator removes some: ctx agent rm NAME',
      });
    }
  };
  const made = await new Agents(host).make(
    name,
    { parent, spec, tier, directory, file: 'the input' },
    { agent: parent, allowed },
  );
  return { ...made, directory: `/ctx/${made.shown}` };
}

function refuseWrite(name: string, reason: string): never {
  throw new ErrnoError('EACCES', { operation: `agent ${name}`, reason });
}

/**
 * One control file of an agent that descends from `writer`, with the permission for it, and within what the writer has: the line between
 * them is asked as for every child. One that a supervisor gave more is not the writer's to change, since the check would not see that it
 * is more than the writer's. EINVAL where the text is wrong.
 */
export async function setOfDescendant(
  host: Host,
  writer: string,
  name: string,
  file: string,
  text: string,
  directory: string,
): Promise<void> {
  const allowed = async () => {
    const viewer = agentViewer(host, writer, () => host.now().getTime()).viewer();
    const catalogue = wholeCatalogue(host);
    const verdict = verdictOnAgent(catalogue, viewer, name, 'write');
    await recordedRefusal(
      host,
      () => ({ type: 'agent.set', object: `agent/${name}`, agent: writer, facts: { file, by: `agent:${writer}` } }),
      () => {
        if (!verdict.allowed) refuseWrite(name, tell(verdict));
        const line = lineBelow(catalogue, viewer, writer, name);
        if (line === undefined) refuseWrite(name, `it does not descend from ${writer}`);
        const supervised = line.find((each) => agentNamed(host, each).supervised.length > 0);
        if (supervised !== undefined) refuseWrite(name, `a supervisor gave ${supervised} more; an operator changes it`);
      },
    );
  };
  await new Agents(host).set(name, file, text, directory, { agent: writer, allowed });
}
