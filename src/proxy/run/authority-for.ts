/** The Authority a request runs under, and the permission to run, before anything is made for it. */
import type { RecordEntry } from '../../audit/record.js';
import type { Agent } from '../../authority/agent.js';
import { parseHostPort } from '../../authority/network.js';
import type { Json } from '../../base/canonical-json.js';
import type { ErrnoError } from '../../base/errno.js';
import { decideRequest, permissionToPrepare, type RunPermission } from '../approval/decide-request.js';
import { decisionOf } from '../approval/refused-decision.js';
import { withNetwork } from '../grants/approved-network.js';
import { type ResolvedAuthority, resolveAuthority } from '../grants/authority-of.js';
import { assertAdditions } from '../grants/environment.js';
import { commonGitDirectories } from '../grants/git-worktree.js';
import { assertUsable } from '../grants/injected-secrets.js';
import { assertRunnable } from '../grants/runnable.js';
import { countUse } from '../grants/uses.js';
import type { Host, Place } from '../host.js';
import { recordedRefusal } from '../report/recorded-refusal.js';
import type { ExecRequest } from './exec-request.js';

/** What a command may do, and the approval to run it. */
export type Permitted = ResolvedAuthority & {
  readonly permission: RunPermission;
  /** Digest of what it may do without what the approval added. */
  readonly heldDigest: string;
};

/** Linked worktrees need their repository, as part of the fork; without a fork everything is written directly. */
function written({ origin }: Place, { writes = [], liveWrites = [], live }: ExecRequest) {
  if (live === true) return { writes: [], liveWrites: [...writes, ...liveWrites] };
  return { writes, repositories: commonGitDirectories(origin), liveWrites };
}

/** What it may do, as no one has decided about it yet. */
export async function resolvedFor(
  host: Host,
  place: Place,
  request: ExecRequest,
  agent: Agent | undefined,
): Promise<ResolvedAuthority> {
  const { reads = [], siblings = false, network = [], privateHosts = [], quota = {}, user } = request;
  // Each is one host: `any` among them would be every public one.
  const grants = { network: [...network, ...privateHosts.map(parseHostPort)], quota, user };
  const confirmed = request.projectDefaults?.reads;
  return resolveAuthority(host, { place, agent, reads, confirmed, ...written(place, request), siblings, grants });
}

/** A command that was refused before it began, in the record. */
export function refusedEntry(
  { directory, origin }: Place,
  { argv, agent: asked }: Pick<ExecRequest, 'argv' | 'agent'>,
  agent: Agent | undefined,
  decision?: Json,
): Omit<RecordEntry, 'status' | 'layer'> {
  const whose = { object: `workspace/${origin}`, agent: agent?.name, parent: agent?.parent?.agent };
  return { ...whose, type: 'exec', facts: { argv, directory, origin, asked: asked ?? null, decision } };
}

/**
 * `known` is the authority of a kept jail, of its whole workspace. It counts where no agent is named: then it comes
 * from the request alone; an agent's files may say otherwise since. What is decided and approved is the command, where
 * it starts. What is refused here is in the record, like every command that ran.
 */
export async function authorityFor(
  host: Host,
  place: Place,
  request: ExecRequest,
  known?: ResolvedAuthority,
  decided: typeof decideRequest = decideRequest,
): Promise<Permitted> {
  let agent: Agent | undefined;
  const about = (error: ErrnoError) => refusedEntry(place, request, agent, decisionOf(error) as Json | undefined);
  return recordedRefusal(host, about, async () => {
    agent = request.agent === undefined ? undefined : await host.agents(request.agent);
    const whole = known === undefined ? place : { ...place, directory: place.origin };
    const resolved =
      agent === undefined && known !== undefined ? known : await resolvedFor(host, whole, request, agent);
    assertRunnable(host, place, resolved);
    assertAdditions(request.environmentAdditions, host.environment);
    await assertUsable(host, request.secrets ?? [], resolved.authority.network);
    const permission = await decided(host, place, resolved, request);
    await countUse(host, resolved.line);
    return { ...withNetwork(resolved, permission.granted), permission, heldDigest: resolved.digest };
  });
}

/** To make a jail or a fork ready: rules are about commands, and there is none yet. */
export function authorityToPrepare(host: Host, place: Place, request: Omit<ExecRequest, 'argv'>): Promise<Permitted> {
  return authorityFor(host, place, { ...request, argv: [] }, undefined, async () => permissionToPrepare());
}
