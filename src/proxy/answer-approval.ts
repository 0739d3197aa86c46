/** A person's answer to a command that waits: in the record first, then the rule where it is to be one, then for whoever waits. */
import { ErrnoError } from '../base/errno.js';
import { storePaths } from '../vault/layout.js';
import type { Answer, Asked, Scope } from './approval.js';
import { ApprovalStore } from './approval-store.js';
import { type NetworkNames, networkOf } from './approved-network.js';
import { makeRule } from './decision-rule.js';
import type { Host } from './host.js';
import { addRule } from './rules-file.js';

export interface Said {
  readonly granted: boolean;
  readonly scope: Scope;
  readonly by: string;
  readonly why: string;
  /** What it may connect to beside its own: `any`, or `host:port`. */
  readonly network: NetworkNames;
}

export function approvalsOf(host: Pick<Host, 'store'>): ApprovalStore {
  return new ApprovalStore(storePaths(host.store.directory).approvals);
}

/** The first answer holds, and is what is returned. */
export function answerApproval(host: Host, asked: Asked, said: Said): Answer {
  const asRule = said.granted && said.scope === 'rule';
  if (asRule && asked.words.length === 0) {
    throw new ErrnoError('EINVAL', {
      operation: 'approvals',
      reason: 'no rule can name this command: it could not be read',
      remedy: 'grant it once, or for the session',
    });
  }
  if (asRule && said.network.length > 0) {
    throw new ErrnoError('EINVAL', {
      operation: 'approvals',
      reason: 'a rule lets a command run and grants no network',
      remedy: "grant it once or for the session, or write the network into the agent's files",
    });
  }
  networkOf(said.network);
  const store = approvalsOf(host);
  const { answer } = store.one(asked.id);
  if (answer !== undefined) return answer;
  const type = said.granted ? 'approval.grant' : 'approval.deny';
  const facts = {
    scope: said.scope,
    by: said.by,
    why: said.why,
    network: said.network,
    argv: asked.argv,
    digest: asked.digest,
  };
  const object = `approval/${asked.id}`;
  host.recorder.append({ type, object, status: 'ok', agent: asked.agent, facts, durable: true });
  if (asRule) addRule(host, makeRule('allow_with_checkpoint', asked.agent ?? '-', { command: asked.words }));
  return store.answer(asked.id, { version: 1, at: host.now().getTime(), ...said });
}
