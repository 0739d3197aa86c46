/**
 * A command that waits for a person: asked on disk, shown to the person who is there, and run or refused by the first
 * answer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalJson } from '../../base/canonical-json.js';
import { monotonic } from '../../base/clock.js';
import { ErrnoError } from '../../base/errno.js';
import { approvalLookMilliseconds, approvalWaitMilliseconds } from '../../base/limits/decisions.js';
import { flag, having, list, oneOf, word } from '../../base/shape.js';
import type { OpenFork } from '../../vault/vault.js';
import type { NetworkGrant } from '../grants/approved-network.js';
import { answerApproval, approvalsOf, type Said, settledAnswer } from './answer-approval.js';
import { type ApprovalAnswer, type Asked, holdsFor, scopes } from './approval.js';
import {
  type Bindings,
  type Bound,
  type BoundRequest,
  bindingOf,
  directoriesOf,
  hidesFork,
  shownOf,
} from './approval-binding.js';
import type { Attended } from './approval-store.js';
import { besideState } from './beside-state.js';
import { inputOf } from './command-input.js';
import type { Decided } from './decision.js';
import { noFork } from './fork-state.js';
import { refusedBy } from './refused-decision.js';

/** What a person says to a request that is shown to them while it waits. */
export type Spoken = Pick<Said, 'granted' | 'scope' | 'network'>;

/** A program gives it: what only looks like a yes is none, and an answer that cannot be read would be in the way of all others. */
const spokenShape = having({ granted: flag, scope: oneOf(...scopes), network: list(word) });

