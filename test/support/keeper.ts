/** A keeper of a stage's store: left behind by a first verb, and ended with the suite. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './process.js';
import type { Stage } from './stage.js';
import { spawnIdentity, type TestUser } from './users.js';

export const keeperOn = { CTX_KEEPER: 'on' } as const;
export const keeperOff = { CTX_KEEPER: 'off' } as const;

export function placesIn(store: string): readonly string[] {
  const keepers = join(store, 'keeper');
  return existsSync(keepers) ? readdirSync(keepers).map((key) => join(keepers, key)) : [];
}

/** Directories right below that have had a keeper. */
export function storesBelow(directory: string): readonly string[] {
  return readdirSync(directory)
    .map((name) => join(directory, name))
    .filter((path) => existsSync(join(path, 'keeper')));
}

/** The process that listens there; undefined where none does. */
export function keeperOf(store: string): number | undefined {
  // A socket without a lock is another keeper's (warm-calls.ts).
  const place = placesIn(store).find((each) => ['socket', 'lock'].every((name) => existsSync(join(each, name))));
  if (place === undefined) return undefined;
  // Empty while it starts; and a socket stays where a keeper was killed.
  const { pid = 0 } = JSON.parse(readFileSync(join(place, 'lock'), 'utf8').trim() || '{}') as { readonly pid?: number };
  return isAlive(pid) ? pid : undefined;
}

export function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
}

/** A keeper ends when its user has no other process any more, and a user of tests has none between two calls. */
export function keepCompany(user: TestUser): { end(): void } {
  const words = ['--pdeathsig', 'KILL', '--', 'sleep', '86400'];
  const child = spawn('setpriv', words, { ...spawnIdentity(user), cwd: '/', stdio: 'ignore' });
  child.unref();
  return { end: () => void child.kill('SIGKILL') };
}

/** As long as one that did not start is not started anew (native/call/leave-keeper.c). */
const secondsOfTry = 30;
const mostTries = 4;

/**
 * Calls a verb that leaves a keeper behind, and waits until it listens. A verb that takes seconds, as on a busy machine,
 * leaves none: then it is called again.
 */
export async function leaveKeeper(store: string, call: () => Promise<unknown>): Promise<number> {
  for (let tries = 1; ; tries++) {
    await call();
    try {
      await until(() => keeperOf(store) !== undefined, 'a keeper listens', secondsOfTry);
      return keeperOf(store) ?? 0;
    } catch (error) {
      if (tries === mostTries) throw error;
    }
  }
}

export function startKeeper(stage: Stage, project: string, store = stage.store): Promise<number> {
  return leaveKeeper(store, () => stage.ctx(project, ['status'], { env: { ...keeperOn, CTX_DATA: store } }));
}

/** One that is about to start is waited for: it would be left behind. */
export async function endKeeper(store: string): Promise<void> {
  const isStarting = () =>
    placesIn(store)
      .map((place) => join(place, 'lock'))
      .some((lock) => existsSync(lock) && spawnSync('flock', ['-n', lock, 'true']).status === 1);
  if (keeperOf(store) === undefined)
    await until(() => keeperOf(store) !== undefined || !isStarting(), 'a keeper listens');
  const pid = keeperOf(store);
  if (pid === undefined) return;
  process.kill(pid, 'SIGTERM');
  await until(() => !isAlive(pid), 'the keeper ends');
}

/** Page faults of its calls that have ended: more of them, and it has run one. */
export function callsRunBy(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[8]);
}

/** The copies of it that run a call: these have a group of their own. The one that waits for a call has the keeper's. */
export function callsOf(pid: number): readonly number[] {
  const isCall = (name: string) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return parent === String(pid) && group === name;
    } catch {
      return false; // ended meanwhile
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isCall(name))
    .map(Number);
}

/** Calls end shortly after their callers: what is counted from here on is of later ones. */
export async function callsHaveEnded(pid: number): Promise<void> {
  await until(() => callsOf(pid).length === 0, 'no call runs');
}
