/**
 * The Authority of a line of agents: of the one that a person made, from its files; of each child, within its parent's. What a
 * child asks for beyond its parent is refused with everything named, unless a supervisor granted exactly that.
 */
import { contains, rebase } from '../../authority/absolute-path.js';
import type { Agent } from '../../authority/agent.js';
import { attenuate, type ExplainedExcess } from '../../authority/attenuate.js';
import { type Authority, givenNetwork, makeAuthority } from '../../authority/authority.js';
import type { Excess } from '../../authority/excess.js';
import { kindOfSource, type Mount } from '../../authority/mount.js';
import { permittedMounts } from '../../authority/mount-permission.js';
import { anyPublicNetwork, type Network, noNetwork } from '../../authority/network.js';
import { type Surface, surfaceEntries } from '../../authority/surface.js';
import { View } from '../../authority/view.js';
import { ErrnoError } from '../../base/errno.js';
import { lineageDepth } from '../../base/limits/objects.js';
import { visible } from '../../base/visible-text.js';
import type { Host } from '../host.js';
import { type AgentRoot, type RootView, rootView } from './agent-root.js';
import { refuseForeignHomes, refuseUnsharedSpaces } from './object-mounts.js';
import { presentMounts } from './operator-file.js';
import { checkedPlace } from './surface-at.js';

export interface LineFacts {
  readonly host: Host;
  /** Of the task, with what this agent of the line adds. */
  surfaceOf(agent: Agent): Surface;
  readonly operator: readonly Mount[];
  /** Undefined where it is the host's own. */
  readonly root: AgentRoot | undefined;
  readonly warnings: string[];
}

/** What an agent of a line asks for beyond its parent. */
export interface LineExcess {
  /** The agent that asks. */
  readonly agent: string;
  readonly excesses: readonly Excess[];
}

/** `asked` is the agent that the line is for; the one that exceeds its parent may be above it. */
function refusedExcess(agent: Agent, parent: string, explained: readonly ExplainedExcess[], asked: string): ErrnoError {
  const what = explained.map(({ coaching }) => coaching).join('; ');
  const isAsked = agent.name === asked;
  const who = isAsked ? 'it' : `agent ${agent.name}, which it descends from,`;
  const supervisor = `ctx agent grant ${agent.name} gives it more, as its supervisor`;
  const cause: LineExcess = { agent: agent.name, excesses: explained.map(({ excess }) => excess) };
  return new ErrnoError('EACCES', {
    operation: `agent ${asked}`,
    reason: `${who} asks for more than its parent ${parent} has: ${what}`,
    remedy: `ctx agent show ${isAsked ? parent : agent.name}; ${supervisor}`,
    cause,
  });
}

/** Undefined where the error says something else. */
export function excessOf(error: unknown): LineExcess | undefined {
  const cause = error instanceof ErrnoError && error.code === 'EACCES' ? error.cause : undefined;
  return typeof cause === 'object' && cause !== null && 'excesses' in cause ? (cause as LineExcess) : undefined;
}

/** The root of the agents' own, around what else is shown. */
export function rootAround(
  host: Host,
  root: AgentRoot | undefined,
  surface: Surface,
  mounts: readonly Mount[],
): RootView {
  if (root === undefined) return { mounts: [], links: [] };
  const shown = surfaceEntries(surface).map(({ path }) => path);
  return rootView(root, [...shown, ...mounts.map(({ target }) => target), host.home]);
}

function operatorMountsBeside(facts: LineFacts, own: readonly Mount[]): readonly Mount[] {
  const targets = new Set(own.map(({ target }) => target));
  return facts.operator.filter(({ target }) => {
    if (!targets.has(target)) return true;
    facts.warnings.push(`dropped the operator's mount at ${visible(target)}: the agent's mount file holds this target`);
    return false;
  });
}

/**
 * What the agent's policy permits of its mounts. One that is not shown may have covered something that is: then the agent is
 * refused, since leaving it out would show more, not less.
 */
function permitted(facts: LineFacts, agent: Agent, mounts: readonly Mount[]): readonly Mount[] {
  const { policy, name, identity } = agent;
  const { mounts: kept, withheld } = permittedMounts(policy, identity.label.type, mounts);
  const view = new View(facts.surfaceOf(agent), kept);
  for (const { mount, missing, rule } of withheld) {
    const { target } = mount;
    const why = rule === undefined ? 'no policy can name this target' : `its policy has no \`${rule}\``;
    if (missing === 'read' && view.covering(target) !== undefined) {
      throw new ErrnoError('EACCES', {
        operation: `agent ${name}`,
        path: target,
        reason: `the mount at this path is not permitted, and leaving it out would show other files there: ${why}`,
        remedy: 'add the rule, or take the line out of the mount file',
      });
    }
    const how = missing === 'read' ? 'left out the mount at' : 'read-only, though the mount file says rw:';
    facts.warnings.push(`${how} ${visible(target)}: agent ${name}'s policy names mounts, and ${why}`);
  }
  return kept;
}

