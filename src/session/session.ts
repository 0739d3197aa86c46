/**
 * A session: one kept jail on one fork, under one Authority, for many commands. A command costs about a fork and a report;
 * what it leaves running goes on until the session ends. Commands may run at the same time.
 *
 * Between commands nothing is mounted and nobody is at work, so that every other verb works on the fork meanwhile: diff,
 * rollback, apply. While something runs in the background the fork stays mounted: then nothing is frozen before a command,
 * and its report says so.
 */
import type { RecordEntry } from '../audit/record.js';
import { ErrnoError, hasCode } from '../base/errno.js';
import {
  backgroundLookMilliseconds,
  commandsAtWork,
  idleSyncMilliseconds,
  originLookMilliseconds,
  originLookPatience,
} from '../base/limits.js';
import { Room, Turns } from '../base/turns.js';
import { uniqueName } from '../base/unique-name.js';
import { type Group, makeGroup } from '../jail/cgroup.js';
import { keptPlan } from '../jail/plan.js';
import type { RunningCommand } from '../jail/serve.js';
import { KeptJail } from '../jail/serve.js';
import { type BenchCommand, executeInOwnJail, executeOn, readyFork, withArrived } from '../proxy/execute.js';
import { withAuthoritiesOf } from '../proxy/grants/authorities.js';
import type { ResolvedAuthority } from '../proxy/grants/authority-of.js';
import { enforcedPlan, mountingPlan } from '../proxy/grants/enforced-plan.js';
import { ownersOf } from '../proxy/grants/jail-identity.js';
import { type Host, type Place, placeOf } from '../proxy/host.js';
import { type ConnectionListener, endedEntry, openedEntry, type Whose } from '../proxy/report/connection-records.js';
import type { Envelope } from '../proxy/report/envelope.js';
import { heldCachesText } from '../proxy/report/held-caches.js';
import { authorityFor, authorityToPrepare, type Permitted } from '../proxy/run/authority-for.js';
import { type ExecRequest, refuseNoCommand } from '../proxy/run/exec-request.js';
import { mountsOf } from '../proxy/run/fork-mounts.js';
import { recordInterrupted } from '../proxy/run/interrupted-run.js';
import { joinedFork, type Ready, refuseOtherOwners } from '../proxy/run/join-fork.js';
import { type JailNetwork, type JailRun, networkFor } from '../proxy/run/run.js';
import { openSettled, untilJoined } from '../proxy/run/settled-fork.js';
import { viewOf } from '../proxy/run/view.js';
import { type LimitWatch, vaultWatchOf } from '../proxy/run/watch-limits.js';
import { liveChanges } from '../vault/forks/changes.js';
import { saveCheckpoint } from '../vault/forks/checkpoint.js';
import { flattenDeltas } from '../vault/forks/flatten.js';
import { readForkMeta } from '../vault/store/fork-meta.js';
import { commandText, type KeptPlace, keepPlace, leavePlace, Member } from '../vault/store/group.js';
import { rootKey, workspaceRoot } from '../vault/store/layout.js';
import { collectInPassing } from '../vault/upkeep/collect-in-passing.js';
import { closeFork, type OpenFork, openExistingFork, openFork, writtenTrees } from '../vault/vault.js';
import { watchBackground } from './background-limits.js';
import { ranApart, readApart, runApart } from './run-apart.js';
import { type Conversation, runKept } from './run-kept.js';

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
    | 'input'
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
  readonly kept: KeptPlace;
  readonly group: Group | undefined;
  readonly network: JailNetwork | undefined;
  readonly resolved: ResolvedAuthority;
  readonly origin: string;
  readonly vault: string;
  readonly fork: string;
}

/** The fork while the jail has it mounted: while a command runs, or something that one left. */
interface Mounted {
  readonly fork: OpenFork;
  readonly member: Member;
  readonly isReadOnly: boolean;
  /** Its overlays are taken down, and its place in the group is still held. */
  isDown: boolean;
  /** Commands that run now. */
  readonly running: Set<{ readonly text: string }>;
}

/** One command as it is asked of a session, resolved. */
interface Asked {
  readonly host: Host;
  readonly place: Place;
  readonly resolved: Permitted;
  readonly request: ExecRequest;
  readonly command: SessionCommand;
}

const background = 'processes of earlier commands are running: what they write is in this report too';

