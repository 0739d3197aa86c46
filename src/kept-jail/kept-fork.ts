/**
 * A kept jail's fork from command to command. Between commands nothing is mounted and no command runs, so that every other verb
 * works on it meanwhile: diff, rollback, apply. While something runs in the background it stays mounted, and its limits are
 * watched.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrnoError, hasCode } from '../base/errno.js';
import { backgroundLookMilliseconds, leftLookMilliseconds, leftLooks } from '../base/limits/commands.js';
import { idleSyncMilliseconds, originLookMilliseconds, originLookPatience } from '../base/limits/store.js';
import type { Turns } from '../base/turns.js';
import { type Host, placeOf } from '../proxy/host.js';
import { EditsFollowed } from '../proxy/run/follow-edits.js';
import type { Ready } from '../proxy/run/join-fork.js';
import type { LimitWatch } from '../proxy/run/watch-limits.js';
import { Tree } from '../vault/tree/tree.js';
import { closeFork, type OpenFork, openExistingFork } from '../vault/vault.js';
import { watchBackground } from './background-limits.js';
import type { DecidedCommand } from './decided-command.js';
import { enterFork, joinMounted } from './enter-fork.js';
import type { Equipment, MountedFork } from './equipment.js';

export class KeptFork {
  readonly #host: Host;
  readonly #equipment: Equipment;
  /** Of commands that begin or end: what changes here is changed by one of them. */
  readonly #turns: Turns;
  #mounted: MountedFork | undefined;
  /** Of what runs between commands. */
  #watch: LimitWatch | undefined;
  #idle: NodeJS.Timeout | undefined;
  /** When the person's directory is to be looked at again. */
  #lookAt = 0;

  constructor(host: Host, equipment: Equipment, turns: Turns, mounted: MountedFork) {
    this.#host = host;
    this.#equipment = equipment;
    this.#turns = turns;
    this.#mounted = mounted;
  }

  get mounted(): MountedFork | undefined {
    return this.#mounted;
  }

  async mount(decided: DecidedCommand): Promise<[MountedFork, Ready]> {
    const entered = await this.#looking(decided, (looks) => enterFork(this.#equipment, decided, looks));
    [this.#mounted] = entered;
    return entered;
  }

  join(mounted: MountedFork, decided: DecidedCommand): Promise<Ready> {
    return this.#looking(decided, (looks) => joinMounted(mounted, decided, looks));
  }

  /** `looks`: at the person's directory, now and then. */
  async #looking<T>({ resolved }: DecidedCommand, act: (looks: boolean) => Promise<T>): Promise<T> {
    const begun = performance.now();
    // What was approved is the directory as it was when it was asked, newest edits included.
    const looks = begun >= this.#lookAt || resolved.permission.approval !== null;
    const done = await act(looks);
    if (looks) {
      this.#lookAt = begun + Math.min((performance.now() - begun) * originLookPatience, originLookMilliseconds);
    }
    return done;
  }

  /** After a command: let go of where nothing runs in it, else watched. In turn, with the fork's lock, which `held` gives back. */
  async rest(held: OpenFork): Promise<void> {
    try {
      const left = (await this.letGo()) ? undefined : this.#mounted;
      if (left?.running.size === 0) {
        await this.#watchBackground(left);
        this.#lookAgain();
      }
    } finally {
      closeFork(held);
    }
  }

  /** Takes the overlays down, where nothing runs in them: true where nothing is mounted any more. In turn, with the fork's lock. */
  async letGo(): Promise<boolean> {
    const mounted = this.#mounted;
    if (mounted === undefined) return true;
    if (mounted.running.size > 0 || !(mounted.isDown || (await this.release()))) return false;
    await this.unwatch();
    await mounted.followed?.stop();
    this.#mounted = undefined;
    mounted.member.leave();
    return true;
  }

  /** While it is mounted, what the person edits enters: for commands, and for what they left running. */
  follow(mounted: MountedFork): void {
    if (mounted.isReadOnly || mounted.followed !== undefined) return;
    const { tree, lockLibrary } = this.#host;
    const own = new Tree({ program: tree.program, lockLibrary });
    mounted.followed = new EditsFollowed(mounted.fork, own, mounted.member);
  }

  async release(): Promise<boolean> {
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

  /** A command has a watch of its own, which ends the command alone. */
  async unwatch(): Promise<void> {
    const watch = this.#watch;
    this.#watch = undefined;
    await watch?.stop();
  }

  /** Once the jail has ended, and so let go of the fork: none of its processes runs any more. */
  async end(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#mounted?.followed?.stop();
    this.#mounted?.member.leave();
    this.#mounted = undefined;
    await this.#sync();
  }

  syncWhenIdle(): void {
    clearTimeout(this.#idle);
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

  /** What the commands wrote is on the disk, and a power cut loses none. Left for later where others use the fork. */
  async #sync(): Promise<void> {
    const { origin, fork } = this.#equipment;
    const { store, tree } = this.#host;
    try {
      const { owner } = placeOf(this.#host, origin);
      const asked = { store, tree, origin, owner, fork, purpose: 'ctx jail start', atOnce: true };
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

  /** Limits hold between commands, too: what goes on writing then ends with the whole kept jail. */
  async #watchBackground({ fork }: MountedFork): Promise<void> {
    const { resolved } = this.#equipment;
    if (this.#watch !== undefined) return;
    this.#watch = await watchBackground(this.#host, {
      quota: resolved.authority.quota,
      fork,
      end: (reason) => void this.#endLeft(reason),
    });
  }

  /** Only what outlives a few looks ends the jail: what was killed a moment ago is there until the kernel has taken it apart. */
  async #endLeft(reason: string): Promise<void> {
    const { jail, record } = this.#equipment;
    try {
      for (let looks = 0; looks < leftLooks; looks += 1) {
        if (await this.#isNothingLeft()) return;
        await sleep(leftLookMilliseconds);
      }
    } catch {
      // What cannot be looked at is taken to run.
    }
    void jail.end();
    record.limitReached(reason);
  }

  /** Lets go where what ran has ended. Nothing is left, too, where a command has begun: it comes back to this when it has ended. */
  async #isNothingLeft(): Promise<boolean> {
    const end = await this.#turns.take();
    const mounted = this.#mounted;
    try {
      if (mounted === undefined || mounted.running.size > 0) return true;
      await mounted.fork.lock?.takeAgain();
      return await this.letGo();
    } finally {
      mounted?.fork.lock?.letGo();
      end();
    }
  }

  /** What runs in the background may end between commands: then the fork is free for others, without anybody asking here. */
  #lookAgain(): void {
    setTimeout(async () => {
      try {
        if (!(await this.#isNothingLeft())) this.#lookAgain();
      } catch (error) {
        // The store was removed: there is nothing to let go of any more, and the next command says so.
        if (!hasCode(error, 'ENOENT')) throw error;
      }
    }, backgroundLookMilliseconds).unref();
  }
}
