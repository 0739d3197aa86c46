/** A fork opened beside the commands at work, when each of them has its mounts, or has let go of them. */
import { closeSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonic } from '../../base/clock.js';
import { ErrnoError } from '../../base/errno.js';
import {
  commandsAtWork,
  joinAgainMilliseconds,
  joinAgainMostMilliseconds,
  joinAttempts,
  joinPatienceMilliseconds,
  roomAgainMilliseconds,
} from '../../base/limits/commands.js';
import { busyWith, readGroup } from '../../vault/store/group.js';
import { isLocked, takeLock } from '../../vault/store/locks.js';
import type { Worker } from '../../vault/store/worker-file.js';
import { closeFork, type OpenFork } from '../../vault/vault.js';
import { isUnsettled } from './group-part.js';

/** Where those who had the fork mounted were just ending. */
function isGone(error: unknown): boolean {
  return error instanceof ErrnoError && error.code === 'ESRCH' && error.operation.startsWith('jail');
}

/** Opens the fork beside others; `look` says whether the person's directory is looked at on the way, which starts a process. */
export type Opening = (look: boolean) => Promise<OpenFork>;

/**
 * Pauses between tries: the first are short, then each is half as long again, and no two processes have the same. Of hundreds that wait
 * for one to begin, each look takes from the time that this one needs.
 */
export class Pauses {
  #next = joinAgainMilliseconds / 2;

  next(drawn = Math.random()): number {
    this.#next = Math.min(this.#next * 1.5, joinAgainMostMilliseconds);
    return this.#next * (0.75 + drawn / 2);
  }
}

/** Patience with those at work, which is new whenever one of them begins, mounts or ends: where many start at once, each needs its time. */
export class Standstill {
  #seen: string | undefined;
  #until = 0;

  isOver(workers: readonly Worker[], now = monotonic()): boolean {
    const seen = workers.map(({ name, pid, jail }) => `${name} ${pid} ${jail}`).join('\n');
    if (seen !== this.#seen) {
      this.#seen = seen;
      this.#until = now + joinPatienceMilliseconds;
    }
    return now > this.#until;
  }
}

/** Those who end need a short time each, and the fork's lock for it: others keep away from it meanwhile. */
async function whenSettled(
  roots: readonly string[],
  { tree, place, vault }: OpenFork,
  standstill: Standstill,
): Promise<void> {
  for (const pauses = new Pauses(); ; ) {
    await sleep(pauses.next());
    const { live } = await readGroup(tree, place);
    if (!isUnsettled(live, roots)) return;
    if (standstill.isOver(live)) throw busyWith(vault.origin, live);
  }
}

/** One look is enough for a command that joins: its report says what it found. One that comes first takes in what it finds, and looks again. */
async function openWhenSettled(roots: readonly string[], open: Opening): Promise<OpenFork> {
  const standstill = new Standstill();
  let opened = await open(true);
  const { drift } = opened;
  while (isUnsettled(opened.others, roots)) {
    closeFork(opened);
    if (standstill.isOver(opened.others)) throw busyWith(opened.vault.origin, opened.others);
    await whenSettled(roots, opened, standstill);
    opened = await open(false);
    if (opened.others.length > 0) opened = { ...opened, drift };
    else {
      closeFork(opened);
      opened = await open(true);
    }
  }
  return opened;
}

const isFull = ({ others }: OpenFork) => others.length >= commandsAtWork;

/** Whether somebody waits for room: the process that comes later waits behind. */
async function isQueued({ tree, place }: OpenFork): Promise<boolean> {
  return existsSync(place.queue) && (await isLocked(tree, place.queue));
}

/** In the order in which they came, where there is no room for one more. */
export async function openSettled(roots: readonly string[], open: Opening): Promise<OpenFork> {
  const first = await openWhenSettled(roots, open);
  if (!isFull(first) && (first.others.length === 0 || !(await isQueued(first)))) return first;
  closeFork(first);
  const { tree, place, name } = first;
  const waiting = { wait: true, purpose: 'waiting for room', what: name };
  const queue = await takeLock(tree, place.queue, waiting);
  try {
    for (;;) {
      const opened = await openWhenSettled(roots, open);
      if (!isFull(opened)) return opened;
      closeFork(opened);
      await sleep(roomAgainMilliseconds);
    }
  } finally {
    closeSync(queue);
  }
}

/**
 * For those who try again where what was to be joined had ended by then. An attempt may wait for room longer than all of the patience, and
 * find then that those whom it would join have just ended: some attempts are always made.
 */
export class JoinPatience {
  readonly #until: number;
  readonly #pauses = new Pauses();
  #attempts = 0;

  constructor(milliseconds = joinPatienceMilliseconds) {
    this.#until = monotonic() + milliseconds;
  }

  /** Waits until it is worth another attempt; throws the error where it is not. */
  async after(error: unknown): Promise<void> {
    this.#attempts += 1;
    const isOver = this.#attempts > joinAttempts && monotonic() > this.#until;
    if (!isGone(error) || isOver) throw error;
    await sleep(this.#pauses.next());
  }
}

export async function untilJoined<T>(attempt: () => Promise<T>): Promise<T> {
  for (const patience = new JoinPatience(); ; ) {
    try {
      return await attempt();
    } catch (error) {
      await patience.after(error);
    }
  }
}