export class Session {
  readonly id = uniqueName();
  readonly #host: Host;
  readonly #request: SessionRequest;
  readonly #equipment: Equipment;
  /** Of commands that begin or end: what changes here is changed by one of them. */
  readonly #turns = new Turns();
  readonly #room = new Room(commandsAtWork);
  #mounted: Mounted | undefined;
  /** Of what runs between commands. */
  #watch: LimitWatch | undefined;
  #ending: Promise<void> | undefined;
  #idle: NodeJS.Timeout | undefined;
  /** When the person's directory is to be looked at again. */
  #lookAt = 0;

  /** For the report of the next command. */
  #unsaid: readonly string[] = [];

  private constructor(host: Host, request: SessionRequest, equipment: Equipment, mounted: Mounted) {
    this.#host = host;
    this.#request = request;
    this.#equipment = equipment;
    this.#mounted = mounted;
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
    // Of the whole workspace, wherever in it a command will stand.
    const resolved = await authorityToPrepare(
      host,
      { ...place, directory: place.origin },
      { ...request, streams: 'capture' },
    );
    return untilJoined(() => Session.#startOn(host, request, place, resolved));
  }

  static async #startOn(host: Host, request: SessionRequest, place: Place, resolved: Permitted): Promise<Session> {
    const whole = { ...request, argv: ['ctx', 'session'], streams: 'capture' } as const;
    const { store, tree } = host;
    const { origin, owner } = place;
    const roots = [workspaceRoot, ...resolved.roots.map(rootKey)];
    const { onProgress, signal, fork } = request;
    const opening = { store, tree, origin, owner, fork, onProgress, signal, beside: true, purpose: 'ctx session' };
    const opened = await openSettled(roots, (look) => openFork({ ...opening, look }));
    let kept: KeptPlace | undefined;
    let member: Member | undefined;
    let group: Group | undefined;
    let network: JailNetwork | undefined;
    let jail: KeptJail | undefined;
    let session: Session | undefined;
    // Where no command runs, or several do, a connection is the session's.
    const onConnection: ConnectionListener = {
      opened: (event) => session?.recordConnection((whose) => openedEntry(whose, null, event)),
      ended: (event) => session?.recordConnection((whose) => endedEntry(whose, null, event)),
    };
    try {
      const owners = ownersOf(place, resolved);
      refuseOtherOwners(opened, owners);
      const synced =
        opened.others.length === 0
          ? await readyFork(host, place, opened, resolved, whole)
          : await joinedFork(host, opened, resolved, whole);
      kept = await keepPlace(tree, opened.place);
      const checkpoint = synced.checkpoint ?? opened.others[0]?.checkpoint ?? null;
      const facts = { command: 'ctx session', roots, owners, checkpoint };
      member = await Member.enter(tree, opened.place, facts, opened.others, kept);
      const mounts = mountsOf(synced.fork, resolved.roots, { cache: request.cache });
      const view = viewOf({ ...whole, host, place, resolved, mounts });
      const { authority } = resolved;
      const { privateHosts = [], secrets = [] } = request;
      network = await networkFor({ authority, privateHosts, secrets, view, onConnection });
      group = makeGroup(authority.quota, host.lockLibrary);
      jail = await KeptJail.make({
        program: host.jailProgram,
        plan: enforcedPlan({ ...view, jail: { ...view.jail, controlGroups: group?.directories ?? [] } }, keptPlan),
        lockDescriptor: kept.descriptor,
        onServer: network?.onServer,
      });
      const vault = synced.fork.id;
      const equipment = { jail, kept, group, network, resolved, origin, vault, fork: opened.name };
      const mounted = { fork: synced.fork, member, isReadOnly: false, isDown: false, running: new Set<never>() };
      session = new Session(host, request, equipment, mounted);
      // Said now, and with the first command: whoever runs that may be another one.
      session.#unsaid = [...(opened.warnings ?? []), ...heldCachesText(jail.heldCaches)];
      for (const text of session.#unsaid) host.warn?.(text);
      session.#record('begin');
      await session.#letGo();
      return session;
    } catch (error) {
      await jail?.end();
      await network?.end();
      group?.remove();
      member?.leave();
      if (kept !== undefined) leavePlace(kept);
      throw error;
    } finally {
      closeFork(opened);
    }
  }

  /** Beside those that run already, as long as there is room. */
  async exec(command: SessionCommand): Promise<Envelope> {
    const asked = await this.#asked(command);
    const leave = await this.#room.enter();
    try {
      return await untilJoined(() => this.#exec(asked));
    } finally {
      leave();
    }
  }

  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    const { jail, group, network, kept } = this.#equipment;
    await jail.end();
    await this.#unwatchBackground();
    await network?.end();
    group?.remove();
    clearTimeout(this.#idle);
    // The jail has let go of it too: nobody of it is at work any more.
    this.#mounted?.member.leave();
    this.#mounted = undefined;
    await this.#sync();
    leavePlace(kept);
    this.#record('ok');
  }

  /** What the commands wrote is on the disk, and a power cut costs nothing of it. Left for later where others use the fork. */
  async #sync(): Promise<void> {
    const { origin, fork } = this.#equipment;
    const { store, tree } = this.#host;
    try {
      const { owner } = placeOf(this.#host, origin);
      const asked = { store, tree, origin, owner, fork, purpose: 'ctx session', atOnce: true };
      const opened = await openExistingFork(asked);
      if (opened === undefined) return;
      try {
        const { syncedFork } = await import('../vault/forks/durable.js');
        await syncedFork(opened);
      } finally {
        closeFork(opened);
      }
    } catch (error) {
      // In use, deleted, full, or the directory is gone: nothing that was said depends on it.
      if (!(error instanceof ErrnoError)) throw error;
    }
  }

  #syncWhenIdle(): void {
    clearTimeout(this.#idle);
    // Its end does it, and a command that it cut short comes here after that.
    if (this.#ending !== undefined) return;
    this.#idle = setTimeout(async () => {
      const end = await this.#turns.take();
      try {
        if (this.#mounted === undefined) await this.#sync();
      } finally {
        end();
      }
    }, idleSyncMilliseconds);
    this.#idle.unref();
  }

  #record(status: 'begin' | 'ok'): void {
    const { resolved, origin } = this.#equipment;
    this.#append((whose) => ({ ...whose, type: 'session', status, facts: { origin, authority: resolved.digest } }));
  }

  /** The next command's report says what could not be written. */
  private recordConnection(entryOf: (whose: Whose) => RecordEntry): void {
    try {
      this.#append(entryOf);
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
      const text = `could not write a connection between commands: ${error.reason} (${error.code})`;
      this.#unsaid = [...new Set([...this.#unsaid, text])];
    }
  }

  #append(entryOf: (whose: Whose) => RecordEntry): void {
    const { resolved, vault, fork } = this.#equipment;
    const whose = { object: `fork/${vault}/${fork}`, agent: resolved.agent?.name, session: this.id };
    this.#host.recorder.append(entryOf(whose));
  }

