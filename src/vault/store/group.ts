/**
 * Who is at work on a fork: one file each in `fork/F/group`, locked by its process and by its jail until everything of
 * it is unmounted and reported. One that no one has locked and that names somebody is of one that was killed.
 *
 * All that work at one time share the live layer and its mounts, and are a group: the fork is frozen before its first and after
 * its last. Files (worker-file) are taken by those who hold the fork's lock (member), and stay for the next. Anybody may read.
 */
import { closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { isStopped } from '../../base/process-table.js';
import type { Tree } from '../tree/tree.js';
import type { ForkPaths } from './layout.js';
import { isFree } from './locks.js';
import {
  type AtWork,
  isWorker,
  namedProcess,
  namesIn,
  openWorker,
  readWorkerFile,
  say,
  type Worker,
} from './worker-file.js';

/** Of a command, as others are told of it. */
const mostCommand = 1_000;

export function commandText(argv: readonly string[]): string {
  return argv.join(' ').slice(0, mostCommand);
}

export interface Group {
  readonly live: readonly Worker[];
  /** Killed before they had left. */
  readonly dead: readonly Worker[];
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

/** Its file says nothing: it has left, and its jail ends now. Or it begins, which it does with the fork's lock. */
export const isLeaving = ({ pid }: Pick<Worker, 'pid'>): boolean => pid === 0;

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
      const found = readWorkerFile(descriptor);
      if (isWorker(found)) (isDead ? dead : live).push({ ...found, name });
      else if (!isDead) live.push(unknown(name));
    } finally {
      closeSync(descriptor);
    }
  }
  return { live: live.sort((left, right) => (left.since < right.since ? -1 : 1)), dead };
}

/** When somebody last began or ended work on the fork, in nanoseconds; 0 where no one did. */
export function lastTime({ group }: ForkPaths): bigint {
  const times = namesIn(group).map((name) => statSync(join(group, name), { bigint: true }).mtimeNs);
  return times.reduce((latest, time) => (time > latest ? time : latest), 0n);
}

/** With the fork's lock held: of one that is dead. */
export function forget({ group }: ForkPaths, { name }: Worker): void {
  const descriptor = openSync(join(group, name), 'r+');
  try {
    say(descriptor, '');
  } finally {
    closeSync(descriptor);
  }
}

/** Resolves when it has left, or is dead. */
export async function endOf(tree: Tree, { group }: ForkPaths, { name }: Worker, signal?: AbortSignal): Promise<void> {
  const descriptor = openWorker(join(group, name));
  if (descriptor === undefined) return;
  try {
    await tree.lock({ descriptor, wait: true, shared: true }, { signal });
  } finally {
    closeSync(descriptor);
  }
}

/** Of many, the first are named; each by so much of its text. */
const namedWorkers = 8;
const namedCharacters = 200;

const shortened = (command: string) =>
  command.length <= namedCharacters ? command : `${command.slice(0, namedCharacters - 1)}…`;

function userText(worker: AtWork): string {
  const pid = namedProcess(worker);
  // Its file says nothing yet, and no longer.
  if (pid === 0) return 'a command that begins or ends is using it';
  const stopped = isStopped(worker.pid) ? `, stopped until somebody continues it (fg, kill -CONT ${worker.pid})` : '';
  return `process ${pid} is using it${stopped}: ${shortened(worker.command)} (since ${worker.since})`;
}

export function busyWith(what: string, workers: readonly AtWork[]): ErrnoError {
  const each = workers.slice(0, namedWorkers).map(userText);
  const more = workers.length - each.length;
  return new ErrnoError('EBUSY', {
    operation: 'open the fork',
    path: what,
    reason: [...each, ...(more > 0 ? [`${more} more are using it`] : [])].join('; '),
    remedy: `wait for ${workers.length > 1 ? 'all of them' : 'it'} to end, or pass --wait; ctx ps shows how to end each; ctx fork create copies the fork as it is`,
  });
}
