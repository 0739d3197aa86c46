/**
 * The SDK's face of one directory: commands in jails, on its fork, and what a person does with the fork. It is thin: every
 * method calls what the verb of the same name calls, so that both decide, record and refuse alike. Failures are ErrnoErrors.
 * Nothing here writes to a stream of the process, ends it, or keeps anything beside the object.
 *
 * Methods run one after the other, since a fork that is at work cannot be looked at; sessions that a caller starts have a
 * turn of their own.
 */
import { ErrnoError } from '../base/errno.js';
import type { Asked } from '../proxy/approval.js';
import { applyByApproval } from '../proxy/approved-apply.js';
import { resolvedFor } from '../proxy/authority-for.js';
import type { Envelope } from '../proxy/envelope.js';
import type { ExecRequest } from '../proxy/exec-request.js';
import { execute } from '../proxy/execute.js';
import { diffOfFork } from '../proxy/fork-diff.js';
import { type ForkRequest, type ForkStatus, forgetFork, keepFork, lookAtFork } from '../proxy/fork-verbs.js';
import {
  allForks,
  listMoments,
  type Moment,
  makeFork,
  type RolledBack,
  rollBackFork,
  saveMoment,
} from '../proxy/history-verbs.js';
import { type Host, type Place, placeOf } from '../proxy/host.js';
import { Session } from '../proxy/session.js';
import { shownFrom } from '../proxy/shown-from.js';
import type { Applied } from '../vault/apply.js';
import type { ConflictChoice } from '../vault/apply-plan.js';
import { diffText } from '../vault/diff-text.js';
import type { ForkSummary, MadeFork } from '../vault/forks.js';
import { endedBy } from './cancellation.js';
import type { Edit } from './edit.js';
import type { SearchOptions } from './file-answers.js';
import type { Command, ExecOptions, RunOptions, WorkspaceOptions } from './options.js';
import { startingPlace } from './place.js';
import { argvOf, type FileOptions, type Found, type Listing, WorkspaceSession } from './workspace-session.js';

export interface DiffOptions {
  /** Files or directories; without any, everything. */
  readonly paths?: readonly string[];
  /** A checkpoint: only what changed after it. */
  readonly since?: string | undefined;
}

export interface Diff extends ForkStatus {
  /** A unified diff, as `git apply` takes it. */
  readonly text: string;
  /** Files that differ too, and are not in the text. */
  readonly left: number;
}

export interface ApplyOptions {
  /** Only these, and what is below them. */
  readonly paths?: readonly string[];
  /** Paths that both sides changed: nothing is written (the default), the directory's stay, or the fork's are taken. */
  readonly conflicts?: ConflictChoice;
  readonly ours?: readonly string[];
  readonly theirs?: readonly string[];
  /** Write files that programs outside run or obey, too. */
  readonly allowSensitive?: boolean;
  readonly dryRun?: boolean;
}

export type Answer = Omit<Applied, 'fork'>;

/** An apply that a person has to agree to first. */
export interface AskedApplyOptions extends Pick<ExecRequest, 'approvalMilliseconds' | 'onApproval' | 'signal'> {
  readonly paths?: readonly string[];
}

const plainText = { paint: (_colour: string, text: string) => text, escaped: false };

export class Workspace {
  readonly #host: Host;
  readonly #options: WorkspaceOptions;
  readonly #place: Place;
  #turn: Promise<unknown> = Promise.resolve();
  /** The jail for files and for `run`, from its first use on. */
  #kept: WorkspaceSession | undefined;
  readonly #closing = new AbortController();

  /** Callers of the package use `open`. */
  constructor(host: Host, directory: string, options: WorkspaceOptions = {}) {
    this.#host = host;
    this.#options = options;
    this.#place = placeOf(host, directory);
  }

  /** Where it was opened. */
  get directory(): string {
    return this.#place.directory;
  }

  /** The directory that has the fork: the repository it was opened in, or where it was opened. */
  get origin(): string {
    return this.#place.origin;
  }