  /** Limits hold between commands, too: what goes on writing then ends with the whole session. */
  async #watchBackground({ fork: opened }: Mounted): Promise<void> {
    const { jail, resolved, vault, fork } = this.#equipment;
    if (this.#watch !== undefined) return;
    this.#watch = await watchBackground(this.#host, {
      quota: resolved.authority.quota,
      fork: opened,
      end: (reason) => {
        void jail.end();
        const facts = { reason: `${reason}; the session was ended` };
        const agent = resolved.agent?.name;
        const object = `fork/${vault}/${fork}`;
        this.#host.recorder.append({ type: 'limit', object, status: 'failed', agent, session: this.id, facts });
      },
    });
  }

  async #unwatchBackground(): Promise<void> {
    const watch = this.#watch;
    this.#watch = undefined;
    await watch?.stop();
  }

  /** Takes the overlays down, where nothing runs in them: true where nothing is mounted any more. In turn, with the fork's lock. */
  async #letGo(): Promise<boolean> {
    const mounted = this.#mounted;
    if (mounted === undefined) return true;
    if (mounted.running.size > 0 || !(mounted.isDown || (await this.#release()))) return false;
    await this.#unwatchBackground();
    this.#mounted = undefined;
    mounted.member.leave();
    return true;
  }

  async #release(): Promise<boolean> {
    try {
      await this.#equipment.jail.release();
      return true;
    } catch (error) {
      // A jail that has ended has let go by itself.
      if (hasCode(error, 'EPIPE')) return true;
      if (!hasCode(error, 'EBUSY')) throw error;
      return false;
    }
  }

  /** What runs in the background may end between commands: then the fork is free for others, without anybody asking here. */
  #lookAgain(): void {
    setTimeout(async () => {
      const end = await this.#turns.take();
      const mounted = this.#mounted;
      try {
        if (mounted === undefined || mounted.running.size > 0) return;
        await mounted.fork.lock?.takeAgain();
        if (!(await this.#letGo())) this.#lookAgain();
      } finally {
        mounted?.fork.lock?.letGo();
        end();
      }
    }, backgroundLookMilliseconds).unref();
  }

  /** What is asked for, decided about: nobody else waits for a person's answer. */
  async #asked(command: SessionCommand): Promise<Asked> {
    const { environment, conversation, ...rest } = command;
    const host: Host = {
      ...this.#host,
      ...(environment === undefined ? {} : { environment: withAuthoritiesOf(environment, this.#host.environment) }),
      requester: this.#host.requester ?? `session ${this.id}`,
    };
    const additions = [...this.#request.environmentAdditions, ...command.environmentAdditions];
    const request: ExecRequest = {
      ...this.#request,
      ...rest,
      wait: false,
      readonly: this.#request.readonly === true || command.readonly === true,
      environmentAdditions: additions,
      input: command.input ?? (conversation?.input === 'pipe' ? 'unknown' : 'nothing'),
      streams: 'capture',
    };
    refuseNoCommand(request, 'exec');
    if (request.signal?.aborted === true) {
      throw new ErrnoError('ECANCELED', { operation: 'exec', reason: 'interrupted before the command started' });
    }
    const { origin, resolved: first } = this.#equipment;
    const place = placeOf(host, request.cwd);
    if (place.origin !== origin) throw this.#lost(`it works on ${origin}`);
    const resolved = await authorityFor(host, place, request, first);
    if (resolved.heldDigest !== first.digest) throw this.#lost('what its agent may do has changed since it started');
    return { host, place, resolved, request, command };
  }

  /** The fork with a delta that is the next command's alone; with whoever is at work on it, where somebody is. */
  async #mount({ host, place, resolved, request }: Asked): Promise<[Mounted, Ready]> {
    const { origin, fork: name, kept } = this.#equipment;
    const begun = performance.now();
    // What was approved is the directory as it was when it was asked, newest edits included.
    const look = begun >= this.#lookAt || resolved.leave.approval !== null;
    const { store, tree } = this.#host;
    const purpose = commandText(request.argv);
    const roots = [workspaceRoot, ...resolved.roots.map(rootKey)];
    const opening = { store, tree, origin, owner: place.owner, fork: name, beside: true, purpose };
    const opened = await openSettled(roots, async (again) => {
      const found = await openExistingFork({ ...opening, look: look && again });
      if (found === undefined) throw this.#lost('its vault was deleted');
      return found;
    });
    try {
      const owners = ownersOf(place, resolved);
      refuseOtherOwners(opened, owners);
      const ready =
        opened.others.length > 0
          ? await joinedFork(host, opened, resolved, request)
          : look
            ? await readyFork(host, place, opened, resolved, request)
            : await this.#quicklyReady(opened, resolved, purpose);
      if (look)
        this.#lookAt = begun + Math.min((performance.now() - begun) * originLookPatience, originLookMilliseconds);
      const { fork } = ready;
      const checkpoint = ready.checkpoint ?? opened.others[0]?.checkpoint ?? null;
      const facts = { command: purpose, roots, owners, checkpoint };
      const member = await Member.enter(tree, opened.place, facts, opened.others, kept);
      member.foundWaiting(ready.waiting?.length ?? 0);
      const mounted = { fork, member, isReadOnly: request.readonly === true, isDown: false, running: new Set<never>() };
      this.#mounted = mounted;
      return [mounted, ready];
    } catch (error) {
      closeFork(opened);
      throw error;
    }
  }

  /** Without a look at the person's directory. */
  async #quicklyReady(opened: OpenFork, resolved: Permitted, reason: string): Promise<Ready> {
    await resolved.leave.confirm(opened);
    await recordInterrupted(this.#host, opened);
    const saved = saveCheckpoint(opened, { automatic: true, reason });
    // However quick the commands are: none is started on more layers than an overlay takes.
    const fork = await flattenDeltas(saved.fork);
    await collectInPassing(opened, fork);
    return { fork, entered: [], clashes: fork.meta.clashes, problems: [], checkpoint: saved.checkpoint.id };
  }

  /** As it is mounted: another command runs in it, or what one left. */
  async #beside(mounted: Mounted, { resolved, request }: Asked): Promise<Ready> {
    await mounted.fork.lock?.takeAgain();
    const others = await mounted.member.others();
    // Whoever joined meanwhile may have added to its state.
    const meta = readForkMeta(mounted.fork.place.directory) ?? mounted.fork.meta;
    const fork = { ...mounted.fork, meta, others, imported: false };
    await resolved.leave.confirm({ ...fork, hasWriters: true });
    mounted.member.came(commandText(request.argv));
    return {
      fork,
      entered: [],
      clashes: meta.clashes,
      problems: [],
      checkpoint: null,
      before: await liveChanges(fork),
    };
  }

  async #exec(asked: Asked): Promise<Envelope> {
    const { host, place, resolved, request, command } = asked;
    const isReadOnly = request.readonly === true;
    const end = await this.#turns.take();
    let endTurn = end;
    let held: OpenFork | undefined;
    try {
      const found = this.#mounted;
      const isApart = resolved.digest !== this.#equipment.resolved.digest;
      const isOther = found !== undefined && found.isReadOnly !== isReadOnly;
      if (isApart || isOther) {
        end();
        return await this.#execApart(asked, [isApart ? ranApart : readApart]);
      }
      held = found?.fork;
      const [mounted, synced] =
        found === undefined ? await this.#mount(asked) : ([found, await this.#beside(found, asked)] as const);
      const { fork, member, running } = mounted;
      held = fork;
      const isNew = found === undefined;
      const before = [...synced.fork.others.map((other) => other.command), ...[...running].map(({ text }) => text)];
      const arrivals = member.arrivals;
      const own = { text: commandText(request.argv) };
      return await executeOn(host, request, {
        place,
        resolved,
        synced,
        session: this.id,
        warnings: [...this.#takeUnsaid(), ...(!isNew && running.size === 0 ? [background] : [])],
        note: member,
        beside: async () => ({
          ...withArrived(before, member.since(arrivals)),
          isStill: mounted.isDown && (await member.others()).length === 0,
        }),
        run: async (one) => {
          // The command has a watch of its own, which ends the command alone.
          await this.#unwatchBackground();
          running.add(own);
          member.does([...running].map(({ text }) => text).join('; '));
          let isStarted = false;
          const onStarted = (jail: RunningCommand, mounting: Promise<void> | undefined) => {
            command.onStarted?.(jail);
            // Everything is mounted: whoever comes joins it.
            void Promise.all([jail.started, mounting]).then(
              () => {
                isStarted = true;
                fork.lock?.letGo();
                endTurn();
              },
              () => undefined,
            );
          };
          try {
            return await this.#runIn(one, asked, synced.fork, isNew ? member : undefined, onStarted);
          } finally {
            if (isStarted) endTurn = await this.#turns.take();
            await fork.lock?.takeAgain();
            running.delete(own);
            const left = [...running].map(({ text }) => text);
            member.does(left.length > 0 ? left.join('; ') : `processes that ${own.text} left`);
            // So that the report reads what nobody writes.
            mounted.isDown = running.size === 0 && (await this.#release());
          }
        },
      });
    } finally {
      if (held !== undefined) {
        const left = (await this.#letGo()) ? undefined : this.#mounted;
        if (left?.running.size === 0) {
          await this.#watchBackground(left);
          this.#lookAgain();
        }
        closeFork(held);
      }
      endTurn();
      this.#syncWhenIdle();
    }
  }

  #takeUnsaid(): readonly string[] {
    const unsaid = this.#unsaid;
    this.#unsaid = [];
    return unsaid;
  }

  async #runIn(
    one: BenchCommand,
    { command, resolved, host }: Asked,
    fork: OpenFork,
    newcomer: Member | undefined,
    onStarted: (jail: RunningCommand, mounting: Promise<void> | undefined) => void,
  ): Promise<JailRun> {
    const { jail, network } = this.#equipment;
    // The jail does one thing after the other: the command starts on what is mounted, without our waiting for it.
    const mounting = newcomer && jail.mount(mountingPlan(one.view)).then(() => newcomer.mounted(jail.pid));
    const running = runKept({
      ...one,
      jail,
      network,
      authority: resolved.authority,
      conversation: command.conversation,
      treeProgram: host.tree.program,
      counted: writtenTrees(fork),
      vault: vaultWatchOf(fork),
      onStarted: (started) => onStarted(started, mounting),
    });
    const [ran] = await Promise.all([running, mounting]);
    return ran;
  }

  /** With another network, or otherwise mounted: a jail of its own, on the same fork. */
  #execApart({ host, place, resolved, request, command }: Asked, warnings: readonly string[]): Promise<Envelope> {
    const { group } = this.#equipment;
    return executeInOwnJail(host, request, {
      place,
      resolved,
      warnings,
      session: this.id,
      fork: this.fork,
      run: (one, fork, { lockDescriptor, onStarted }) =>
        runApart({
          ...one,
          authority: resolved.authority,
          conversation: command.conversation,
          treeProgram: host.tree.program,
          counted: writtenTrees(fork),
          vault: vaultWatchOf(fork),
          program: this.#host.jailProgram,
          privateHosts: this.#request.privateHosts ?? [],
          secrets: this.#request.secrets ?? [],
          controlGroups: group?.directories ?? [],
          lockDescriptor,
          onStarted,
        }),
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
