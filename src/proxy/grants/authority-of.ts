/**
 * The Authority of one command: who it runs for, and what it is shown. Every layer takes what comes out of here and
 * nothing else: the jail is built from it (`view`), the hook and `ctx why` ask it, the record names its digest.
 *
 * Host facts are looked up once and paths made canonical once. What was asked for and is not there, or is not shown, is
 * in `warnings`; of the defaults (tooling, programs of PATH) a missing one is not news and is only in `skipped`.
 */
import { statSync } from 'node:fs';
import { contains, rebase } from '../../authority/absolute-path.js';
import type { Agent, SiblingChoice } from '../../authority/agent.js';
import { type Authority, authorityDigest, type Identity, makeAuthority } from '../../authority/authority.js';
import { parseLabel } from '../../authority/label.js';
import type { Mount } from '../../authority/mount.js';
import { anyPublicNetwork, hostNetwork, type Network } from '../../authority/network.js';
import { makePolicy } from '../../authority/policy.js';
import { makeQuota, type Quota } from '../../authority/quota.js';
import { makeSurface, type Surface } from '../../authority/surface.js';
import { ErrnoError } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { shiftedCount } from '../../jail/id-maps.js';
import type { Link } from '../../jail/plan.js';
import type { Host, Place } from '../host.js';
import { type AgentRoot, rootOf } from './agent-root.js';
import type { AskedUser } from './asked-user.js';
import { authorityOfLine, lineageOf, rootAround, withReadOnlyParts } from './line-authority.js';
import { operatorMountsAt } from './operator-file.js';
import { grantedPaths, type SurfaceAt, surfaceAt, type TaskPaths } from './surface-at.js';

/** A person who runs a command without naming an agent: this directory and nothing more. */
const anonymousLabel = parseLabel('user_u:agent_r:exec_t:s0');

export interface AuthorityRequest extends TaskPaths {
  readonly place: Place;
  readonly agent?: Agent | undefined;
  /** For a command without an agent; what an agent has is in its files. */
  readonly grants?: TaskGrants | undefined;
}

export interface TaskGrants {
  /** `any`, or `host:port`. */
  readonly network: readonly string[];
  readonly quota: Quota;
  /** Who it is inside; without one, the workspace's owner. */
  readonly user?: AskedUser | undefined;
}

export interface ResolvedAuthority {
  readonly authority: Authority;
  readonly digest: string;
  readonly agent: Agent | undefined;
  /** It and whom it descends from, the one that a person made first. */
  readonly line: readonly Agent[];
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
  /** Targets outside the fork that may be written: no one can undo what is written there. */
  readonly live: readonly string[];
  readonly skipped: readonly string[];
  readonly warnings: readonly string[];
}

export function grantedNetwork(names: readonly string[]): Network {
  return names.includes('any') ? anyPublicNetwork : hostNetwork(names);
}

function anonymous(
  surface: Surface,
  operator: readonly Mount[],
  owner: Place['owner'],
  grants: TaskGrants | undefined,
): Authority {
  const user = grants?.user;
  const identity =
    user === undefined
      ? { uid: owner.uid, gid: owner.gid }
      : { ...checkedUser(owner, user), isolation: 'userns' as const };
  const network = grantedNetwork(grants?.network ?? []);
  const connect = { subject: anonymousLabel.type, class: 'network', name: 'default', permission: 'connect' } as const;
  return makeAuthority({
    identity: { ...identity, label: anonymousLabel },
    surface,
    mounts: withReadOnlyParts(surface, operator),
    policy: makePolicy('', network.kind === 'none' ? [] : [connect]),
    network,
    quota: makeQuota(grants?.quota ?? {}),
  });
}

/** Numbers that a command of this caller can have inside. */
export function checkedUser({ shift }: Place['owner'], { uid, gid = uid }: AskedUser): Pick<Identity, 'uid' | 'gid'> {
  const most = shift > 0 ? shiftedCount - 1 : 0xffff_fffe;
  const large = [uid, gid].find((id) => !Number.isSafeInteger(id) || id < 0 || id > most);
  if (large === undefined) return { uid, gid };
  throw new ErrnoError('EINVAL', {
    operation: '--user',
    reason: `expected ids from 0 to ${most}, got ${large}`,
    remedy: 'any number that no file of the workspace has will do, such as 1000',
  });
}

function refuseGrantsBesideAgent({ agent, grants }: AuthorityRequest): void {
  if (agent === undefined || grants === undefined) return;
  if (grants.user !== undefined) {
    throw new ErrnoError('EINVAL', {
      operation: `agent ${agent.name}`,
      reason: '--user cannot be used with an agent: its own files set its uid',
      remedy: `ctx agent set ${agent.name} iso userns gives it a uid of its own inside`,
    });
  }
  if (grants.network.length === 0 && Object.keys(grants.quota).length === 0) return;
  throw new ErrnoError('EINVAL', {
    operation: `agent ${agent.name}`,
    reason: 'the network and the limits of an agent come from its own files, not from options',
    remedy: `ctx agent show ${agent.name}`,
  });
}

