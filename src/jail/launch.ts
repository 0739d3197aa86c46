/**
 * Starts the jail program with a plan and stays with it: its reports, its signals, its end. This process is the jail's
 * owner; when it dies, in whatever way, the lifeline closes and everything inside is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Server } from 'node:net';
import { constants } from 'node:os';
import type { Duplex, Readable } from 'node:stream';
import { type ErrnoCode, ErrnoError } from '../base/errno.js';
import { decodePath } from '../base/path-bytes.js';
import type { Plan } from './operation.js';
import { planBytes } from './plan-bytes.js';

export interface Launch {
  /** Path of the native jail program. */
  readonly program: string;
  readonly plan: Plan;
  /** 'inherit' passes this process's streams on; 'capture' hands stdout and stderr to `onOutput`. */
  readonly streams: 'inherit' | 'capture';
  /** What the command reads: this process's stdin, unless it is to read nothing. */
  readonly input?: 'inherit' | 'nothing';
  readonly onOutput?: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
  /** Given the listening socket of a plan that has one, before the command starts. */
  readonly onServer?: (server: Server) => void;
  /** The fork's lock; held by the jail too, so that it outlives a killed owner until all is unmounted. */
  readonly lockDescriptor?: number;
}

/** A system call the filter refused, by number: how often, and when first and last, in milliseconds since 1970. */
export interface RefusedCall {
  readonly number: number;
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

export interface Outcome {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly userMicroseconds: number;
  readonly systemMicroseconds: number;
  readonly peakMemoryKilobytes: number;
  readonly refusedCalls: readonly RefusedCall[];
}

export interface RunningJail {
  /** To the command and everything in its process group. */
  signal(signal: NodeJS.Signals): void;
  /** Ends everything inside at once. */
  kill(): void;
  /** Resolves when the command has been executed: its time counts from here. Never rejects; see `done`. */
  readonly started: Promise<void>;
  /** Rejects with an ErrnoError when the jail could not be made or the command not started. */
  readonly done: Promise<Outcome>;
}

const errnoNames = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name as ErrnoCode]));
const signalNames = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** What a person can do about an operation that this host refuses. */
const remedies: Readonly<Record<string, string>> = {
  namespaces: 'this host does not let you make namespaces; `ctx doctor` names the setting',
  'map-self': 'this host does not let you use user namespaces; `ctx doctor` names the setting',
  overlay: 'the store must be on a filesystem that can hold overlay layers; `ctx doctor` checks it, CTX_DATA moves it',
  landlock: 'this kernel has no Landlock: `ctx doctor` has the remedy, `--weaken landlock` goes without',
  seccomp: 'this kernel has no seccomp filters: `ctx doctor` has the remedy, `--weaken seccomp` goes without',
  proc: 'this /proc is masked (a container?); `ctx doctor` names the remedy',
};

/** The private home is the only place to mount on that an agent can have written. */
const plantedLink = "the fork's private home has a link where something must be mounted; `ctx drop` makes a fresh one";

function refusal(line: string): ErrnoError {
  const [, , name = '', number = '', ...rest] = line.split(' ');
  const code = errnoNames.get(Number(number)) ?? 'EIO';
  const what = rest.join(' ');
  if (name === 'command') {
    const missing = code === 'ENOENT';
    return new ErrnoError(code, {
      operation: 'exec',
      path: what,
      reason: missing ? 'no such program in the jail' : 'the program cannot be executed',
      remedy: missing ? 'install it under /usr, or put its directory on your PATH' : undefined,
    });
  }
  return new ErrnoError(code, {
    operation: `jail ${name}`,
    path: what,
    reason: 'the kernel refused this step of making the jail',
    remedy: code === 'ELOOP' ? plantedLink : remedies[name],
  });
}

function refusedCalls(lines: readonly string[]): RefusedCall[] {
  return lines
    .filter((line) => line.startsWith('refused '))
    .map((line) => {
      const [, number = 0, count = 0, first = 0, last = 0] = line.split(' ').map(Number);
      return { number, count, first, last };
    });
}

function outcomeOf(line: string, lines: readonly string[]): Outcome {
  const [, status = 0, user = 0, system = 0, memory = 0] = line.split(' ').map(Number);
  const signalNumber = status & 0x7f;
  return {
    exitCode: signalNumber === 0 ? (status >> 8) & 0xff : null,
    signal: signalNumber === 0 ? null : (signalNames.get(signalNumber) ?? 'SIGKILL'),
    userMicroseconds: user,
    systemMicroseconds: system,
    peakMemoryKilobytes: memory,
    refusedCalls: refusedCalls(lines),
  };
}

function outcomeFrom(reports: string, child: ChildProcess): Outcome {
  const lines = reports.split('\0');
  const failed = lines.find((line) => line.startsWith('failed '));
  if (failed !== undefined) throw refusal(failed);
  const exited = lines.find((line) => line.startsWith('exited '));
  if (exited !== undefined) return outcomeOf(exited, lines);
  throw new ErrnoError('EIO', {
    operation: 'jail',
    reason: `the jail program ended without saying how the command did (${child.signalCode ?? child.exitCode})`,
  });
}

const planDescriptor = 3;
const reportDescriptor = 4;
const lifelineDescriptor = 5;

export function launch(request: Launch): RunningJail {
  const stream = request.streams === 'inherit' ? 'inherit' : 'pipe';
  const child = spawn(request.program, [], {
    stdio: [
      request.input === 'nothing' ? 'ignore' : 'inherit',
      stream,
      stream,
      'pipe',
      'pipe',
      'pipe',
      request.lockDescriptor ?? 'ignore',
      request.onServer === undefined ? 'ignore' : 'ipc',
    ],
    env: {},
  });
  if (request.onServer !== undefined) {
    const { onServer } = request;
    child.on('message', (_text, server) => onServer(server as Server));
  }
  let tellStarted: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    tellStarted = resolve;
  });
  const done = new Promise<Outcome>((resolve, reject) => {
    child.once('error', (error) =>
      reject(
        new ErrnoError('ENOENT', {
          operation: 'jail',
          path: request.program,
          reason: 'the jail program cannot be started',
          remedy: 'build it: npm run setup',
          cause: error,
        }),
      ),
    );
    if (child.pid === undefined) return;
    const reports: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => request.onOutput?.('stdout', chunk));
    child.stderr?.on('data', (chunk: Buffer) => request.onOutput?.('stderr', chunk));
    (child.stdio[reportDescriptor] as Readable).on('data', (chunk: Buffer) => {
      reports.push(chunk);
      // The first report is either this or a failure.
      if (chunk.subarray(0, 7).toString('latin1') === 'started') tellStarted();
    });
    const plan = child.stdio[planDescriptor] as Duplex;
    // A jail that ended early has said why; the broken pipe says nothing more.
    plan.on('error', () => undefined);
    plan.end(planBytes(request.plan));
    child.once('close', () => {
      try {
        resolve(outcomeFrom(decodePath(Buffer.concat(reports)), child));
      } catch (error) {
        reject(error);
      }
    });
  });
  return {
    signal: (signal) => void child.kill(signal),
    kill: () => (child.stdio as readonly unknown[] as readonly (Duplex | undefined)[])[lifelineDescriptor]?.destroy(),
    started,
    done,
  };
}
