/**
 * A kept jail: one jail on one fork, under one Authority, for many commands. A command costs about a fork and a report;
 * what it leaves running goes on until the kept jail ends. Commands may run at the same time. The map of this layer:
 *
 *   jail-request   what is asked                     decided-command   one command, decided about
 *   equipment      what a kept jail is made with     jail-record       what it has in the record of its own
 *   kept-fork      the fork from command to command (enter-fork; background-limits: what runs between commands)
 *   run-kept       one command in the kept jail      run-apart         one that needs a jail of its own
 *   kept-runs      what tools of its agent run
 *   jail-keeper    the process that keeps it         jail-place, jail-wire, peer   its socket, and what is said there
 *
 * Where something runs in the background nothing is frozen before a command, and its report says so.
 */
import { ErrnoError } from '../base/errno.js';
import { commandsAtWork } from '../base/limits/commands.js';
import { allOf, Room, Turns } from '../base/turns.js';
import { uniqueName } from '../base/unique-name.js';
import type { RunningCommand } from '../jail/asked-commands.js';
import { settled } from '../proxy/execute.js';
import { homesIn } from '../proxy/grants/agent-home.js';
import { agentViewFor } from '../proxy/grants/agent-view.js';
import { mountingPlan } from '../proxy/grants/enforced-plan.js';
import { type Host, type Place, placeOf } from '../proxy/host.js';
import type { Envelope } from '../proxy/report/envelope.js';
import { withMounts, withTreesOf } from '../proxy/run/asked-mounts.js';
import { authorityToPrepare, type Permitted } from '../proxy/run/authority-for.js';
import { CommandRun } from '../proxy/run/command-run.js';
import { forkTarget } from '../proxy/run/fork-target.js';
import { openForkTarget } from '../proxy/run/open-fork-target.js';
import type { JailRun, RunRequest } from '../proxy/run/run.js';
import { runOnTarget } from '../proxy/run/run-on-target.js';
import { openSettled, untilJoined } from '../proxy/run/settled-fork.js';
import type { TargetCommand } from '../proxy/run/target.js';
import { vaultWatchOf } from '../proxy/run/watch-limits.js';
import { writtenTrees } from '../vault/fork-trees.js';
import { commandText } from '../vault/store/group.js';
import { rootKey, workspaceRoot } from '../vault/store/layout.js';
import type { Member } from '../vault/store/member.js';
import { leavePlace } from '../vault/store/worker-file.js';
import { closeFork, type OpenFork, openFork } from '../vault/vault.js';
import { type DecidedCommand, decideCommand } from './decided-command.js';
import { dismantle, type Equipment, type MountedFork, makeEquipment } from './equipment.js';
import { recordedLack } from './jail-record.js';
import type { KeptCommand, KeptJailRequest } from './jail-request.js';
import { KeptFork } from './kept-fork.js';
import { keptRuns } from './kept-runs.js';
import { ranApart, readApart, runApart } from './run-apart.js';
import { runKept } from './run-kept.js';

/** What serves a tree serves one jail. */
function cannotBeApart(): ErrnoError {
  return new ErrnoError('ENOTSUP', {
    operation: 'exec',
    reason: 'the command needs a jail of its own, and the mounts of a kept jail cannot be shown in a second jail',
    remedy: 'run it with ctx exec --mount, outside the kept jail; or end the commands that it cannot run beside',
  });
}

const ended = () =>
  new ErrnoError('EPIPE', { operation: 'jail', reason: 'the jail has ended', remedy: 'start another one' });

const background = 'processes of earlier commands are running: what they write is in this report too';

/** A command's fork as the kept jail has it mounted. */
interface OnMounted {
  readonly mounted: MountedFork;
  /** As it is for this command. */
  readonly fork: OpenFork;
  /** It is mounted for this command. */
  readonly isNew: boolean;
  readonly turn: { end(): void };
}

export class KeptJail {
  readonly id: string;
  readonly #host: Host;
  readonly #request: KeptJailRequest;
  readonly #equipment: Equipment;
  readonly #turns = new Turns();
  readonly #room = new Room(commandsAtWork);
  readonly #fork: KeptFork;
  #ending: Promise<void> | undefined;
  /** Calls that may be about to use the place in the fork's group. */
  #calls = 0;
  #hasEnded = false;

  private constructor(id: string, host: Host, request: KeptJailRequest, equipment: Equipment, mounted: MountedFork) {
    this.id = id;
    this.#host = host;
    this.#request = request;
    this.#equipment = equipment;
    this.#fork = new KeptFork(host, equipment, this.#turns, mounted);
  }

  get origin(): string {
    return this.#equipment.origin;
  }

  get fork(): string {
    return this.#equipment.fork;
  }

  /** Of commands that run now. */
  get isReadOnly(): boolean {
    return this.#fork.mounted?.isReadOnly === true;
  }

