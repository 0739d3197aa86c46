/** A command that waits for a person: asked on disk, shown to whoever is there, and run or refused by the first answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrnoError } from '../base/errno.js';
import { approvalLookMilliseconds, approvalWaitMilliseconds } from '../base/limits.js';
import type { InjectedSecret } from '../network/secret.js';
import type { OpenFork } from '../vault/vault.js';
import { answerApproval, approvalsOf, type Said } from './answer-approval.js';
import { type Answer, type Asked, bindingDigest, holdsFor, statusOf } from './approval.js';
import type { NetworkGrant } from './approved-network.js';
import type { ResolvedAuthority } from './authority-of.js';
import type { Decided } from './decision.js';
import { commandEnvironment } from './environment.js';
import { forkState, noFork } from './fork-state.js';
import type { Host, Place } from './host.js';
import { secretNames } from './injected-secrets.js';
import { refusedBy } from './refused-decision.js';

/** What a person says to a request that is shown to them while it waits. */
export type Spoken = Pick<Said, 'granted' | 'scope' | 'network'>;

export interface ApprovalRequest {
  readonly argv: readonly string[];
  readonly environmentAdditions: readonly string[];
  /** What the network proxy adds to its requests. */
  readonly secrets?: readonly InjectedSecret[];
  /** The fork it works on; without one, the one in use. */
  readonly fork?: string | undefined;
  /** It works on the directory itself, and cannot be undone. */
  readonly live?: true;
  /** It is no command to run, but a verb of ctx that somebody asks for. */
  readonly verb?: 'apply';
  /** How long to wait for an answer. */
  readonly approvalMilliseconds?: number | undefined;
  /** Shows a request to whoever is there. Their answer, or nothing; the signal ends it when another answer came. */
  readonly onApproval?: ((asked: Asked, signal: AbortSignal) => Promise<Spoken | undefined>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Asking {
  readonly host: Host;
  readonly place: Place;
  readonly resolved: ResolvedAuthority;
  readonly request: ApprovalRequest;
  readonly decided: Decided;
}

/** A fork that is locked; `imported` where it was made just now. */
export type Opened = Pick<OpenFork, 'imported'>;

export interface Approved extends NetworkGrant {
  readonly id: string;
  /** To be called with the fork locked: throws ESTALE where it is not as it was when the approval was asked for. */
  confirm(fork: Opened): void;
}

function bindingOf({ host, place, resolved, request }: Asking, fork = forkState(host, place, request.fork)) {
  const { authority, agent, search } = resolved;
  const { uid } = place.owner;
  const environment = commandEnvironment({
    inherited: host.environment,
    search,
    person: { uid, name: uid === 0 ? 'root' : 'user', home: host.home },
    agent:
      agent === undefined
        ? undefined
        : { uid: agent.identity.uid, toolPath: authority.toolPath, variables: agent.environment },
    additions: request.environmentAdditions,
  });
  const injected = secretNames(request.secrets);
  return bindingDigest({
    argv: request.argv,
    directory: place.directory,
    environment,
    authority: resolved.digest,
    ...(injected.length > 0 ? { injected } : {}),
    ...(request.live === true ? { live: true } : {}),
    ...(request.verb === undefined ? {} : { verb: request.verb }),
    fork,
  });
}

/** Until an answer is there, or the time is over: then it is denied, unless an answer came first. */
async function answerTo({ host, request }: Asking, asked: Asked): Promise<Answer> {
  const store = approvalsOf(host);
  const deny = (why: string) =>
    answerApproval(host, asked, { granted: false, scope: 'once', by: 'ctx', why, network: [] });
  for (;;) {
    const { answer } = store.one(asked.id);
    if (answer !== undefined) return answer;
    if (request.signal?.aborted === true) return deny('whoever asked went away');
    if (host.now().getTime() >= asked.expiresAt) return deny('nobody answered in time');
    await sleep(approvalLookMilliseconds);
  }
}

async function shownAndAnswered(asking: Asking, asked: Asked): Promise<Answer> {
  const { host, request } = asking;
  const ended = new AbortController();
  const shown = request.onApproval?.(asked, ended.signal).then((spoken) => {
    if (spoken === undefined) return;
    answerApproval(host, asked, { ...spoken, by: `uid ${host.uid} at the terminal`, why: '' });
  });
  try {
    // Whoever is shown it may fail to hear the answer: that must end the wait, too.
    return await Promise.race([
      answerTo(asking, asked),
      ...(shown === undefined ? [] : [shown.then(() => answerTo(asking, asked))]),
    ]);
  } finally {
    ended.abort();
  }
}

/** The same command may wait already, for somebody whose process is gone. */
function askOrJoin(asking: Asking, bound: Pick<Asked, 'digest' | 'lasting'>): Asked {
  const { host, place, resolved, request, decided } = asking;
  const now = host.now().getTime();
  const store = approvalsOf(host);
  const same = store.all().find((each) => each.asked.digest === bound.digest && statusOf(each, now) === 'waiting');
  if (same !== undefined) return same.asked;
  const { categories, reason, rule, words } = decided;
  const asked = store.ask({
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
    words,
    ...bound,
  });
  const facts = {
    argv: request.argv,
    directory: place.directory,
    categories,
    rule,
    expiresAt: asked.expiresAt,
    ...bound,
  };
  host.recorder.append({
    type: 'approval',
    object: `approval/${asked.id}`,
    status: 'begin',
    agent: asked.agent,
    facts,
  });
  return asked;
}

function approvedBy(asking: Asking, id: string, bound: string, { scope, network, by }: Answer): Approved {
  return {
    id,
    network,
    by,
    confirm: ({ imported }) => {
      if (scope !== 'once' || bindingOf(asking, imported ? noFork : undefined).digest === bound) return;
      const { host, place, resolved, request } = asking;
      const whose = { agent: resolved.agent?.name, parent: resolved.agent?.parent?.agent };
      const facts = {
        argv: request.argv,
        directory: place.directory,
        origin: place.origin,
        approval: id,
        error: 'ESTALE',
      };
      const object = `workspace/${place.origin}`;
      host.recorder.append({ ...whose, type: 'exec', object, status: 'denied', layer: 'proxy', facts });
      throw new ErrnoError('ESTALE', {
        operation: 'decide',
        reason: 'the fork changed after the approval was asked for, which holds only for the fork as it was',
        remedy: 'run it again, and it is asked again',
      });
    },
  };
}

/** Returns when the command may run; throws EACCES, ESTALE, EAGAIN or ECANCELED where it may not. */
export async function awaitApproval(asking: Asking): Promise<Approved> {
  const { host, request, decided } = asking;
  const store = approvalsOf(host);
  const bound = bindingOf(asking);
  for (const { asked, answer } of store.all().filter((each) => holdsFor(each, bound, host.now().getTime()))) {
    if (answer === undefined || (answer.scope !== 'session' && !store.use(asked.id))) continue;
    return approvedBy(asking, asked.id, bound.digest, answer);
  }
  const asked = askOrJoin(asking, bound);
  const answer = await shownAndAnswered(asking, asked);
  if (request.signal?.aborted === true) {
    throw new ErrnoError('ECANCELED', { operation: 'exec', reason: 'interrupted before the command started' });
  }
  if (!answer.granted) {
    const said = answer.why === '' ? '' : `: ${answer.why}`;
    throw refusedBy(decided, `${decided.reason}; it needs an approval, and ${answer.by} denied it${said}`);
  }
  const isFirst = answer.scope === 'session' || store.use(asked.id);
  if (answer.scope === 'once' && !isFirst) {
    throw refusedBy(decided, 'the approval was for once, and another command has run by it', 'run it again');
  }
  return approvedBy(asking, asked.id, bound.digest, answer);
}
