/**
 * Who is at work on a fork: one file each in `fork/F/group`, locked by its process and by its jail until everything of it is
 * unmounted and reported. One that nobody has locked and that names somebody is of one that was killed.
 *
 * All that work at one time share the live layer and its mounts, and are a group: the fork is frozen before its first and after
 * its last. Files are taken by those who hold the fork's lock, and stay for the next, always as long: coming and going makes no
 * room on a full disk, and takes none. Anybody may read.
 */
import {
  appendFileSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { ErrnoError, hasCode } from '../../base/errno.js';
import { commandsBesideNamed } from '../../base/limits.js';
import type { Tree } from '../tree/tree.js';
import type { ForkPaths } from './layout.js';

/** Somebody who uses a fork now, as people are told of it. */
export interface AtWork {
  readonly pid: number;
  readonly command: string;
  /** ISO 8601. */
  readonly since: string;
}

/** A run that has begun, and whose chain says how it ends; null for the person's. */
export interface BegunRun {
  readonly run: string;
  readonly agent: string | null;
}

export interface Worker extends AtWork {
  readonly name: string;
  /** The owner of its jail, from when that has mounted everything. */
  readonly jail: number | null;
  /** Roots that it mounts, or is about to. */
  readonly roots: readonly string[];
  /** Whose the fork's files are shown to be: a mount shows them one way only. */
  readonly owners: string;
  /** The moment before the group, for `ctx rollback`. */
  readonly checkpoint: number | null;
  readonly runs: readonly BegunRun[];
}

export interface Group {
  readonly live: readonly Worker[];
  /** Killed before they had left. */
  readonly dead: readonly Worker[];
}

/** Of such a file. */
const size = 4_096;

const padded = (text: string) => text.padEnd(Math.max(size, text.length + 1) - 1).concat('\n');

/** Of a command, as others are told of it. */
const mostCommand = 1_000;

export function commandText(argv: readonly string[]): string {
  return argv.join(' ').slice(0, mostCommand);
}

/** What a file of the group says: somebody, or for whose kept jail it is kept while nothing is mounted there; or nothing. */
function read(descriptor: number): Partial<Worker & { readonly kept: number }> {
  const bytes = Buffer.alloc(fstatSync(descriptor).size);
  const text = bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, bytes.length, 0)).trim();
  try {
    return text === '' ? {} : (JSON.parse(text) as Partial<Worker>);
  } catch (error) {
    if (error instanceof SyntaxError) return {}; // being written, or cut off by its end
    throw error;
  }
}

const isWorker = (value: Partial<Worker>): value is Worker => Array.isArray(value.roots) && Array.isArray(value.runs);

async function isFree(tree: Tree, descriptor: number): Promise<boolean> {
  try {
    await tree.lock({ descriptor, wait: false });
    return true;
  } catch (error) {
    if (hasCode(error, 'EBUSY')) return false;
    throw error;
  }
}

