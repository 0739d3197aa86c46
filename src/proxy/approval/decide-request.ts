/** From a request to the permission to run it: classify, decide, and where the decision says so wait for a person. */
import type { Network } from '../../authority/network.js';
import { type Classification, classify } from '../../shell/classify.js';
import type { NetworkGrant } from '../grants/approved-network.js';
import type { ResolvedAuthority } from '../grants/authority-of.js';
import type { Host, Place } from '../host.js';
import type { ApprovalRequest, ForkToConfirm } from './await-approval.js';
import { type Decided, type Decision, decide } from './decision.js';
import { refusedBy } from './refused-decision.js';
import { readRules } from './rules-file.js';

export interface RunPermission {
  readonly decision: Decision;
  /** The approval it runs by. */
  readonly approval: string | null;
  /** What it may connect to by that approval, beside its own. */
  readonly granted: NetworkGrant;
  /** What explains a failure of it. What succeeded did without. */
  readonly hints: readonly string[];
  /** It was approved for what it finds, and that once: while it runs, no command may change that. */
  readonly isBound: boolean;
  /** To be called with the fork locked: throws ESTALE where it is not as it was approved. */
  confirm(fork: ForkToConfirm): Promise<void>;
  /** To be called right before the command: throws ESTALE where the person's directories are not as they were approved. */
  confirmDirectories(): Promise<void>;
}

const nothing: NetworkGrant = Object.freeze({ network: Object.freeze([]), by: '' });

function plainPermission(decision: Decision, hints: readonly string[]): RunPermission {
  const holds = async () => undefined;
  return {
    decision,
    approval: null,
    granted: nothing,
    hints,
    isBound: false,
    confirm: holds,
    confirmDirectories: holds,
  };
}

/** To make a jail or a fork ready. No command runs by it: each is decided when it comes. */
export function permissionToPrepare(): RunPermission {
  return plainPermission(
    { action: 'allow', categories: ['read_only'], reason: 'runs no command', rule: 'default' },
    [],
  );
}

/** What is decided about a command by its words, asked by `exec`, `ctx rules test` and `ctx why` alike. */
export async function judgeCommand(
  host: Pick<Host, 'root'>,
  { line, network }: { readonly line: ResolvedAuthority['line']; readonly network: Network },
  argv: readonly string[],
): Promise<{ readonly decided: Decided; readonly classification: Classification }> {
  const classification = await classify({ argv });
  const agents = line.map(({ name }) => name).reverse();
  return { decided: decide({ classification, agents, network, rules: readRules(host) }), classification };
}

export interface DecidedRequest extends ApprovalRequest {
  /** The approval of the call that it is run for: whoever gave it was shown what this runs with. */
  readonly approvedCall?: string | undefined;
}

/** Throws where the command must not run: EACCES with the reason, and what an operator would do. */
export async function decideRequest(
  host: Host,
  place: Place,
  resolved: ResolvedAuthority,
  request: DecidedRequest,
): Promise<RunPermission> {
  const { decided } = await judgeCommand(
    host,
    { line: resolved.line, network: resolved.authority.network },
    request.argv,
  );
  const { words: _words, ...decision } = decided;
  const { action, categories, reason, rule } = decision;
  if (action === 'deny') {
    const remedy =
      rule === 'default'
        ? `an operator can let it be tried in the jail: ctx rules add allow_with_checkpoint --class ${categories.at(-1)}`
        : `ctx rules list shows rule ${rule}`;
    throw refusedBy(decided, reason, remedy);
  }
  const unconnected = categories.includes('networked') && resolved.authority.network.kind === 'none';
  const hints = unconnected ? [reason] : [];
  if (action !== 'require_approval') return plainPermission(decision, hints);
  const { approvedCall } = request;
  if (approvedCall !== undefined) return { ...plainPermission(decision, hints), approval: approvedCall };
  // Seldom needed, and every command would pay for it.
  const { awaitApproval } = await import('./await-approval.js');
  const { id, network, by, ...confirming } = await awaitApproval({ host, place, resolved, request, decided });
  return { decision, approval: id, granted: { network, by }, hints: network.length > 0 ? [] : hints, ...confirming };
}