/** Of an Authority's mounts, those that are not its root's own. */
function isBesideRoot(root: AgentRoot | undefined): (mount: Mount) => boolean {
  return ({ source, target }) => root === undefined || source !== rebase(target, '/', root.source);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Renaming a directory above what is hidden would show it at the next launch; what is not there yet could be made. */
function refuseAboveHidden({ view }: Authority, origin: string, hidden: readonly string[]): void {
  const holds = (source: string) => hidden.some((inside) => inside !== source && contains(source, inside));
  const above = view
    .allowedWrites()
    .find(({ of, source }) => of === 'host' && !contains(origin, source) && holds(source));
  if (above === undefined) return;
  throw new ErrnoError('EINVAL', {
    operation: 'write',
    path: above.source,
    reason: 'expected a directory that does not hold the files of ctx itself',
    remedy: 'name the directories inside it that are to be written',
  });
}

/** Directories beside the workspace that a fork can hold: as they are on the host, none in another, none around it. */
function forkedRoots({ view }: Authority, origin: string, forkable: readonly string[]): readonly string[] {
  const apart = forkable.filter((path) => {
    const plain = view.allowedWrites().some(({ target, source }) => target === path && source === path);
    return plain && !contains(path, origin) && !contains(origin, path) && isDirectory(path);
  });
  return apart.filter((path) => !apart.some((other) => other !== path && contains(other, path)));
}

/** Writable places that are not the fork's. */
function liveTargets({ view }: Authority, roots: readonly string[]): readonly string[] {
  return view
    .allowedWrites()
    .filter(({ of }) => of === 'host')
    .filter(({ source }) => !roots.some((root) => contains(root, source)))
    .map(({ target }) => target);
}

/** What the task may read, and what an agent's own files add: some of the host, and the listed siblings. */
function surfaceWith(
  { surface, listedSiblings }: SurfaceAt,
  siblings: SiblingChoice,
  reads: readonly string[],
): Surface {
  return makeSurface({
    ...surface,
    siblingReads: siblings === 'all' ? listedSiblings : surface.siblingReads,
    additionalReads: [...surface.additionalReads, ...reads],
  });
}

export async function resolveAuthority(host: Host, request: AuthorityRequest): Promise<ResolvedAuthority> {
  const { place, agent } = request;
  refuseGrantsBesideAgent(request);
  const line = agent === undefined ? [] : await lineageOf(host, agent);
  const root = rootOf(line, host.hidden, host.root);
  const said: string[] = [];
  const reads = new Map(
    line.map(({ name, additionalReads }) => [
      name,
      grantedPaths(additionalReads, `additional_reads of agent ${name}`, '/', host, said),
    ]),
  );
  const ofAgent = reads.get(agent?.name ?? '');
  const task = { ...request, agentReads: ofAgent?.paths ?? [] };
  const at = surfaceAt(host, place, task, agent?.scope ?? 'project', root !== undefined);
  said.push(...at.warnings);
  const surfaceOf = ({ name, siblingReads }: Agent) => surfaceWith(at, siblingReads, reads.get(name)?.paths ?? []);
  const surface = agent === undefined ? at.surface : surfaceOf(agent);
  const operator = await operatorMountsAt(host, surface, said);
  const authority =
    agent === undefined
      ? anonymous(surface, operator, place.owner, request.grants)
      : authorityOfLine({ host, surfaceOf, operator, root, warnings: said }, line);
  refuseAboveHidden(authority, place.origin, host.hidden);
  if (authority.surface.siblingReads.length < at.listedSiblings.length) {
    const names = at.listedSiblings.map(visible).join(', ');
    said.push(`.ctx/workspace.json asks to show ${names}: --siblings shows them, read-only`);
  }
  const around = rootAround(host, root, surface, authority.mounts.filter(isBesideRoot(root)));
  const links = [...at.links, ...(ofAgent?.links ?? []), ...around.links];
  const roots = forkedRoots(authority, place.origin, at.forkable);
  const live = liveTargets(authority, [place.origin, ...roots]);
  for (const target of live) said.push(`${visible(target)} is written directly, not in the fork: it cannot be undone`);
  return Object.freeze({
    authority,
    digest: authorityDigest(authority),
    agent,
    line: Object.freeze(line),
    links,
    search: at.search,
    caches: at.caches,
    git: at.git,
    roots: Object.freeze(roots),
    live: Object.freeze(live),
    skipped: at.skipped,
    warnings: Object.freeze(said),
  });
}