/** Where a mount shows what the surface has at its own path, too: what the surface only reads in it is read-only there as well. */
export function withReadOnlyParts(surface: Surface, mounts: readonly Mount[]): readonly Mount[] {
  const targets = new Set(mounts.map(({ target }) => target));
  const read = surfaceEntries(surface).filter(({ access }) => access === 'read');
  const parts = mounts
    .filter(({ mode, source }) => mode === 'rw' && kindOfSource(source) === 'host')
    .flatMap(({ source, target, options }) =>
      read
        .filter(({ path }) => path !== source && contains(source, path) && contains(surface.cwd, path))
        .map(({ path }): Mount => ({ source: path, target: rebase(path, source, target), mode: 'ro', options })),
    );
  return [...mounts, ...parts.filter(({ target }) => !targets.has(target))];
}

function independent(facts: LineFacts, agent: Agent): Authority {
  refuseForeignHomes(
    agent.name,
    agent.mounts.map(({ source }) => source),
  );
  const { identity, policy, toolPath, network, quota, lifetime } = agent;
  const surface = facts.surfaceOf(agent);
  const present = presentMounts(agent.mounts, `agent ${agent.name}`, facts.warnings);
  const given = permitted(facts, agent, [...present, ...operatorMountsBeside(facts, present)]);
  const own = withReadOnlyParts(surface, given);
  const ofRoot = rootAround(facts.host, facts.root, surface, own).mounts;
  return makeAuthority({
    identity,
    surface,
    mounts: [...own, ...ofRoot],
    policy,
    toolPath,
    ...(network === undefined ? {} : { network }),
    quota,
    lifetime,
  });
}

/** Where the parent has something else at a path of the surface, the child has that too, unless it asks for its own. */
function inheritedMounts(parent: Authority, surface: Surface, own: readonly Mount[]): readonly Mount[] {
  const shown = new Set(surfaceEntries(surface).map(({ path }) => path));
  return parent.mounts
    .filter(({ target }) => shown.has(target) && !own.some((mount) => mount.target === target))
    .map((mount) => ({ ...mount, source: mount.target }));
}

/** `shared` in a child's files shares what its parent has; it never weakens that. */
function askedIdentity({ identity: { isolation, ...rest } }: Agent) {
  return isolation === 'shared' ? rest : { ...rest, isolation };
}

function derived(facts: LineFacts, parent: Authority, parentName: string, agent: Agent, asked: string): Authority {
  const { policy, toolPath, network, quota, lifetime, supervised } = agent;
  const surface = facts.surfaceOf(agent);
  refuseForeignHomes(
    agent.name,
    agent.mounts.map(({ source }) => source),
  );
  for (const { target } of agent.mounts) checkedPlace(target, `the target of a mount of agent ${agent.name}`);
  const mounts = permitted(facts, agent, agent.mounts);
  const ofRoot = rootAround(facts.host, facts.root, surface, mounts).mounts;
  const own = [...mounts, ...ofRoot.map((mount) => ({ ...mount, source: mount.target }))];
  const result = attenuate(
    parent,
    {
      identity: askedIdentity(agent),
      surface,
      mounts: [...own, ...inheritedMounts(parent, surface, own)],
      policy,
      toolPath,
      ...(network === undefined ? {} : { network }),
      quota,
      lifetime,
    },
    { now: facts.host.now().getTime(), grants: supervised },
  );
  if (result.kind === 'granted') return result.authority;
  throw refusedExcess(agent, parentName, result.excesses, asked);
}

/** From the agent that a person made down to `agent`. */
export async function lineageOf(host: Pick<Host, 'agents'>, agent: Agent): Promise<readonly Agent[]> {
  const line = [agent];
  for (let at = agent; at.parent !== undefined; ) {
    const { agent: name } = at.parent;
    if (line.length > lineageDepth || line.some((other) => other.name === name)) {
      throw new ErrnoError('EINVAL', {
        operation: `agent ${agent.name}`,
        reason: `agent ${name} has a parent cycle, or more than ${lineageDepth} ancestors`,
      });
    }
    at = await host.agents(name);
    line.unshift(at);
  }
  return line;
}

/** What the last of a line may connect to, wherever it works. */
export function networkOfLine(line: readonly Agent[]): Network {
  if (line.length === 0) return noNetwork;
  return line.reduce<Network>(
    (held, { policy, identity, network }) => givenNetwork(policy, identity.label.type, network, held),
    anyPublicNetwork,
  );
}

export function authorityOfLine(facts: LineFacts, line: readonly Agent[]): Authority {
  const [first, ...children] = line;
  if (first === undefined) throw new ErrnoError('EINVAL', { operation: 'authority', reason: 'expected an agent' });
  const asked = line.at(-1)?.name ?? first.name;
  let parent = first;
  let authority = independent(facts, first);
  for (const child of children) {
    authority = derived(facts, authority, parent.name, child, asked);
    parent = child;
  }
  refuseUnsharedSpaces(authority);
  return authority;
}