  /** After what was asked before it; not at all where the signal came first. */
  #inTurn<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const done = this.#turn.then(() => {
      this.#refuseClosed();
      if (signal?.aborted === true) {
        throw new ErrnoError('ECANCELED', { operation: 'workspace', reason: 'interrupted before its turn' });
      }
      return work();
    });
    this.#turn = done.catch(() => undefined);
    return done;
  }

  #refuseClosed(): void {
    if (!this.#closing.signal.aborted) return;
    throw new ErrnoError('EPIPE', { operation: 'workspace', path: this.origin, reason: 'it was closed' });
  }

  /** What ends a command: the caller's signal, or the end of all. */
  #endOf(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
  }

  get #request(): ForkRequest & Omit<ExecRequest, 'argv' | 'streams'> {
    const { environment = [], weakened = [], wait = false, ...grants } = this.#options;
    return { ...grants, cwd: this.directory, environmentAdditions: environment, weakened, wait };
  }

  #shown(paths: readonly string[]): readonly string[] {
    return shownFrom(this.#place, paths);
  }

  /** Throws what a first command would for what the workspace was opened with: an agent or a grant that is none. */
  async check(): Promise<void> {
    const { agent } = this.#options;
    const facts = agent === undefined ? undefined : await this.#host.agents(agent);
    await resolvedFor(this.#host, this.#place, { ...this.#request, argv: ['true'], streams: 'capture' }, facts);
  }

  /** Runs a command in a jail of its own; its report when it has ended. */
  exec(command: Command, options: ExecOptions = {}): Promise<Envelope> {
    const { directory, environment = [], ...rest } = options;
    const signal = this.#endOf(options.signal);
    return this.#inTurn(() => {
      const request = this.#request;
      return execute(this.#host, {
        ...request,
        ...rest,
        approvalMilliseconds: rest.approvalMilliseconds ?? request.approvalMilliseconds,
        onApproval: rest.onApproval ?? request.onApproval,
        argv: argvOf(command),
        cwd: startingPlace(this.#host, this.#place, directory),
        environmentAdditions: [...request.environmentAdditions, ...environment],
        streams: 'capture',
        signal,
        onStarted: endedBy(signal),
      });
    }, options.signal);
  }

  /** A kept jail of the caller's own: started once, then a command costs about a fork. End it when done. */
  async session(): Promise<WorkspaceSession> {
    return new WorkspaceSession(this.#host, this.#place, await Session.start(this.#host, this.#request));
  }

  async #keptSession(): Promise<WorkspaceSession> {
    if (this.#kept !== undefined) return this.#kept;
    const kept = await this.session();
    this.#kept = kept;
    this.#refuseClosed();
    void kept.ended.then(() => {
      // It ended by itself: what it held is let go of, and the next use makes another.
      return this.#kept === kept ? this.#leaveKept() : undefined;
    });
    return kept;
  }

  async #leaveKept(): Promise<void> {
    const kept = this.#kept;
    this.#kept = undefined;
    await kept?.end();
  }

  /** In the kept jail. Where what its agent may do has changed since, nothing ran, and another jail takes its place. */
  #inKept<T>(use: (session: WorkspaceSession) => Promise<T>, signal: AbortSignal | undefined, again = () => true) {
    return this.#inTurn(async () => {
      try {
        return await use(await this.#keptSession());
      } catch (error) {
        const isLost = error instanceof ErrnoError && error.code === 'ESTALE' && error.operation === 'session';
        if (!isLost) throw error;
        await this.#leaveKept();
        if (!again()) throw error;
        return use(await this.#keptSession());
      }
    }, signal);
  }

  /** As `exec`, in the jail that this workspace keeps: quick, and what it leaves running goes on until `close`. */
  run(command: Command, options: RunOptions = {}): Promise<Envelope> {
    const { onApproval = this.#options.onApproval, approvalMilliseconds = this.#options.approvalMilliseconds } =
      options;
    let asked = false;
    const watched = async (request: Asked, signal: AbortSignal) => {
      asked = true;
      return onApproval?.(request, signal);
    };
    return this.#inKept(
      (session) =>
        session.exec(command, {
          ...options,
          approvalMilliseconds,
          onApproval: watched,
          signal: this.#endOf(options.signal),
        }),
      options.signal,
      // A person is not asked twice for one command.
      () => !asked,
    );
  }

  read(path: string, options: FileOptions = {}): Promise<Buffer> {
    return this.#inKept((session) => session.read(path, options), options.signal);
  }

  write(path: string, content: string | Uint8Array, options: FileOptions = {}): Promise<Envelope> {
    return this.#inKept((session) => session.write(path, content, options), options.signal);
  }

  edit(path: string, edit: Edit, options: FileOptions = {}): Promise<{ readonly count: number }> {
    return this.#inKept((session) => session.edit(path, edit, options), options.signal);
  }

  list(path = '.', options: FileOptions & { readonly depth?: number | undefined } = {}): Promise<Listing> {
    return this.#inKept((session) => session.list(path, options), options.signal);
  }

  search(pattern: string, options: SearchOptions & FileOptions = {}): Promise<Found> {
    return this.#inKept((session) => session.search(pattern, options), options.signal);
  }

  /** What is pending. ENOENT before the first command. */
  status(): Promise<ForkStatus> {
    return this.#inTurn(() => lookAtFork(this.#host, this.#request));
  }

  diff({ paths = [], since }: DiffOptions = {}): Promise<Diff> {
    return this.#inTurn(async () => {
      const { status, texts, left } = await diffOfFork(this.#host, { ...this.#request, since, paths });
      return { ...status, text: texts.map((text) => diffText(text, plainText)).join(''), left };
    });
  }

  /** Keeps this moment of the fork; there is one before every command anyway. */
  checkpoint(name?: string): Promise<Moment> {
    return this.#inTurn(() => saveMoment(this.#host, this.#request, name));
  }

  checkpoints(): Promise<readonly Moment[]> {
    return this.#inTurn(() => listMoments(this.#host, this.#request));
  }

  /** To a checkpoint by number or name; without one, to before the last command that changed anything. */
  rollback(options: { readonly checkpoint?: string | undefined; readonly paths?: readonly string[] } = {}) {
    const { checkpoint, paths = [] } = options;
    return this.#inTurn(
      (): Promise<RolledBack> => rollBackFork(this.#host, { ...this.#request, checkpoint, paths: this.#shown(paths) }),
    );
  }

  /** Writes the fork's changes into the directory itself: for a program that speaks for the person. */
  apply(options: ApplyOptions = {}): Promise<Answer> {
    const { paths, conflicts = 'refuse', ours = [], theirs = [], allowSensitive = false, dryRun = false } = options;
    return this.#inTurn(() =>
      keepFork(this.#host, this.#request, {
        conflicts,
        ours: this.#shown(ours),
        theirs: this.#shown(theirs),
        only: paths === undefined ? undefined : this.#shown(paths),
        allowSensitive,
        dryRun,
      }),
    );
  }

  /** The same for a program that speaks for a model: a person answers first, with `ctx approvals`. EACCES where it is a no. */
  askToApply(options: AskedApplyOptions = {}): Promise<Answer> {
    const { paths, approvalMilliseconds = this.#options.approvalMilliseconds, onApproval, signal } = options;
    const asked = onApproval ?? this.#options.onApproval;
    const only = paths === undefined ? undefined : this.#shown(paths);
    return this.#inTurn(
      () =>
        applyByApproval(this.#host, {
          ...this.#request,
          only,
          approvalMilliseconds,
          onApproval: asked,
          signal: this.#endOf(signal),
        }),
      signal,
    );
  }

  /** Forgets the fork's changes, its checkpoints and its home. */
  drop(): Promise<{ readonly dropped: number }> {
    return this.#inTurn(() => forgetFork(this.#host, this.#request));
  }

  forks(): Promise<readonly ForkSummary[]> {
    return this.#inTurn(async () => allForks(this.#host, this.directory));
  }

  /** Another fork, of this one unless `from` says otherwise: `FORK`, `FORK@CHECKPOINT` or `origin`. `open` it by its name. */
  createFork(name?: string, options: { readonly from?: string | undefined } = {}): Promise<MadeFork> {
    return this.#inTurn(() => makeFork(this.#host, this.directory, name, options.from ?? this.#options.fork));
  }

  /** Ends what runs in the kept jail, and the jail. What was asked for and has not had its turn is EPIPE. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#leaveKept();
    await this.#turn;
    // One that was being made meanwhile.
    await this.#leaveKept();
  }
}
