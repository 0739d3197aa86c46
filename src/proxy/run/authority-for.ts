/** The Authority a request runs under, and the permission to run, before anything is made for it. */
import type { Json } from '../../base/canonical-json.js';
import { ErrnoError } from '../../base/errno.js';
import type { AgentFacts } from '../agent-facts.js';
import { decideRequest, permissionToPrepare, type RunPermission } from '../approval/decide-request.js';
import { decisionOf } from '../approval/refused-decision.js';
import { withNetwork } from '../grants/approved-network.js';
import { type ResolvedAuthority, resolveAuthority } from '../grants/authority-of.js';
import { commonGitDirectory } from '../grants/git-worktree.js';
import { assertUsable } from '../grants/injected-secrets.js';
import { assertRunnable } from '../grants/runnable.js';
import { countUse } from '../grants/uses.js';
import type { Host, Place } from '../host.js';
import type { ExecRequest } from './exec-request.js';

/** What a command may do, and the leave to run it. */
export type Permitted = ResolvedAuthority & {
  readonly permission: RunPermission;
  /** Digest of what it may do without what the leave added. */
  readonly heldDigest: string;
};

/** A linked worktree needs its repository, as part of the fork; without a fork everything is written directly. */
function written({ origin }: Place, { writes = [], liveWrites = [], live }: ExecRequest) {
  if (live === true) return { writes: [], liveWrites: [...writes, ...liveWrites] };
  const common = commonGitDirectory(origin);
  return { writes: common === undefined ? writes : [...writes, common], liveWrites };
}

/** What it may do, as nobody has decided about it yet. */
export async function resolvedFor(
  host: Host,
  place: Place,
  request: ExecRequest,
  agent: AgentFacts | undefined,
): Promise<ResolvedAuthority> {
  const { reads = [], siblings = false, network = [], privateHosts = [], quota = {} } = request;
  const grants = { network: [...network, ...privateHosts], quota };
  return resolveAuthority(host, { place, agent, reads, ...written(place, request), siblings, grants });
}

/**
 * `known` is the authority of a kept jail, of its whole workspace. It stands where no agent is named: then it comes from the request
 * alone; an agent's files may say otherwise since. What is decided and approved is the command, where it starts. What is refused
 * here is in the record, like every command that ran.
 */
export async function authorityFor(
  host: Host,
  place: Place,
  request: ExecRequest,
  known?: ResolvedAuthority,
  decided: typeof decideRequest = decideRequest,
): Promise<Permitted> {
  let agent: AgentFacts | undefined;
  try {
    agent = request.agent === undefined ? undefined : await host.agents(request.agent);
    const whole = known === undefined ? place : { ...place, directory: place.origin };
    const resolved =
      agent === undefined && known !== undefined ? known : await resolvedFor(host, whole, request, agent);
    assertRunnable(host, place, resolved);
    await assertUsable(host, request.secrets ?? [], resolved.authority.network);
    const permission = await decided(host, place, resolved, request);
    await countUse(host, resolved.line);
    return { ...withNetwork(resolved, permission.granted), permission, heldDigest: resolved.digest };
  } catch (error) {
    if (error instanceof ErrnoError) {
      const { argv, agent: asked = null } = request;
      const { code, reason } = error;
      const decision = decisionOf(error) as Json | undefined;
      const facts = { argv, directory: place.directory, origin: place.origin, asked, error: code, reason, decision };
      const whose = { object: `workspace/${place.origin}`, agent: agent?.name, parent: agent?.parent?.agent };
      host.recorder.append({ ...whose, type: 'exec', status: 'denied', layer: 'proxy', facts });
    }
    throw error;
  }
}

/** To make a jail or a fork ready: rules are about commands, and there is none yet. */
export function authorityToPrepare(host: Host, place: Place, request: Omit<ExecRequest, 'argv'>): Promise<Permitted> {
  return authorityFor(host, place, { ...request, argv: [] }, undefined, async () => permissionToPrepare());
}
