/**
 * A session: one kept jail on one fork, under one Authority, for many commands. A command costs about a fork and a report;
 * what it leaves running goes on until the session ends.
 *
 * Between commands nothing is mounted and the fork is not locked, so that every other verb works on it meanwhile: diff,
 * rollback, apply. While something runs in the background the fork stays mounted and locked: then nothing is frozen before
 * a command, and its report says so. Commands run one after the other, so that each change is one command's.
 */
import { closeSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadFileLock } from '../audit/file-lock.js';
import { ErrnoError, hasCode } from '../base/errno.js';
import { backgroundLookMilliseconds, originLookMilliseconds, originLookPatience } from '../base/limits.js';
import { uniqueName } from '../base/unique-name.js';
import { type Group, makeGroup } from '../jail/cgroup.js';
import { keptPlan } from '../jail/plan.js';
import { KeptJail } from '../jail/serve.js';
import { saveCheckpoint } from '../vault/checkpoint.js';
import { closeFork, type OpenFork, openExistingFork, openFork, type SharedLock, writtenTrees } from '../vault/vault.js';
import { authorityFor, type Permitted } from './authority-for.js';
import type { ResolvedAuthority } from './authority-of.js';
import { enforcedPlan, mountingPlan } from './enforced-plan.js';
import type { Envelope } from './envelope.js';
import { type ExecRequest, refuseNoCommand } from './exec-request.js';
import { executeOn, type Ready, readyFork } from './execute.js';
import { mountsOf } from './fork-mounts.js';
import { type Host, type Place, placeOf } from './host.js';
import { recordInterrupted } from './interrupted-run.js';
import { type JailNetwork, type JailRun, networkFor } from './run.js';
import { ranApart, runApart } from './run-apart.js';
import { type Conversation, type KeptRunRequest, runKept } from './run-kept.js';
import { sharedLock } from './shared-lock.js';
import { viewOf } from './view.js';
import { vaultWatchOf } from './watch-limits.js';

/** What every command of the session is given; fixed when it starts. */
export type SessionRequest = Omit<ExecRequest, 'argv' | 'streams' | 'timeoutMilliseconds' | 'onStarted' | 'onLimit'>;

