/**
 * The SDK's face of one directory: commands in jails, on its fork, beside what a person does with the fork. It is thin: every
 * method calls what the verb of the same name calls, so that both decide, record and refuse alike. Failures are ErrnoErrors.
 * Nothing here writes to a stream of the process (but a command that is given them), ends it, or keeps anything beside the
 * object. What a method needs is loaded when it is called: a start of `ctx exec` reads no more than it uses.
 *
 * Commands run beside each other, and beside what only looks. What changes the fork as a whole, such as an apply, waits for the
 * commands that were asked for before it, and those that come later wait for it; kept jails that a caller starts are apart.
 */
import { setMaxListeners } from 'node:events';
import { ErrnoError, hasCode } from '../../base/errno.js';
import { SharedTurns, Turns } from '../../base/turns.js';
import type { Operation, Plan } from '../../jail/operation.js';
import type { Asked } from '../../proxy/approval/approval.js';
import { type Host, type Place, placeOf } from '../../proxy/host.js';
import type { Prepared } from '../../proxy/prepare.js';
import type { Envelope, LiveEnvelope } from '../../proxy/report/envelope.js';
import type { ExecRequest } from '../../proxy/run/exec-request.js';
import { shownFrom } from '../../workspace/shown-from.js';
import { argvOf, type Command, type JailOptions, type RunOptions, type WorkspaceOptions } from '../options.js';
import { refuseFile } from '../place.js';
import { requestOf } from '../request-of.js';
import { execIn, execLiveIn, refuseEnded } from './command.js';
import type { Edit } from './edit.js';
import type { SearchOptions } from './file-answers.js';
import { type ApplyReport, Fork } from './fork.js';
import { GuardedCallbacks } from './guarded-callbacks.js';
import type {
  ObjectQuestion,
  PathAccess,
  Preamble,
  ResolvedAuthority,
  WhyHost,
  WhyObject,
  WhyPath,
} from './permissions.js';
import type { AgentTool } from './tool-calls.js';
import type { FileOptions, FoundMatches, Listing, WorkspaceJail } from './workspace-jail.js';

export type { Envelope, LiveEnvelope, Operation, Plan, Prepared };

const permissions = () => import('./permissions.js');

/** An apply that a person has to agree to first. */
export interface AskedApplyOptions extends Pick<ExecRequest, 'approvalMilliseconds' | 'onApproval' | 'signal'> {
  readonly paths?: readonly string[];
}

export class Workspace extends Fork {
  readonly #host: Host;
  readonly #options: WorkspaceOptions;
  readonly #place: Place;
  readonly #turns = new SharedTurns();
  readonly #edits = new Turns();
  /** The jail for files and for `run`, from its first use on. */
  #kept: Promise<WorkspaceJail> | undefined;
  /** From when it is made: the process that closes the workspace waits for nothing else before it ends. */
  #made: WorkspaceJail | undefined;
  readonly #closing = new AbortController();

  /** Callers of the package use `open`. */
  constructor(host: Host, directory: string, options: WorkspaceOptions = {}) {
    const place = placeOf(host, directory);
    super(host, place, options);
    this.#host = host;
    this.#options = options;
    this.#place = place;
    // Every command that runs listens for it: Node takes more than ten for a leak, and says so on stderr.
    setMaxListeners(0, this.#closing.signal);
  }

  /** After what was asked before it; not at all where the signal came first. */
  protected override inTurn<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#turns.alone(this.#unlessEnded(work, signal));
  }

