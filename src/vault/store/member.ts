/** One's own place in the group of a fork: taken, kept up to date and left again. */
import { appendFileSync, closeSync, openSync, statSync, writeFileSync } from 'node:fs';
import { hasCode } from '../../base/errno.js';
import type { Tree } from '../tree/tree.js';
import { type Arrived, arrivedIn } from './arrivals.js';
import { readGroup } from './group.js';
import type { ForkPaths } from './layout.js';
import { removedMeanwhile } from './locks.js';
import { type BegunRun, freePlace, type KeptPlace, keptText, say, type Worker } from './worker-file.js';

type Facts = Omit<Worker, 'name' | 'pid' | 'since' | 'runs' | 'jail'>;

export class Member {
  readonly name: string;
  /** Holds the lock; for the jail too, which may outlive this process. */
  readonly descriptor: number;
  readonly #tree: Tree;
  readonly #place: ForkPaths;
  readonly #kept: KeptPlace | undefined;
  #worker: Worker;
  #hasLeft = false;

  private constructor(tree: Tree, place: ForkPaths, facts: Facts, { name, descriptor }: KeptPlace, kept?: KeptPlace) {
    this.name = name;
    this.descriptor = descriptor;
    this.#tree = tree;
    this.#place = place;
    this.#kept = kept;
    this.#worker = { ...facts, name, pid: process.pid, since: new Date().toISOString(), jail: null, runs: [] };
  }

  /** With the fork's lock held; `others` are at work already. */
  static async enter(
    tree: Tree,
    place: ForkPaths,
    facts: Facts,
    others: readonly Worker[],
    kept?: KeptPlace,
  ): Promise<Member> {
    const found = kept ?? (await freePlace(tree, place));
    const member = new Member(tree, place, facts, found, kept);
    try {
      // Anyone who looks whether it is free has the lock briefly.
      await tree.lock({ descriptor: member.descriptor, wait: true });
      member.#write();
      if (others.length === 0) writeFileSync(place.joined, '', { mode: 0o600 });
      member.came(facts.command);
      return member;
    } catch (error) {
      member.leave();
      throw error;
    }
  }

  /** As others read it. */
  get worker(): Worker {
    return this.#worker;
  }

  /** Who is at work with it now. */
  async others(): Promise<readonly Worker[]> {
    const { live } = await readGroup(this.#tree, this.#place);
    return live.filter(({ name }) => name !== this.name);
  }

  /** Another command of it, which those that run beside it are told of. */
  came(command: string): void {
    appendFileSync(this.#place.joined, `${JSON.stringify(command)}\n`, { mode: 0o600 });
  }

  /**
   * So many paths of the person's wait for the end of the group: the process that ends in it says so. It has left where that cannot be
   * written: its command does not begin then, and a kept jail would hold the fork for as long as it lives.
   */
  foundWaiting(waiting: number): void {
    if (waiting === 0) return;
    try {
      appendFileSync(this.#place.joined, `${JSON.stringify({ waiting })}\n`, { mode: 0o600 });
    } catch (error) {
      this.leave();
      throw error;
    }
  }

  /** Where the list of those that came ends: commands that come from here on are those `since` it. */
  get arrivals(): number {
    return statSync(this.#place.joined).size;
  }

  since(arrivals: number): Arrived {
    const descriptor = this.#openJoined();
    try {
      return arrivedIn(descriptor, arrivals);
    } finally {
      closeSync(descriptor);
    }
  }

  #openJoined(): number {
    try {
      return openSync(this.#place.joined, 'r');
    } catch (error) {
      throw hasCode(error, 'ENOENT') ? removedMeanwhile(this.#place.directory, error) : error;
    }
  }

  /** What it is doing now. */
  does(command: string): void {
    this.#worker = { ...this.#worker, command };
    this.#write();
  }

  /** The command that was approved once has ended; what it left running holds no one up. */
  unbind(): void {
    if (this.#worker.bound !== true) return;
    this.#worker = { ...this.#worker, bound: false };
    this.#write();
  }

  /** The jail has mounted everything: others can join it. */
  mounted(jail: number | undefined): void {
    this.#worker = { ...this.#worker, jail: jail ?? null };
    this.#write();
  }

  begin(run: BegunRun): void {
    this.#worker = { ...this.#worker, runs: [...this.#worker.runs, run] };
    this.#write();
  }

  end({ run }: BegunRun): void {
    this.#worker = { ...this.#worker, runs: this.#worker.runs.filter((each) => each.run !== run) };
    this.#write();
  }

  /** What it says afterwards is for no one. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    try {
      say(this.descriptor, this.#kept !== undefined ? keptText(this.#kept) : '');
    } finally {
      // A disk that fails must not keep the fork busy for as long as this process lives.
      if (this.#kept !== undefined) this.#tree.unlock(this.descriptor);
      else closeSync(this.descriptor);
    }
  }

  #write(): void {
    if (this.#hasLeft) return;
    const { jailProcess } = this.#kept ?? {};
    say(this.descriptor, JSON.stringify({ ...this.#worker, jailProcess }));
  }
}
