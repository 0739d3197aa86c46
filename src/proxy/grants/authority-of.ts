/**
 * The Authority of one command: who it runs for, and what it is shown. Every layer takes what comes out of here and
 * nothing else: the jail is built from it (`view`), the hook and `ctx why` ask it, the record names its digest.
 *
 * Host facts are looked up once and paths made canonical once. What was asked for and is not there, or is not shown, is
 * in `warnings`; of the defaults (tooling, programs of PATH) a missing one is no news and is only in `skipped`.
 */
import { statSync } from 'node:fs';
import { contains, rebase } from '../../authority/absolute-path.js';
import { attenuate } from '../../authority/attenuate.js';
import {
  type Authority,
  authorityDigest,
  givenNetwork,
  type Identity,
  makeAuthority,
} from '../../authority/authority.js';
import { parseLabel } from '../../authority/label.js';
import type { Mount } from '../../authority/mount.js';
import { anyPublicNetwork, hostNetwork, type Network, noNetwork } from '../../authority/network.js';
import { makePolicy } from '../../authority/policy.js';
import { makeQuota, type Quota } from '../../authority/quota.js';
import { type Surface, surfaceEntries } from '../../authority/surface.js';
import { ErrnoError } from '../../base/errno.js';
import { lineageDepth } from '../../base/limits.js';
import { visible } from '../../base/visible-text.js';
import type { Link } from '../../jail/plan.js';
import type { AgentFacts } from '../agent-facts.js';
import type { Host, Place } from '../host.js';
import { type RootView, rootOf, rootView } from './agent-root.js';
import { operatorMountsAt, presentMounts } from './operator-file.js';
import { checkedPlace, type SurfaceAt, surfaceAt, type TaskPaths } from './surface-at.js';

/** Whoever runs a command without naming an agent: this directory and nothing more. */
const anonymousLabel = parseLabel('user_u:agent_r:exec_t:s0');

export interface AuthorityRequest extends TaskPaths {
  readonly place: Place;
  readonly agent?: AgentFacts | undefined;
  /** For a command without an agent; what an agent has stands in its files. */
  readonly grants?: TaskGrants | undefined;
}

export interface TaskGrants {
  /** `any`, or `host:port`. */
  readonly network: readonly string[];
  readonly quota: Quota;
}

export interface ResolvedAuthority {
  readonly authority: Authority;
  readonly digest: string;
  readonly agent: AgentFacts | undefined;
  /** It and whom it descends from, the one that a person made first. */
  readonly line: readonly AgentFacts[];
  /** Other names of what is granted; they grant nothing. */
  readonly links: readonly Link[];
  /** PATH for the command. */
  readonly search: readonly string[];
  /** Of what is read-only, what a fork may have a cache of its own of. */
  readonly caches: readonly string[];
  /** How git finds the person's settings. */
  readonly git: SurfaceAt['git'];
  /** Directories outside the workspace that are part of the fork. */
  readonly roots: readonly string[];
  /** Targets outside the fork that may be written: nobody can undo what is written there. */
  readonly live: readonly string[];
  readonly skipped: readonly string[];
  readonly warnings: readonly string[];
}

interface Facts {
  readonly host: Host;
  readonly surface: Surface;
  readonly operator: readonly Mount[];
  /** Canonical; undefined where it is the host's own. */
  readonly root: string | undefined;
  readonly warnings: string[];
}

function operatorMountsBeside(facts: Facts, own: readonly Mount[]): readonly Mount[] {
  const targets = new Set(own.map(({ target }) => target));
  return facts.operator.filter(({ target }) => {
    if (!targets.has(target)) return true;
    facts.warnings.push(`dropped the operator's mount at ${visible(target)}: the agent's mount file holds this target`);
    return false;
  });
}

/** The root of the agents' own, around what else is shown. */
function rootAround(facts: Facts, mounts: readonly Mount[]): RootView {
  if (facts.root === undefined) return { mounts: [], links: [] };
  const shown = surfaceEntries(facts.surface).map(({ path }) => path);
  return rootView(facts.root, [...shown, ...mounts.map(({ target }) => target), facts.host.home]);
}