  /** Commands run beside each other, as in one directory; what changes the fork as a whole has its turn between them. */
  #beside<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#unlessClosed(this.#turns.shared(this.#unlessEnded(work, signal)));
  }

  /** `close` ends commands. Which comes first, the report of one or the end of its jail, is not for the caller to know. */
  async #unlessClosed<T>(command: Promise<T>): Promise<T> {
    try {
      return await command;
    } finally {
      this.#refuseClosed();
    }
  }

  #unlessEnded<T>(work: () => Promise<T>, signal: AbortSignal | undefined): () => Promise<T> {
    return async () => {
      this.#refuseClosed();
      refuseEnded(signal);
      return work();
    };
  }

  /** After the files that were written before it, and what changed the fork as a whole; commands go on meanwhile. */
  protected override async atOnce<T>(work: () => Promise<T>): Promise<T> {
    const written = this.#edits.take();
    await this.#turns.quiet();
    (await written)();
    this.#refuseClosed();
    return work();
  }

  #refuseClosed(): void {
    if (!this.#closing.signal.aborted) return;
    throw new ErrnoError('EPIPE', { operation: 'workspace', path: this.origin, reason: 'the workspace was closed' });
  }

  /** What ends a command: the caller's signal, or the end of all. */
  #endOf(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
  }

  get #request() {
    return requestOf(this.#host, this.#place, this.#options);
  }

  /** For what is done without a command of the caller's. */
  #guarded() {
    const callbacks = new GuardedCallbacks();
    const request = this.#request;
    const onProgress = callbacks.guard('onProgress', request.onProgress);
    return [{ ...request, onProgress, signal: callbacks.signalWith(undefined) }, callbacks] as const;
  }

  get #commands() {
    return { host: this.#host, place: this.#place, options: this.#options };
  }

  /** Throws what a first command would for what the workspace was opened with: a directory, a fork, an agent or a grant that is none. */
  async check(): Promise<void> {
    const { agent, fork } = this.#options;
    const { origin, owner } = this.#place;
    const { store, tree, environment } = this.#host;
    refuseFile(this.directory);
    (await import('../../proxy/grants/environment.js')).assertAdditions(
      this.#request.environmentAdditions,
      environment,
    );
    if (fork !== undefined) (await import('../../vault/vault.js')).assertFork({ store, tree, origin, owner, fork });
    const { resolvedFor } = await import('../../proxy/run/authority-for.js');
    await (await import('../../proxy/run/asked-mounts.js')).withMounts(this.#host, this.#request);
    const facts = agent === undefined ? undefined : await this.#host.agents(agent);
    await resolvedFor(this.#host, this.#place, { ...this.#request, argv: ['true'], streams: 'capture' }, facts);
  }

  /** Makes the fork ready before there is a command: the directory imported, the person's edits taken over. */
  prepare(): Promise<Prepared> {
    return this.inTurn(async () => {
      const { prepareFork } = await import('../../proxy/prepare.js');
      const [request, callbacks] = this.#guarded();
      return callbacks.during(prepareFork(this.#host, request));
    });
  }

  /** Everything a command here is shown and may do, by name. */
  async surface(): Promise<ResolvedAuthority> {
    return (await permissions()).surfaceOf(this.#host, this.#place, this.#options);
  }

  /** The same as a text for a system prompt. */
  async preamble(): Promise<Preamble> {
    return (await permissions()).preambleOf(this.#host, this.#place, this.#options);
  }

  /** Whether a command here may read, write or execute a path, and what says so. */
  async whyPath(access: PathAccess, path: string): Promise<WhyPath> {
    return (await permissions()).whyPath(this.#host, this.#place, this.#options, access, path);
  }

  /** Whether it may connect to a `host:port`, and what says so. A granted name is looked up, and its addresses are judged. */
  async whyHost(hostPort: string): Promise<WhyHost> {
    return (await permissions()).whyHost(this.#host, this.#place, this.#options, hostPort);
  }

  /** Whether it may use an object such as a tool or an agent, and what says so. */
  async whyObject(question: ObjectQuestion): Promise<WhyObject> {
    return (await permissions()).whyObject(this.#host, this.#place, this.#options, question);
  }

  /** What a jail for this command would be made of. Nothing is made, locked or run. */
  async plan(command: Command = ['true']): Promise<Plan> {
    const { agent, reads = [], writes = [], liveWrites = [], siblings = false } = this.#options;
    const { planOf } = await import('../../proxy/run/shown-plan.js');
    const asked = { agent, reads, writes, liveWrites, siblings };
    return planOf(this.#host, { argv: argvOf(command), cwd: this.directory, ...asked });
  }

  /** Runs a command in a jail of its own; its report when it has ended. */
  exec(command: Command, options: JailOptions = {}): Promise<Envelope> {
    const signal = this.#endOf(options.signal);
    return this.#beside(() => execIn(this.#commands, command, { ...options, signal }), options.signal);
  }

  /** The same on the directory itself, without a fork: nothing that it does can be undone. */
  execLive(command: Command, options: JailOptions = {}): Promise<LiveEnvelope> {
    const asked = { ...options, signal: this.#endOf(options.signal) };
    const work = () => execLiveIn(this.#commands, command, asked);
    return this.#unlessClosed(this.inTurn(work, options.signal));
  }

  /** A kept jail of the caller's own: started once, then a command costs about a fork. End it when done. */
  async keepJail(): Promise<WorkspaceJail> {
    const [{ WorkspaceJail }, { KeptJail }] = [
      await import('./workspace-jail.js'),
      await import('../../kept-jail/kept-jail.js'),
    ];
    const [request, callbacks] = this.#guarded();
    const jail = await callbacks.during(KeptJail.start(this.#host, request), (made) => made.end());
    return new WorkspaceJail(this.#host, this.#place, jail);
  }

  /** One for all that ask while it is being made. */
  #keptJail(): Promise<WorkspaceJail> {
    this.#kept ??= this.#keep();
    return this.#kept;
  }

  async #keep(): Promise<WorkspaceJail> {
    const making = this.keepJail();
    void making.catch(() => {
      this.#kept = undefined;
    });
    const kept = await making;
    this.#made = kept;
    // It ended by itself: what it held is let go of, and the next use makes another. What fails of that ends no process of the caller's.
    void kept.ended.then(() => this.#leave(kept)).catch(() => undefined);
    this.#refuseClosed();
    return kept;
  }

  async #leave(kept: WorkspaceJail): Promise<void> {
    if (this.#made === kept) {
      this.#made = undefined;
      this.#kept = undefined;
    }
    await kept.end();
  }

  async #leaveKept(): Promise<void> {
    const kept = this.#made ?? (await this.#kept?.catch(() => undefined));
    if (kept !== undefined) await this.#leave(kept);
  }

  /** In the kept jail. Where what its agent may do has changed since, nothing ran, and another jail takes its place. */
  #inKept<T>(use: (jail: WorkspaceJail) => Promise<T>, signal: AbortSignal | undefined, again = () => true) {
    return this.#beside(async () => {
      const kept = await this.#keptJail();
      try {
        return await use(kept);
      } catch (error) {
        const isLost = error instanceof ErrnoError && error.code === 'ESTALE' && error.operation === 'kept jail';
        if (!isLost) throw error;
        await this.#leave(kept);
        if (!again()) throw error;
        return use(await this.#keptJail());
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
      (jail) =>
        jail.exec(command, {
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

  /** The tools that its agent may call, as its policy says now; none where it has no agent. */
  async tools(): Promise<readonly AgentTool[]> {
    const { agent } = this.#options;
    if (agent === undefined) return [];
    return (await import('./tool-calls.js')).agentTools(this.#host, agent);
  }

  /** As its agent would in the jail. ENOENT where it has no such tool, EACCES where it may not call it: that is recorded. */
  async callTool(name: string, input: object = {}, options: Omit<RunOptions, 'input'> = {}): Promise<Envelope> {
    const { agent } = this.#options;
    if (agent === undefined) {
      throw new ErrnoError('ENOENT', {
        operation: `tool ${name}`,
        reason: 'this workspace was opened without an agent',
      });
    }
    const { calledTool } = await import('./tool-calls.js');
    return this.run([calledTool(this.#host, agent, name).path], { ...options, input: JSON.stringify(input) });
  }

  /** An edit reads and writes: no other comes between. */
  async #oneByOne<T>(work: (before: Promise<unknown>) => Promise<T>): Promise<T> {
    const turn = this.#edits.take();
    try {
      return await work(turn);
    } finally {
      (await turn)();
    }
  }

  read(path: string, options: FileOptions = {}): Promise<Buffer> {
    return this.#inKept((jail) => jail.read(path, options), options.signal);
  }

  write(path: string, content: string | Uint8Array, options: FileOptions = {}): Promise<Envelope> {
    return this.#oneByOne((turn) =>
      this.#inKept((jail) => turn.then(() => jail.write(path, content, options)), options.signal),
    );
  }

  edit(path: string, edit: Edit, options: FileOptions = {}): Promise<{ readonly count: number }> {
    return this.#oneByOne((turn) =>
      this.#inKept((jail) => turn.then(() => jail.edit(path, edit, options)), options.signal),
    );
  }

  list(path = '.', options: FileOptions & { readonly depth?: number | undefined } = {}): Promise<Listing> {
    return this.#inKept((jail) => jail.list(path, options), options.signal);
  }

  search(pattern: string, options: SearchOptions & FileOptions = {}): Promise<FoundMatches> {
    return this.#inKept((jail) => jail.search(pattern, options), options.signal);
  }

  /** As `apply`, for a program that speaks for a model: a person answers first, with `ctx approvals`. EACCES where it is a no. */
  async askToApply(options: AskedApplyOptions = {}): Promise<ApplyReport> {
    const { paths, approvalMilliseconds = this.#options.approvalMilliseconds, onApproval, signal } = options;
    const callbacks = new GuardedCallbacks();
    const asked = callbacks.guard('onApproval', onApproval ?? this.#options.onApproval);
    const only = paths === undefined ? undefined : shownFrom(this.#place, paths);
    const work = async () => {
      const { applyByApproval } = await import('../../workspace/approved-apply.js');
      return applyByApproval(this.#host, {
        ...this.#request,
        only,
        approvalMilliseconds,
        onApproval: asked && (async (...given) => asked(...given)),
        signal: callbacks.signalWith(this.#endOf(signal)),
      });
    };
    try {
      return await callbacks.during(this.inTurn(work, signal));
    } catch (error) {
      // Interrupted while the person was asked. Once it is writing, it comes to its end and is answered.
      if (hasCode(error, 'ECANCELED')) this.#refuseClosed();
      throw error;
    }
  }

  /**
   * Ends the commands that run, and the kept jail. They are EPIPE, and so is what has not had its turn; what changes the fork as a
   * whole and has begun comes to its end and is answered.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#leaveKept();
    await this.#turns.alone(async () => undefined);
    // One that was being made meanwhile.
    await this.#leaveKept();
    this.#host.release?.();
  }
}