export interface ApprovalRequest extends BoundRequest {
  /** How long to wait for an answer. */
  readonly approvalMilliseconds?: number | undefined;
  /**
   * Shows a request to the person who is there. Their answer, or nothing; the signal ends it when another answer came.
   */
  readonly onApproval?: ((asked: Asked, signal: AbortSignal) => Promise<Spoken | undefined>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Asking extends Bound {
  readonly request: ApprovalRequest;
  readonly decided: Decided;
}

/** A fork that is locked; `imported` where it was made just now. */
export interface ForkToConfirm extends Pick<OpenFork, 'imported'> {
  /** Processes of earlier commands run in it: they can change what was approved while it runs. */
  readonly hasWriters?: boolean;
}

export interface Approved extends NetworkGrant {
  readonly id: string;
  readonly isBound: boolean;
  /** To be called with the fork locked: throws ESTALE where it is not, or will not stay, as it was when the approval was asked for. */
  confirm(fork: ForkToConfirm): Promise<void>;
  /** To be called right before the command, when the person's edits are in the fork: ESTALE where they are not those of then. */
  confirmDirectories(): Promise<void>;
}

/** Until an answer is there, or the time is over: then it is denied, unless an answer came first. So it is when no one waits any more. */
async function answerTo({ host, request }: Asking, asked: Asked, ended: AbortSignal): Promise<ApprovalAnswer> {
  const store = approvalsOf(host);
  // Of both clocks the first: one that is set back must not keep the caller, nor may the time count that the machine sleeps.
  const until = monotonic() + (asked.expiresAt - asked.askedAt);
  const deny = (why: string) =>
    answerApproval(host, asked, { granted: false, scope: 'once', by: 'ctx', why, network: [] });
  for (;;) {
    const answer = settledAnswer(host, store.one(asked.id));
    if (answer !== undefined) return answer;
    if (request.signal?.aborted === true) return deny('whoever asked went away');
    if (ended.aborted) return deny('it could not be asked');
    if (monotonic() >= until || host.now().getTime() >= asked.expiresAt) return deny('no answer came in time');
    await sleep(approvalLookMilliseconds);
  }
}

async function shownAndAnswered(asking: Asking, asked: Asked): Promise<ApprovalAnswer> {
  const { host, request } = asking;
  const ended = new AbortController();
  const shown = request.onApproval?.(asked, ended.signal).then((spoken) => {
    if (spoken === undefined) return;
    spokenShape(spoken, 'onApproval');
    answerApproval(host, asked, { ...spoken, by: `uid ${host.uid} at the terminal`, why: '' });
  });
  try {
    // The person who is shown it may fail to hear the answer: that must end the wait, too.
    return await Promise.race([
      answerTo(asking, asked, ended.signal),
      ...(shown === undefined ? [] : [shown.then(() => answerTo(asking, asked, ended.signal))]),
    ]);
  } finally {
    ended.abort();
  }
}

/** Each that asks has a request of its own: what is granted to one is for no other. */
function ask(asking: Asking, bound: Bindings): Attended {
  const { host, place, resolved, request, decided } = asking;
  const now = host.now().getTime();
  const { categories, reason, rule, words } = decided;
  const { digest, lasting, input } = bound;
  const attended = approvalsOf(host).ask(
    {
      askedAt: now,
      expiresAt: now + (request.approvalMilliseconds ?? approvalWaitMilliseconds),
      agent: resolved.agent?.name ?? null,
      argv: request.argv,
      directory: place.directory,
      origin: place.origin,
      categories,
      reason: request.live === true ? `${reason}; it would work on the directory itself, and cannot be undone` : reason,
      rule,
      connected: resolved.authority.network.kind !== 'none',
      // A rule is of words alone: it would let the same words run with any other input.
      words: input === undefined ? words : [],
      shown: shownOf(asking, bound),
      onceOnly: input?.kind === 'unknown',
      digest,
      lasting,
    },
    request.steps,
  );
  const { id, agent, argv, directory, expiresAt } = attended.asked;
  const facts = { argv, directory, categories, rule, expiresAt, digest, lasting };
  try {
    host.recorder.append({ type: 'approval', object: `approval/${id}`, status: 'begin', agent, facts });
  } catch (error) {
    // No one waits for it: nobody is to be asked.
    attended.leave();
    throw error;
  }
  return attended;
}

function stale({ host, place, resolved, request }: Asking, id: string, reason: string, remedy: string): ErrnoError {
  const whose = { agent: resolved.agent?.name, parent: resolved.agent?.parent?.agent };
  const { argv } = request;
  const facts = { argv, directory: place.directory, origin: place.origin, approval: id, error: 'ESTALE' };
  const object = `workspace/${place.origin}`;
  host.recorder.append({ ...whose, type: 'exec', object, status: 'denied', layer: 'proxy', facts });
  return new ErrnoError('ESTALE', { operation: 'decide', reason, remedy });
}

const askAgain = 'run the command again to ask for a new approval';
const changed = 'changed after the approval was asked for, so the approval no longer applies';

function approvedBy(asking: Asking, id: string, bound: Bindings, { scope, network, by }: ApprovalAnswer): Approved {
  const refuseChanged = async () => {
    if (bound.directories === undefined) return;
    if ((await directoriesOf(asking)) !== bound.directories) {
      throw stale(asking, id, `your directory ${changed}`, askAgain);
    }
    if ((await besideState(asking)) !== bound.beside) {
      throw stale(asking, id, `the agent's home, or a shared cache, ${changed}`, askAgain);
    }
    const input = await inputOf(asking.request.input ?? 'stdin');
    if (canonicalJson(input ?? null) === canonicalJson(bound.input ?? null)) return;
    throw stale(asking, id, `the input ${changed}`, askAgain);
  };
  return {
    id,
    network,
    by,
    isBound: scope === 'once' && !hidesFork(asking.request),
    confirm: async ({ imported, hasWriters = false }) => {
      if (scope !== 'once') return;
      await refuseChanged();
      const isSame =
        (await bindingOf(asking, { ...bound, fork: imported ? noFork : undefined })).digest === bound.digest;
      if (!isSame) throw stale(asking, id, `the fork ${changed}`, askAgain);
      if (!hasWriters || hidesFork(asking.request)) return;
      throw stale(
        asking,
        id,
        'processes of earlier commands are running in the fork, and could change what was approved',
        'end what runs in the background, or ctx jail stop; then run it again',
      );
    },
    confirmDirectories: async () => {
      if (scope === 'once') await refuseChanged();
    },
  };
}

/** Returns when the command may run; throws EACCES, ESTALE, EAGAIN or ECANCELED where it may not. */
export async function awaitApproval(asking: Asking): Promise<Approved> {
  const { host, request, decided } = asking;
  const store = approvalsOf(host);
  const bound = await bindingOf(asking);
  const now = host.now().getTime();
  for (const held of store.all().filter((each) => holdsFor(each, bound, now))) {
    const answer = settledAnswer(host, held);
    if (answer !== undefined) return approvedBy(asking, held.asked.id, bound, answer);
  }
  const { asked, leave } = ask(asking, bound);
  try {
    const answer = await shownAndAnswered(asking, asked);
    if (request.signal?.aborted === true) {
      throw new ErrnoError('ECANCELED', { operation: 'exec', reason: 'interrupted before the command started' });
    }
    if (!answer.granted) {
      const said = answer.why === '' ? '' : `: ${answer.why}`;
      throw refusedBy(decided, `${decided.reason}; it needs an approval, and ${answer.by} denied it${said}`);
    }
    if (answer.scope !== 'session') store.use(asked.id);
    return approvedBy(asking, asked.id, bound, answer);
  } finally {
    leave();
  }
}