function independent(facts: Facts, agent: AgentFacts): Authority {
  const { identity, policy, toolPath, network, quota, lifetime } = agent;
  const present = presentMounts(agent.mounts, `agent ${agent.name}`, facts.warnings);
  const own = [...present, ...rootAround(facts, [...present, ...facts.operator]).mounts];
  return makeAuthority({
    identity,
    surface: facts.surface,
    mounts: [...own, ...operatorMountsBeside(facts, own)],
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

function derived(facts: Facts, parent: Authority, parentName: string, agent: AgentFacts): Authority {
  const { identity, policy, toolPath, network, quota, lifetime, mounts } = agent;
  for (const { target } of mounts) checkedPlace(target, `the target of a mount of agent ${agent.name}`);
  const ofRoot = rootAround(facts, mounts).mounts.map((mount) => ({ ...mount, source: mount.target }));
  const asked = [...mounts, ...ofRoot];
  const result = attenuate(
    parent,
    {
      identity,
      surface: facts.surface,
      mounts: [...asked, ...inheritedMounts(parent, facts.surface, asked)],
      policy,
      toolPath,
      ...(network === undefined ? {} : { network }),
      quota,
      lifetime,
    },
    { now: facts.host.now().getTime() },
  );
  if (result.kind === 'granted') return result.authority;
  throw new ErrnoError('EACCES', {
    operation: `agent ${agent.name}`,
    reason: `it asks for more than its parent ${parentName} has: ${result.excesses.map(({ coaching }) => coaching).join('; ')}`,
    remedy: `ctx agent show ${parentName}`,
  });
}

/** From the agent that a person made down to `agent`. */
export async function lineageOf(host: Host, agent: AgentFacts): Promise<readonly AgentFacts[]> {
  const line = [agent];
  for (let at = agent; at.parent !== undefined; ) {
    const { agent: name } = at.parent;
    if (line.length > lineageDepth || line.some((other) => other.name === name)) {
      throw new ErrnoError('EINVAL', {
        operation: `agent ${agent.name}`,
        reason: `expected a line of at most ${lineageDepth} parents that ends, got agent ${name} again or too late`,
      });
    }
    at = await host.agents(name);
    line.unshift(at);
  }
  return line;
}

/** What the last of a line may connect to, wherever it works. */
export function networkOfLine(line: readonly AgentFacts[]): Network {
  if (line.length === 0) return noNetwork;
  return line.reduce<Network>(
    (held, { policy, identity, network }) => givenNetwork(policy, identity.label.type, network, held),
    anyPublicNetwork,
  );
}

function authorityOfLine(facts: Facts, line: readonly AgentFacts[]): Authority {
  const [first, ...children] = line;
  if (first === undefined) throw new ErrnoError('EINVAL', { operation: 'authority', reason: 'expected an agent' });
  let parent = first;
  let authority = independent(facts, first);
  for (const child of children) {
    authority = derived(facts, authority, parent.name, child);
    parent = child;
  }
  return authority;
}

function grantedNetwork(names: readonly string[]): Network {
  if (names.length === 0) return noNetwork;
  return names.includes('any') ? anyPublicNetwork : hostNetwork(names);
}

function anonymous(facts: Facts, identity: Pick<Identity, 'uid' | 'gid'>, grants: TaskGrants | undefined): Authority {
  const network = grantedNetwork(grants?.network ?? []);
  const connect = { subject: anonymousLabel.type, class: 'network', name: 'default', permission: 'connect' } as const;
  return makeAuthority({
    identity: { ...identity, label: anonymousLabel },
    surface: facts.surface,
    mounts: facts.operator,
    policy: makePolicy('', network.kind === 'none' ? [] : [connect]),
    network,
    quota: makeQuota(grants?.quota ?? {}),
  });
}

function refuseGrantsBesideAgent({ agent, grants }: AuthorityRequest): void {
  if (agent === undefined || grants === undefined) return;
  if (grants.network.length === 0 && Object.keys(grants.quota).length === 0) return;
  throw new ErrnoError('EINVAL', {
    operation: `agent ${agent.name}`,
    reason: 'expected its own files to say what it may connect to and use, not the call',
    remedy: `ctx agent show ${agent.name}`,
  });
}

/** Of an Authority's mounts, those that are not its root's own. */
function isBesideRoot(root: string | undefined): (mount: Mount) => boolean {
  return ({ source, target }) => root === undefined || source !== rebase(target, '/', root);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Directories beside the workspace that a fork can hold: as they are on the host, none in another, none around it. */
function forkedRoots({ view }: Authority, origin: string, forkable: readonly string[]): readonly string[] {
  const apart = forkable.filter((path) => {
    const entry = view.entries.find(({ target }) => target === path);
    const plain = entry?.source === path && entry.access === 'write' && view.accessTo(path) === 'write';
    return plain && !contains(path, origin) && !contains(origin, path) && isDirectory(path);
  });
  return apart.filter((path) => !apart.some((other) => other !== path && contains(other, path)));
}

/** Writable places that are not the fork's. */
function liveTargets({ view }: Authority, roots: readonly string[]): readonly string[] {
  const written = view.entries.filter(({ access, target }) => access === 'write' && view.accessTo(target) === 'write');
  return written
    .filter(({ source, target }) => source !== target || !roots.some((root) => contains(root, target)))
    .map(({ target }) => target);
}

export async function resolveAuthority(host: Host, request: AuthorityRequest): Promise<ResolvedAuthority> {
  const { place, agent } = request;
  refuseGrantsBesideAgent(request);
  const line = agent === undefined ? [] : await lineageOf(host, agent);
  const root = rootOf(line, host.hidden);
  const at = surfaceAt(host, place, request, agent?.scope ?? 'project', root !== undefined);
  const { surface, search, skipped } = at;
  const said = [...at.warnings];
  const facts: Facts = { host, surface, operator: [], root, warnings: said };
  const operator = await operatorMountsAt(host, surface, said);
  const whole = { ...facts, operator };
  const authority = agent === undefined ? anonymous(whole, place.owner, request.grants) : authorityOfLine(whole, line);
  const links = [...at.links, ...rootAround(whole, authority.mounts.filter(isBesideRoot(root))).links];
  const roots = forkedRoots(authority, place.origin, at.forkable);
  const live = liveTargets(authority, [place.origin, ...roots]);
  for (const target of live) said.push(`${visible(target)} is written directly, not in the fork: it cannot be undone`);
  return Object.freeze({
    authority,
    digest: authorityDigest(authority),
    agent,
    line: Object.freeze(line),
    links,
    search,
    caches: at.caches,
    git: at.git,
    roots: Object.freeze(roots),
    live: Object.freeze(live),
    skipped,
    warnings: Object.freeze(said),
  });
}
