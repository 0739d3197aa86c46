/**
 * A person's answer to a command that waits. There is one winner: the answer is linked first, which only one can, then
 * it is in the record, then it acts. Where a process ended in between, anyone who reads the answer next does the rest.
 */
import { ErrnoError } from '../../base/errno.js';
import { storePaths } from '../../vault/store/layout.js';
import { type NetworkNames, networkOf } from '../grants/approved-network.js';
import type { Host } from '../host.js';
import type { Approval, ApprovalAnswer, ApprovalScope, Asked } from './approval.js';
import { ApprovalStore } from './approval-store.js';
import { makeRule } from './decision-rule.js';
import { addRule } from './rules-file.js';

export interface Said {
  readonly granted: boolean;
  readonly scope: ApprovalScope;
  readonly by: string;
  readonly why: string;
  /** What it may connect to beside its own: `any`, or `host:port`. */
  readonly network: NetworkNames;
}

export function approvalsOf(host: Pick<Host, 'store' | 'lockLibrary'>): ApprovalStore {
  return new ApprovalStore(storePaths(host.store.directory).approvals, host.lockLibrary);
}

/** What can be no answer to this request. */
function refuseUnfit(asked: Asked, { granted, scope, network }: Said): void {
  const unfit = (reason: string, remedy: string) =>
    new ErrnoError('EINVAL', { operation: 'approvals', reason, remedy });
  if (granted && scope !== 'once' && asked.onceOnly) {
    throw unfit('the command reads input that is not known yet, so it can be granted once only', 'grant it once');
  }
  if (granted && scope === 'rule' && asked.words.length === 0) {
    throw unfit(
      'a rule cannot cover this request: it is not a command, has input, has a computed word, or could not be analysed',
      'grant it once, or for the session',
    );
  }
  if (granted && scope === 'rule' && network.length > 0) {
    throw unfit(
      'a rule lets a command run and grants no network',
      "grant it once or for the session, or write the network into the agent's files",
    );
  }
  networkOf(network);
}

/** With the lock on the request's answer: into the record, and a rule where it is to be one; nothing where that was done. */
function settle(host: Host, store: ApprovalStore, asked: Asked, answer: ApprovalAnswer): void {
  if (store.isSettled(asked.id)) return;
  const { granted, scope, by, why, network } = answer;
  const type = granted ? 'approval.grant' : 'approval.deny';
  const facts = { scope, by, why, network, argv: asked.argv, digest: asked.digest };
  const object = `approval/${asked.id}`;
  host.recorder.append({ type, object, status: 'ok', agent: asked.agent, facts, durable: true });
  if (granted && scope === 'rule') {
    addRule(host, makeRule('allow_with_checkpoint', asked.agent ?? '-', { command: asked.words }));
  }
  store.settle(asked.id);
}

/** The first answer holds, and is what is returned. */
export function answerApproval(host: Host, asked: Asked, said: Said): ApprovalAnswer {
  refuseUnfit(asked, said);
  const store = approvalsOf(host);
  return store.whileAnswering(asked.id, () => {
    const { granted, scope, by, why, network } = said;
    const own: ApprovalAnswer = { version: 1, at: host.now().getTime(), granted, scope, by, why, network };
    const answer = store.answer(asked.id, own);
    settle(host, store, asked, answer);
    return answer;
  });
}

/** For anyone who reads an answer: what it asks for is done afterwards, also where its giver was killed. */
export function settledAnswer(
  host: Host,
  { asked, answer }: Pick<Approval, 'asked' | 'answer'>,
): ApprovalAnswer | undefined {
  const store = approvalsOf(host);
  if (answer === undefined || store.isSettled(asked.id)) return answer;
  store.whileAnswering(asked.id, () => settle(host, store, asked, answer));
  return answer;
}
