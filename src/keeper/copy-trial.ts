/**
 * Whether a copy of this process works. Node does not promise it: its loop is made anew, threads of its pool too, and V8 is told to have
 * none. So a keeper tries it before it takes a call, by what calls are made of. Where it does not work there is no keeper.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ErrnoError } from '../base/errno.js';
import { keeperTrialMilliseconds } from '../base/limits/commands.js';
import type { KeeperLibrary } from './keeper-library.js';

/**
 * Majors of Node that all tests of a keeper were run with. Another one may do in a copy what no one has seen: there is
 * no keeper then.
 */
const knownNodes: readonly string[] = ['20', '22', '24', '26'];

export function refuseUnknownNode(version: string): void {
  if (knownNodes.includes(version.split('.')[0] ?? '')) return;
  const reason = `expected Node ${knownNodes.join(', ')}, got ${version}: no keeper was tested with this version`;
  throw new ErrnoError('ENOTSUP', { operation: 'start a keeper', reason });
}

const works = 42;
const garbage = 200_000;
/** Many times what V8 has threads: that of Node 26 wakes another one at each, and a copy has none (docs/decisions/0107). */
const collections = 64;

/** Files by the pool, timers, programs, memory that is collected. */
async function exercise(): Promise<boolean> {
  const texts = await Promise.all(['/proc/self/status', '/proc/self/maps'].map((path) => readFile(path, 'latin1')));
  await new Promise((resolve) => setTimeout(resolve, 1));
  const code = await new Promise((resolve, reject) => {
    spawn('/proc/self/exe', ['--version'], { stdio: 'ignore' }).once('error', reject).once('exit', resolve);
  });
  let kept: unknown[] = [];
  for (let count = 0; count < garbage; count++) {
    kept.push({ count, text: `${count}` });
    if (count % 1000 === 0) kept = kept.slice(-10);
  }
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  for (let times = 0; times < collections; times++) collect({ type: 'minor' });
  return texts.every((text) => text !== '') && code === 0 && kept.length > 0;
}

/**
 * V8 draws what Math.random begins with when it is first called, from what it has had since its start: in every copy the same, so that
 * processes which wait for each other would all come back at one time.
 */
export function drawAnew(): void {
  setFlagsFromString(`--random-seed=${(process.hrtime.bigint() % 0x7fff_fffen) + 1n}`);
}

/** Node knows its own process by heart. */
export function isCopy(own: number): void {
  Object.defineProperty(process, 'pid', { value: own });
}

/** What another process does, for what only is done then. Where it does not come to its end there is nothing to do about it. */
export async function inCopy(library: KeeperLibrary, act: () => Promise<unknown>): Promise<void> {
  const copy = library.try();
  if (copy === 0) {
    isCopy(Number(readFileSync('/proc/self/stat', 'latin1').split(' ', 1)[0]));
    await act().catch(() => undefined);
    library.end(works);
  }
  if (copy > 0) library.tried(copy, keeperTrialMilliseconds);
}

/** A copy runs calls of every day and says which pages of memory these used, so that those after it have them ready. */
export async function learnPages(library: KeeperLibrary, calls: () => Promise<unknown>): Promise<void> {
  if (library.expectPages() < 0) return;
  await inCopy(library, () => calls().finally(() => library.learnPages()));
}

/** Returns where it does. */
export async function copiesWork(library: KeeperLibrary): Promise<void> {
  const copy = library.try();
  if (copy === 0) {
    const done = await exercise().catch(() => false);
    library.end(done ? works : 1);
  }
  const code = copy < 0 ? copy : library.tried(copy, keeperTrialMilliseconds);
  if (code === works) return;
  throw new ErrnoError('ENOTSUP', {
    operation: 'start a keeper',
    reason: `a copy of Node ${process.version} does not work here (${code})`,
  });
}