function openWorker(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined; // the fork is gone
    throw error;
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

const unknown = (name: string): Worker => ({
  name,
  pid: 0,
  command: '?',
  since: new Date().toISOString(),
  jail: null,
  roots: [],
  owners: '',
  checkpoint: null,
  runs: [],
});

/** In the order in which they came. */
export async function readGroup(tree: Tree, { group }: ForkPaths): Promise<Group> {
  const live: Worker[] = [];
  const dead: Worker[] = [];
  for (const name of namesIn(group)) {
    const path = join(group, name);
    const descriptor = openWorker(path);
    if (descriptor === undefined) continue;
    try {
      const isDead = await isFree(tree, descriptor);
      const found = read(descriptor);
      if (isWorker(found)) (isDead ? dead : live).push({ ...found, name });
      else if (!isDead) live.push(unknown(name));
    } finally {
      closeSync(descriptor);
    }
  }
  return { live: live.sort((left, right) => (left.since < right.since ? -1 : 1)), dead };
}

/** When somebody last began or ended work on the fork, in nanoseconds; 0 where nobody did. */
export function lastTime({ group }: ForkPaths): bigint {
  const times = namesIn(group).map((name) => statSync(join(group, name), { bigint: true }).mtimeNs);
  return times.reduce((latest, time) => (time > latest ? time : latest), 0n);
}

/** With the fork's lock held: of one that is dead. */
export function forget({ group }: ForkPaths, { name }: Worker): void {
  const descriptor = openSync(join(group, name), 'r+');
  try {
    writeSync(descriptor, padded(''), 0);
  } finally {
    closeSync(descriptor);
  }
}

/** Resolves when it has left, or is dead. */
export async function endOf(tree: Tree, { group }: ForkPaths, { name }: Worker, signal?: AbortSignal): Promise<void> {
  const descriptor = openWorker(join(group, name));
  if (descriptor === undefined) return;
  try {
    await tree.lock({ descriptor, wait: true }, { signal });
  } finally {
    closeSync(descriptor);
  }
}

/** Of many, the first are named; each by so much of its text. */
const namedWorkers = 8;
const namedCharacters = 200;

const shortened = (command: string) =>
  command.length <= namedCharacters ? command : `${command.slice(0, namedCharacters - 1)}…`;

export function busyWith(what: string, workers: readonly AtWork[]): ErrnoError {
  const each = workers
    .slice(0, namedWorkers)
    .map(({ pid, command, since }) => `process ${pid} is using it: ${shortened(command)} (since ${since})`);
  const more = workers.length - each.length;
  return new ErrnoError('EBUSY', {
    operation: 'open the fork',
    path: what,
    reason: [...each, ...(more > 0 ? [`${more} more are using it`] : [])].join('; '),
    remedy: `wait for ${workers.length > 1 ? 'all of them' : 'it'} to end, or pass --wait; ctx ps shows how to end each; ctx fork create copies the fork as it is`,
  });
}

type Facts = Omit<Worker, 'name' | 'pid' | 'since' | 'runs' | 'jail'>;

/** A file of the group that one can have; with the fork's lock held. Whoever was killed there has been forgotten. */
async function freePlace(tree: Tree, { group }: ForkPaths): Promise<KeptPlace> {
  for (let number = 0; ; number += 1) {
    const name = String(number);
    const descriptor = openPlace(group, name);
    const { kept, ...found } = read(descriptor);
    const isKept = kept !== undefined && isThere(kept);
    if (!isKept && !isWorker(found) && (await isFree(tree, descriptor))) return { name, descriptor };
    closeSync(descriptor);
  }
}

function openPlace(group: string, name: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT;
  try {
    return openSync(join(group, name), flags, 0o600);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    mkdirSync(group, { recursive: true, mode: 0o700 });
    return openSync(join(group, name), flags, 0o600);
  }
}

/** A file of the group that a kept jail has open, too, from its start to its end. */
export interface KeptPlace {
  readonly name: string;
  readonly descriptor: number;
}

const keptText = () => padded(JSON.stringify({ kept: process.pid }));

/** With the fork's lock held. */
export async function keepPlace(tree: Tree, place: ForkPaths): Promise<KeptPlace> {
  const kept = await freePlace(tree, place);
  writeSync(kept.descriptor, keptText(), 0);
  tree.unlock(kept.descriptor);
  return kept;
}

/** Processes that have a kept jail on the fork, whether a command runs in it or not. */
export function keepersOf({ group }: ForkPaths): readonly number[] {
  const pids = namesIn(group).map((name) => {
    const descriptor = openWorker(join(group, name));
    if (descriptor === undefined) return undefined;
    try {
      return read(descriptor).kept;
    } finally {
      closeSync(descriptor);
    }
  });
  return pids.filter((pid): pid is number => pid !== undefined && isThere(pid));
}

/** When its jail has ended. */
export function leavePlace({ descriptor }: KeptPlace): void {
  writeSync(descriptor, padded(''), 0);
  closeSync(descriptor);
}

export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

export interface Arrived {
  /** The first of them, in the order in which they came. */
  readonly commands: readonly string[];
  readonly count: number;
  /** Paths of the person's that one of them found changed: they enter when the group has ended. */
  readonly waiting: number;
}

const lineEnd = 10;

/** Lines of a file from `from` on, in bounded memory; what follows the last line end is not one yet. */
function* linesFrom(descriptor: number, from: number): Generator<string> {
  const chunk = Buffer.alloc(64 * 1024);
  let line: Buffer[] = [];
  for (let at = from; ; ) {
    const size = readSync(descriptor, chunk, 0, chunk.length, at);
    if (size === 0) return;
    at += size;
    const read = chunk.subarray(0, size);
    let begin = 0;
    for (let end = read.indexOf(lineEnd); end >= 0; end = read.indexOf(lineEnd, begin)) {
      yield Buffer.concat([...line, read.subarray(begin, end)]).toString('utf8');
      line = [];
      begin = end + 1;
    }
    line.push(Buffer.from(read.subarray(begin)));
  }
}

/** A server that runs all day has thousands beside it: they are counted, and the first are named. */
function arrivedIn(descriptor: number, from: number): Arrived {
  const commands: string[] = [];
  let count = 0;
  let waiting = 0;
  for (const line of linesFrom(descriptor, from)) {
    if (line.startsWith('{')) {
      waiting = Math.max(waiting, (JSON.parse(line) as Pick<Arrived, 'waiting'>).waiting);
      continue;
    }
    if (count < commandsBesideNamed) commands.push(JSON.parse(line) as string);
    count += 1;
  }
  return { commands, count, waiting };
}

/** One's own place in the group of a fork. */
export class Member {
  readonly name: string;
  /** Holds the lock; for the jail too, which may outlive this process. */
  readonly descriptor: number;
  readonly #tree: Tree;
  readonly #place: ForkPaths;
  readonly #isKept: boolean;
  #worker: Worker;
  #hasLeft = false;

  private constructor(tree: Tree, place: ForkPaths, facts: Facts, { name, descriptor }: KeptPlace, isKept: boolean) {
    this.name = name;
    this.descriptor = descriptor;
    this.#tree = tree;
    this.#place = place;
    this.#isKept = isKept;
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
    const member = new Member(tree, place, facts, found, kept !== undefined);
    try {
      // Whoever looks whether it is free has the lock for a moment.
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

  /** Who is at work with it now. */
  async others(): Promise<readonly Worker[]> {
    const { live } = await readGroup(this.#tree, this.#place);
    return live.filter(({ name }) => name !== this.name);
  }

  /** Another command of it, which those that run beside it are told of. */
  came(command: string): void {
    appendFileSync(this.#place.joined, `${JSON.stringify(command)}\n`, { mode: 0o600 });
  }

  /** So many paths of the person's wait for the end of the group: whoever ends in it says so. */
  foundWaiting(waiting: number): void {
    if (waiting > 0) appendFileSync(this.#place.joined, `${JSON.stringify({ waiting })}\n`, { mode: 0o600 });
  }

  /** Where the list of those that came ends: commands that come from here on are those `since` it. */
  get arrivals(): number {
    return statSync(this.#place.joined).size;
  }

  since(arrivals: number): Arrived {
    const descriptor = openSync(this.#place.joined, 'r');
    try {
      return arrivedIn(descriptor, arrivals);
    } finally {
      closeSync(descriptor);
    }
  }

  /** What it is doing now. */
  does(command: string): void {
    this.#worker = { ...this.#worker, command };
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

  /** What it says afterwards is for nobody. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    writeSync(this.descriptor, this.#isKept ? keptText() : padded(''), 0);
    if (this.#isKept) this.#tree.unlock(this.descriptor);
    else closeSync(this.descriptor);
  }

  #write(): void {
    if (!this.#hasLeft) writeSync(this.descriptor, padded(JSON.stringify(this.#worker)), 0);
  }
}
