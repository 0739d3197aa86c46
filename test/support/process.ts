/** Processes of a test: started as a user, and waited for with all they said. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitingFor } from './waiting-for.js';

export interface Finished {
  /** As a shell has it: the exit code, or 128 + signal. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly finished: Promise<Finished>;
  /** Resolves when what was printed so far contains `text`. */
  printed(text: string): Promise<void>;
}

export interface StartOptions extends SpawnOptions {
  readonly input?: string | Buffer;
  /** Killed after this long, and then `finished` rejects: whatever the test expects of it, it has hung, and the test fails. */
  readonly timeoutSeconds?: number;
}

const hearingMilliseconds = 1_000;

/** An emulated processor is so many times slower than those that the limits here are meant for. */
export const slowness = Number(process.env['CTX_TEST_SLOWNESS'] ?? 1);

export function start(argv: readonly string[], options: StartOptions = {}): Running {
  const { input, timeoutSeconds: quickSeconds = 240, ...rest } = options;
  const timeoutSeconds = quickSeconds * slowness;
  const [program = '', ...words] = argv;
  const child = spawn(program, words, { stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'], ...rest });
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const text = (name: 'stdout' | 'stderr') => Buffer.concat(output[name]).toString('utf8');
  child.stdout?.on('data', (chunk: Buffer) => output.stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => output.stderr.push(chunk));
  child.stdin?.on('error', () => undefined);
  if (input !== undefined) child.stdin?.end(input);
  let timer: NodeJS.Timeout | undefined;
  // At once: what it started may hold its streams open for good.
  const hung = new Promise<never>((_resolve, reject) => {
    const kill = () => {
      const waiting = `it waited:\n${waitingFor(child.pid ?? 0)
        .slice(0, 40)
        .join('\n')}`;
      child.kill('SIGKILL');
      const said = `stdout: ${text('stdout').slice(-2000)}\nstderr: ${text('stderr').slice(-2000)}\n${waiting}`;
      reject(new Error(`killed by the test after ${timeoutSeconds} s: ${argv.join(' ').slice(0, 500)}\n${said}`));
    };
    // A busy test may hear of an end only after its time: it gets a little more to hear of it.
    timer = setTimeout(() => {
      timer = setTimeout(kill, hearingMilliseconds);
    }, timeoutSeconds * 1000);
  });
  const ended = (async (): Promise<Finished> => {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return { code, signal, stdout: text('stdout'), stderr: text('stderr') };
  })();
  const finished = Promise.race([ended, hung]).finally(() => clearTimeout(timer));
  return {
    child,
    pid: child.pid ?? 0,
    finished,
    async printed(wanted) {
      await until(
        () => text('stdout').includes(wanted) || text('stderr').includes(wanted),
        `${program} prints ${wanted}`,
      );
    },
  };
}

/** By a signal, or has ended and was not waited for. */
export function isStopped(pid = 0): boolean {
  return /^State:\t[TZ]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

let timesGiven = 0;

/** For `sleep`, longer than any test takes: no other process of the machine has it, so that a test finds its own by it. */
export function ownSeconds(): string {
  timesGiven += 1;
  return `${10_000 + timesGiven}.${process.pid}`;
}

/** Processes of the whole machine with exactly these words. */
export function processesCalled(...words: readonly string[]): number[] {
  const wanted = words.map((word) => `${word}\0`).join('');
  return readdirSync('/proc')
    .filter((entry) => {
      try {
        return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/cmdline`, 'utf8') === wanted;
      } catch {
        return false; // ended meanwhile
      }
    })
    .map(Number);
}

/** Asks again and again, but not most of the time: what looks at every process of a busy machine takes a while each time. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, seconds = 120): Promise<void> {
  const end = Date.now() + seconds * slowness * 1000;
  for (let began = performance.now(); !(await holds()); began = performance.now()) {
    if (Date.now() > end) throw new Error(`waited ${seconds * slowness} s in vain until ${what}`);
    const took = performance.now() - began;
    await sleep(Math.max(10, Math.min(3 * took, 200)));
  }
}