  /** The process of this jail alone, outside: it ends with the jail, and the jail with it. */
  get pid(): number | undefined {
    return this.#equipment.jail.pid;
  }

  /** Those who find it at work are to name its own process: the one that keeps it keeps others, too. */
  isKeptWithOthers(): void {
    this.#equipment.kept.jailProcess = this.#equipment.jail.pid;
  }

  /** Resolves when everything inside is dead and unmounted. */
  get ended(): Promise<void> {
    return this.#equipment.jail.ended;
  }

  static async start(host: Host, asked: KeptJailRequest): Promise<KeptJail> {
    const read = await withMounts(host, asked);
    const place = placeOf(host, read.cwd);
    // Of the whole workspace, wherever in it a command will stand.
    const resolved = await authorityToPrepare(
      host,
      { ...place, directory: place.origin },
      { ...read, streams: 'capture' },
    );
    const request = await withTreesOf(host, read, resolved);
    return untilJoined(() => KeptJail.#startOn(host, request, place, resolved));
  }

  static async #startOn(host: Host, request: KeptJailRequest, place: Place, resolved: Permitted): Promise<KeptJail> {
    const { store, tree } = host;
    const { origin, owner } = place;
    const { onProgress, signal, fork } = request;
    const id = uniqueName();
    const roots = [workspaceRoot, ...resolved.roots.map(rootKey)];
    let jail: KeptJail | undefined;
    const runs = { ...keptRuns(host, request, resolved.agent?.cwd ?? place.directory, () => jail), pending: [] };
    const opening = { store, tree, origin, owner, fork, onProgress, signal, beside: true, purpose: 'ctx jail start' };
    const opened = await openSettled(roots, (look) => openFork({ ...opening, look }));
    try {
      const [equipment, mounted] = await recordedLack(host, place, resolved, () =>
        makeEquipment({ host, id, request, place, resolved, opened, runs }),
      );
      let hasBegun = false;
      try {
        jail = new KeptJail(id, host, request, equipment, mounted);
        equipment.record.write('begin');
        hasBegun = true;
        await jail.#fork.letGo();
        return jail;
      } catch (error) {
        jail = undefined;
        if (hasBegun) equipment.record.fail(error);
        await dismantle({ ...equipment, handedOver: true, member: mounted.member });
        throw error;
      }
    } finally {
      closeFork(opened);
    }
  }

