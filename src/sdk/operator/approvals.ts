/** Commands that wait for a person, and the answers: `ctx approvals`. Nothing in a jail can get here: it has no store. */
import { ErrnoError } from '../../base/errno.js';
import { answerApproval, approvalsOf, settledAnswer } from '../../proxy/approval/answer-approval.js';
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalScope,
  type ApprovalStatus,
  type Asked,
  statusOf,
} from '../../proxy/approval/approval.js';
import type { Spoken } from '../../proxy/approval/await-approval.js';
import type { NetworkNames } from '../../proxy/grants/approved-network.js';
import type { Host } from '../../proxy/host.js';

export { terminalTurn } from '../../proxy/approval/terminal-turn.js';
export type { ApprovalAnswer, ApprovalScope, ApprovalStatus, Asked, Spoken };

/** One request, as it is now. */
export interface Waiting extends Approval {
  readonly status: ApprovalStatus;
}

export interface Reply {
  /** Who answers; without it, the user of this process. */
  readonly by?: string | undefined;
  readonly why?: string | undefined;
}

export interface GrantOptions extends Reply {
  /** For how long it holds; without one, once. */
  readonly scope?: ApprovalScope | undefined;
  /** What it may connect to beside its own: `any`, or `host:port`. */
  readonly network?: NetworkNames | undefined;
}

export class Approvals {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  #standing(approval: Approval): Waiting {
    settledAnswer(this.#host, approval);
    return { ...approval, status: statusOf(approval, this.#host.now().getTime()) };
  }

  /** Those that wait; with `all` those that were answered or expired too. */
  list({ all = false }: { readonly all?: boolean } = {}): readonly Waiting[] {
    const known = approvalsOf(this.#host)
      .all()
      .map((each) => this.#standing(each));
    return all ? known : known.filter(({ status }) => status === 'waiting');
  }

  /** ENOENT where there is none of that name. */
  one(id: string): Waiting {
    return this.#standing(approvalsOf(this.#host).one(id));
  }

  /** What an apply would write, each as `action path`; nothing of a command. */
  steps(id: string): readonly string[] {
    return approvalsOf(this.#host).steps(id);
  }

  /** The first answer holds, and is what is returned: it may be somebody else's. ESTALE where it waits no more. */
  grant(id: string, { scope = 'once', network = [], ...reply }: GrantOptions = {}): ApprovalAnswer {
    return this.#answer(id, { granted: true, scope, network }, reply);
  }

  deny(id: string, reply: Reply = {}): ApprovalAnswer {
    return this.#answer(id, { granted: false, scope: 'once', network: [] }, reply);
  }

  #answer(
    id: string,
    said: Pick<ApprovalAnswer, 'granted' | 'scope' | 'network'>,
    { by, why = '' }: Reply,
  ): ApprovalAnswer {
    const { asked, status } = this.one(id);
    if (status !== 'waiting') {
      throw new ErrnoError('ESTALE', {
        operation: 'approvals',
        reason: `request ${id} is not waiting: it is ${status}`,
        remedy: 'run the command again to ask for a new approval',
      });
    }
    return answerApproval(this.#host, asked, { ...said, by: by ?? `uid ${this.#host.uid}`, why });
  }
}