export interface SessionCommand
  extends Pick<
    ExecRequest,
    | 'argv'
    | 'shell'
    | 'cwd'
    | 'environmentAdditions'
    | 'readonly'
    | 'timeoutMilliseconds'
    | 'approvalMilliseconds'
    | 'onApproval'
    | 'onStarted'
    | 'onLimit'
    | 'onOutput'
    | 'signal'
  > {
  /** Where its bytes come from and go; without one it reads nothing, and what it writes is in the report. */
  readonly conversation?: Conversation | undefined;
  /** What the caller's own environment is, for how things look and read. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** What it was made with, and goes with it. */
interface Equipment {
  readonly jail: KeptJail;
  readonly lock: SharedLock;
  readonly group: Group | undefined;
  readonly network: JailNetwork | undefined;
  readonly resolved: ResolvedAuthority;
  readonly origin: string;
  readonly vault: string;
  readonly fork: string;
}

const background =
  'processes of earlier commands are running: what they write is in this report too, and no checkpoint was made';

export class Session {
  readonly id = uniqueName();
  readonly #host: Host;
  readonly #request: SessionRequest;
  readonly #equipment: Equipment;
  /** The fork while it is locked for this session: while a command runs, or something that one left. */
  #opened: OpenFork | undefined;
  #isDown = false;
  /** As the fork is mounted, or was when it was last. */
  #isReadOnly = false;
  #queue: Promise<unknown> = Promise.resolve();
  /** When the person's directory is to be looked at again. */
  #lookAt = 0;

  private constructor(host: Host, request: SessionRequest, equipment: Equipment, opened: OpenFork) {
    this.#host = host;
    this.#request = request;
    this.#equipment = equipment;
    this.#opened = opened;
  }

  get origin(): string {
    return this.#equipment.origin;
  }

  get fork(): string {
    return this.#equipment.fork;
  }

  /** Resolves when everything inside is dead and unmounted. */
  get ended(): Promise<void> {
    return this.#equipment.jail.ended;
  }

  static async start(host: Host, request: SessionRequest): Promise<Session> {
    const place = placeOf(host, request.cwd);
    // Making the jail is no command: each that runs in it is decided about on its own.
    const whole = { ...request, argv: ['true'], streams: 'capture' } as const;
    // Of the whole workspace, wherever in it a command will stand.
    const resolved = await authorityFor(host, { ...place, directory: place.origin }, whole);
    const asked = {
      store: host.store,
      tree: host.tree,
      origin: place.origin,
      owner: place.owner,
      purpose: 'ctx session',
    };
    // Imports where that is needed, and says which fork it is; the lock that counts is the shared one.
    const found = await openFork({
      ...asked,
      fork: request.fork,
      onProgress: request.onProgress,
      signal: request.signal,
    });
    const { name, place: at } = found;
    closeFork(found);
    mkdirSync(dirname(at.lock), { recursive: true, mode: 0o700 });
    const lock = sharedLock(loadFileLock(host.lockLibrary), at.lock, place.origin);
    let group: Group | undefined;
    let network: JailNetwork | undefined;
    let jail: KeptJail | undefined;
    try {
      const opened = await openFork({ ...asked, fork: name, look: true, sharedLock: lock });
      const synced = await readyFork(host, place, opened, resolved, whole);
      const view = viewOf({ ...whole, host, place, resolved, mounts: mountsOf(synced.fork, resolved.roots) });
      const { authority } = resolved;
      const { privateHosts = [], secrets = [] } = request;
      network = await networkFor({ authority, privateHosts, secrets, view });
      group = makeGroup(authority.quota);
      jail = await KeptJail.make({
        program: host.jailProgram,
        plan: enforcedPlan({ ...view, jail: { ...view.jail, controlGroups: group?.directories ?? [] } }, keptPlan),
        lockDescriptor: lock.descriptor,
        onServer: network?.onServer,
      });
      const { origin } = place;
      const equipment = { jail, lock, group, network, resolved, origin, vault: synced.fork.id, fork: name };
      const session = new Session(host, request, equipment, synced.fork);
      session.#record('begin');
      await session.#letGo();
      return session;
    } catch (error) {
      await jail?.end();
      await network?.end();
      group?.remove();
      closeSync(lock.descriptor);
      throw error;
    }
  }

  /** After the commands that were asked for before it. */
  exec(command: SessionCommand): Promise<Envelope> {
    const run = this.#queue.then(() => this.#exec(command));
    this.#queue = run.catch(() => undefined);
    return run;
  }

  async end(): Promise<void> {
    const { jail, group, network, lock } = this.#equipment;
    await jail.end();
    await network?.end();
    group?.remove();
    // The jail has let go of it too: the fork is free.
    closeSync(lock.descriptor);
    this.#record('ok');
  }

  #record(status: 'begin' | 'ok'): void {
    const { resolved, origin, vault, fork } = this.#equipment;
    this.#host.recorder.append({
      type: 'session',
      object: `fork/${vault}/${fork}`,
      status,
      agent: resolved.agent?.name,
      session: this.id,
      facts: { origin, authority: resolved.digest },
    });
  }

  /** Takes the overlays down, where nothing runs in them. */
  async #release(): Promise<void> {
    try {
      await this.#equipment.jail.release();
      this.#isDown = true;
    } catch (error) {
      if (!hasCode(error, 'EBUSY')) throw error;
    }
  }

  /** True where nothing is mounted any more, and the fork is free for others. */
  async #letGo(): Promise<boolean> {
    if (this.#opened === undefined) return true;
    if (!this.#isDown) await this.#release();
    if (!this.#isDown) return false;
    closeFork(this.#opened);
    this.#opened = undefined;
    return true;
  }

  /** What runs in the background may end between commands: then the fork is free for others, without anybody asking here. */
  #lookAgain(): void {
    setTimeout(() => {
      const looked = this.#queue.then(async () => {
        if (!(await this.#letGo())) this.#lookAgain();
      });
      // A jail that has ended has let go by itself.
      this.#queue = looked.catch(() => undefined);
    }, backgroundLookMilliseconds).unref();
  }

  /** The fork with a delta that is the next command's alone; as it is, where something runs in it. */
  async #ready(place: Place, resolved: Permitted, request: ExecRequest): Promise<Ready> {
    const { origin, fork, lock } = this.#equipment;
    if (this.#opened !== undefined) {
      resolved.leave.confirm(this.#opened);
      return { fork: this.#opened, entered: [], clashes: this.#opened.meta.clashes, problems: [], checkpoint: null };
    }
    const begun = performance.now();
    const look = begun >= this.#lookAt;
    const { store, tree } = this.#host;
    const { owner } = place;
    const purpose = request.argv.join(' ');
    const opened = await openExistingFork({ store, tree, origin, owner, fork, look, purpose, sharedLock: lock });
    if (opened === undefined) throw this.#lost('its vault was deleted');
    this.#opened = opened;
    if (look) {
      const ready = await readyFork(this.#host, place, opened, resolved, request);
      const took = performance.now() - begun;
      this.#lookAt = begun + Math.min(took * originLookPatience, originLookMilliseconds);
      return ready;
    }
    resolved.leave.confirm(opened);
    await recordInterrupted(this.#host, opened);
    const { fork: frozen, checkpoint } = saveCheckpoint(opened, { automatic: true, reason: purpose });
    return { fork: frozen, entered: [], clashes: frozen.meta.clashes, problems: [], checkpoint: checkpoint.id };
  }

  async #exec(command: SessionCommand): Promise<Envelope> {
    const { environment, conversation, ...rest } = command;
    const host: Host = environment === undefined ? this.#host : { ...this.#host, environment };
    const additions = [...this.#request.environmentAdditions, ...command.environmentAdditions];
    const request: ExecRequest = {
      ...this.#request,
      ...rest,
      readonly: this.#request.readonly === true || command.readonly === true,
      environmentAdditions: additions,
      streams: 'capture',
    };
    refuseNoCommand(request, 'exec');
    if (request.signal?.aborted === true) {
      throw new ErrnoError('ECANCELED', { operation: 'exec', reason: 'interrupted before the command started' });
    }
    const { jail, network, origin, resolved: first } = this.#equipment;
    const place = placeOf(host, request.cwd);
    if (place.origin !== origin) throw this.#lost(`it works on ${origin}`);
    const resolved = await authorityFor(host, place, request, first);
    if (resolved.heldDigest !== first.digest) throw this.#lost('what its agent may do has changed since it started');
    const isApart = resolved.digest !== first.digest;
    const isReadOnly = request.readonly === true;
    const isFree = await this.#letGo();
    if (!isFree) this.#refuseBeside(isApart, isReadOnly);
    const synced = await this.#ready(place, resolved, request);
    this.#opened = synced.fork;
    try {
      return await executeOn(host, request, {
        place,
        resolved,
        synced,
        session: this.id,
        isStill: () => this.#isDown,
        warnings: [...(isFree ? [] : [background]), ...(isApart ? [ranApart] : [])],
        run: async (one) => {
          const asked = {
            ...one,
            authority: resolved.authority,
            conversation,
            treeProgram: host.tree.program,
            counted: writtenTrees(synced.fork),
            vault: vaultWatchOf(synced.fork),
            onStarted: command.onStarted,
          };
          if (isApart) return this.#runApart(asked);
          this.#isDown = false;
          this.#isReadOnly = isReadOnly;
          // The jail does one thing after the other: the command starts on what is mounted, without our waiting for it.
          const mounted = isFree ? jail.mount(mountingPlan(one.view)) : undefined;
          const [ran] = await Promise.all([runKept({ ...asked, jail, network }), mounted]);
          // So that the report reads what nobody writes.
          await this.#release();
          return ran;
        },
      });
    } finally {
      const isFree = await this.#letGo().catch((error: unknown) => {
        // The jail has ended, and why is in what the command was answered.
        if (!hasCode(error, 'EPIPE')) throw error;
        return true;
      });
      if (!isFree) this.#lookAgain();
    }
  }

  #runApart(asked: Omit<KeptRunRequest, 'jail' | 'network'>): Promise<JailRun> {
    const { group, lock } = this.#equipment;
    return runApart({
      ...asked,
      program: this.#host.jailProgram,
      privateHosts: this.#request.privateHosts ?? [],
      secrets: this.#request.secrets ?? [],
      controlGroups: group?.directories ?? [],
      lockDescriptor: lock.descriptor,
    });
  }

  /** What runs in the background has the fork mounted as it is: a command that needs it otherwise has to wait. */
  #refuseBeside(isApart: boolean, isReadOnly: boolean): void {
    if (!isApart && isReadOnly === this.#isReadOnly) return;
    const why = isApart
      ? 'a command with a network of its own needs the fork to itself'
      : `the fork is mounted ${this.#isReadOnly ? 'read-only' : 'to be written'} for them`;
    throw new ErrnoError('EBUSY', {
      operation: 'exec',
      path: this.origin,
      reason: `processes of earlier commands are running, and ${why}`,
      remedy: 'end them first; ctx session stop ends all of them',
    });
  }

  #lost(reason: string): ErrnoError {
    return new ErrnoError('ESTALE', {
      operation: 'session',
      path: this.origin,
      reason,
      remedy: 'ctx session stop ends it; ctx session start begins another',
    });
  }
}