  /** Beside those that run already, as long as there is room. */
  async exec(command: KeptCommand): Promise<Envelope> {
    const decided = await this.#decide(command);
    const leave = await this.#room.enter();
    try {
      const envelope = await untilJoined(() => this.#exec(decided));
      return await settled(envelope, this.#equipment.view);
    } finally {
      leave();
    }
  }

  /** For a command that runs here already and waits for it: it takes no room of its own, or all could wait for each other. */
  async beside(command: KeptCommand): Promise<Envelope> {
    const decided = await this.#decide(command);
    return untilJoined(() => this.#exec(decided));
  }

  #decide(command: KeptCommand): Promise<DecidedCommand> {
    const { origin, resolved } = this.#equipment;
    return decideCommand({ id: this.id, host: this.#host, request: this.#request, origin, resolved }, command);
  }

  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    const { jail, group, network, servers, record } = this.#equipment;
    await jail.end();
    await allOf(
      () => servers?.end(true),
      () => this.#fork.unwatch(),
      () => network?.end(),
      () => group?.remove(),
      () => this.#fork.end(),
      () => {
        this.#hasEnded = true;
        this.#leaveAfterCalls();
      },
      () => record.write('ok'),
    );
  }

  /** The place is a descriptor: a call that waits for the fork meanwhile would find another file under its number. */
  #leaveAfterCalls(): void {
    if (this.#hasEnded && this.#calls === 0) leavePlace(this.#equipment.kept);
  }

  async #exec(decided: DecidedCommand): Promise<Envelope> {
    if (this.#hasEnded) throw ended();
    this.#calls += 1;
    try {
      return await this.#execInTurn(decided);
    } finally {
      this.#calls -= 1;
      this.#leaveAfterCalls();
    }
  }

  async #execInTurn(decided: DecidedCommand): Promise<Envelope> {
    const { host, place, resolved } = decided;
    const isReadOnly = decided.request.readonly === true;
    const turn = { end: await this.#turns.take() };
    let held: OpenFork | undefined;
    try {
      if (this.#ending !== undefined) throw ended();
      const found = this.#fork.mounted;
      const isApart = resolved.digest !== this.#equipment.resolved.digest;
      const isOther = found !== undefined && found.isReadOnly !== isReadOnly;
      if (isApart || isOther) {
        turn.end();
        return await this.#execApart(decided, [isApart ? ranApart : readApart]);
      }
      held = found?.fork;
      const [mounted, synced] =
        found === undefined
          ? await this.#fork.mount(decided)
          : ([found, await this.#fork.join(found, decided)] as const);
      const { fork, member, running } = mounted;
      held = fork;
      const isNew = found === undefined;
      const there = [...synced.fork.others.map((other) => other.command), ...[...running].map(({ text }) => text)];
      const warnings = [...this.#equipment.record.takeUnsaid(), ...(!isNew && running.size === 0 ? [background] : [])];
      const request = { ...decided.request, view: this.#equipment.view };
      const on = { request, place, resolved, synced, member, there, warnings, keptJail: this.id };
      const target = await forkTarget(host, on);
      const run = CommandRun.begin(host, request, target);
      const earlier = mounted.followed?.entered.size ?? 0;
      let ran: JailRun;
      try {
        request.onReady?.();
        ran = await this.#runMounted(run.command, decided, { mounted, fork: synced.fork, isNew, turn });
      } catch (error) {
        run.fail(error);
        throw error;
      }
      run.ran();
      const entered = [...(mounted.followed?.entered ?? [])].slice(earlier);
      const seen = await run.seen(ran, () => target.look(mounted.isDown, entered));
      return await seen.envelope(run.end(ran, seen.facts));
    } finally {
      try {
        if (held !== undefined) await this.#fork.rest(held);
      } finally {
        turn.end();
        // Its end does it, and a command that it cut short comes here after that.
        if (this.#ending === undefined) this.#fork.syncWhenIdle();
      }
    }
  }

  /** From its turn until it has started, and in another turn when it has ended. */
  async #runMounted(
    one: TargetCommand,
    decided: DecidedCommand,
    { mounted, fork, isNew, turn }: OnMounted,
  ): Promise<JailRun> {
    const { member, running } = mounted;
    const { lock } = mounted.fork;
    const own = { text: commandText(decided.request.argv) };
    await this.#fork.unwatch();
    running.add(own);
    member.does([...running].map(({ text }) => text).join('; '));
    let isStarted = false;
    const onStarted = (jail: RunningCommand, mounting: Promise<void> | undefined) => {
      decided.command.onStarted?.(jail);
      // Everything is mounted: other commands may join.
      void Promise.all([jail.started, mounting]).then(
        () => {
          isStarted = true;
          lock?.letGo();
          this.#fork.follow(mounted);
          turn.end();
        },
        () => undefined,
      );
    };
    try {
      return await this.#runIn(one, decided, fork, isNew ? member : undefined, onStarted);
    } finally {
      if (isStarted) turn.end = await this.#turns.take();
      await lock?.takeAgain();
      running.delete(own);
      member.unbind();
      const left = [...running].map(({ text }) => text);
      // Where the fork was mounted already, they may be another command's.
      const whose = isNew ? own.text : 'earlier commands';
      member.does(left.length > 0 ? left.join('; ') : `processes that ${whose} left`);
      // So that the report reads what is not being written.
      mounted.isDown = running.size === 0 && (await this.#fork.release());
    }
  }

  async #runIn(
    one: TargetCommand,
    { command, resolved, host }: DecidedCommand,
    fork: OpenFork,
    newcomer: Member | undefined,
    onStarted: (jail: RunningCommand, mounting: Promise<void> | undefined) => void,
  ): Promise<JailRun> {
    const { jail, network, group } = this.#equipment;
    // The jail does one thing after the other: the command starts on what is mounted, without our waiting for it.
    const mounting = newcomer && jail.mount(mountingPlan(one.view)).then(() => newcomer.mounted(jail.pid));
    const running = runKept({
      ...one,
      jail,
      network,
      group,
      authority: resolved.authority,
      conversation: command.conversation,
      treeProgram: host.tree.program,
      counted: [...writtenTrees(fork), ...homesIn(host.root, one.view.jail)],
      vault: vaultWatchOf(fork),
      onStarted: (started) => onStarted(started, mounting),
    });
    const [ran] = await Promise.all([running, mounting]);
    return ran;
  }

  /** With another network, or otherwise mounted: a jail of its own, on the same fork. */
  async #execApart(
    { host, place, resolved, request, command }: DecidedCommand,
    warnings: readonly string[],
  ): Promise<Envelope> {
    const { group } = this.#equipment;
    if ((this.#request.trees ?? []).length > 0) throw cannotBeApart();
    const runs = { ...keptRuns(host, request, resolved.agent?.cwd ?? place.directory, () => this), pending: [] };
    const { view } = await agentViewFor(host, place, { ...resolved, tool: undefined }, runs);
    const whole = { ...request, view };
    const own = { request: whole, place, resolved, warnings, keptJail: this.id, fork: this.fork };
    const { conversation } = command;
    const inJail = (asked: RunRequest) => runApart({ ...asked, group, conversation });
    let report: Envelope;
    try {
      report = await runOnTarget(host, whole, await openForkTarget(host, own), inJail);
    } finally {
      await view?.end();
    }
    return settled(report, view);
  }
}
