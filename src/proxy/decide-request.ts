/** From a request to the leave to run it: classify, decide, and where the decision says so wait for a person. */
import { classify } from '../shell/classify.js';
import type { NetworkGrant } from './approved-network.js';
import type { ResolvedAuthority } from './authority-of.js';
import { type ApprovalRequest, awaitApproval, type Opened } from './await-approval.js';
import { type Decision, decide } from './decision.js';
import type { Host, Place } from './host.js';
import { refusedBy } from './refused-decision.js';
import { readRules } from './rules-file.js';

export interface Leave {
  readonly decision: Decision;
  /** The approval it runs by. */
  readonly approval: string | null;
  /** What it may connect to by that approval, beside its own. */
  readonly granted: NetworkGrant;
  /** What whoever runs it should hear of it. */
  readonly warnings: readonly string[];
  /** To be called with the fork locked: throws ESTALE where it is not as it was approved. */
  confirm(fork: Opened): void;
}

const nothing: NetworkGrant = Object.freeze({ network: Object.freeze([]), by: '' });

/** Throws where the command must not run: EACCES with the reason, and what an operator would do. */
export async function decideRequest(
  host: Host,
  place: Place,
  resolved: ResolvedAuthority,
  request: ApprovalRequest,
): Promise<Leave> {
  const decided = decide({
    classification: await classify({ argv: request.argv }),
    agents: resolved.line.map(({ name }) => name).reverse(),
    network: resolved.authority.network,
    rules: readRules(host),
  });
  const { words: _words, ...decision } = decided;
  const { action, categories, reason, rule } = decision;
  if (action === 'deny') {
    const remedy =
      rule === 'default'
        ? `an operator who wants it tried in the jail: ctx rules add allow_with_checkpoint --class ${categories.at(-1)}`
        : `ctx rules list shows rule ${rule}`;
    throw refusedBy(decided, reason, remedy);
  }
  const unconnected = categories.includes('networked') && resolved.authority.network.kind === 'none';
  const warnings = unconnected ? [reason] : [];
  if (action !== 'require_approval')
    return { decision, approval: null, granted: nothing, warnings, confirm: () => undefined };
  const { id, network, by, confirm } = await awaitApproval({ host, place, resolved, request, decided });
  return { decision, approval: id, granted: { network, by }, warnings: network.length > 0 ? [] : warnings, confirm };
}
