/**
 * Starts the jail program with a plan and stays with it: its reports, its signals, its end. This process is the jail's
 * owner; when it dies, in whatever way, the lifeline closes and everything inside is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Server } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { ErrnoError } from '../base/errno.js';
import { decodePath } from '../base/path-bytes.js';
import { frame, request as kindOf } from './frame.js';
import type { Plan } from './operation.js';
import { planBytes } from './plan-bytes.js';
import { type Held, heldOf, type Outcome, outcomeOf, type Report, splitReports } from './report.js';

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
  /** Told again and again by a plan that reports held files. */
  readonly onHeld?: ((held: Held) => void) | undefined;
  /** The fork's lock; held by the jail too, so that it outlives a killed owner until all is unmounted. */
  readonly lockDescriptor?: number;
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

function endedSilently(child: ChildProcess): ErrnoError {
  return new ErrnoError('EIO', {
    operation: 'jail',
    reason: `the jail program ended without saying how the command did (${child.signalCode ?? child.exitCode})`,
  });
}

/** The plan goes in; its end is the end of the jail. */
const lifelineDescriptor = 3;
const reportDescriptor = 4;

export function launch(request: Launch): RunningJail {
  const stream = request.streams === 'inherit' ? 'inherit' : 'pipe';
  const child = spawn(request.program, [], {
    // What the command sees as pid 1; the path would tell of the host.
    argv0: 'ctx-jail',
    stdio: [
      request.input === 'nothing' ? 'ignore' : 'inherit',
      stream,
      stream,
      'pipe',
      'pipe',
      'ignore',
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
    const reports: Report[] = [];
    let text = '';
    let open = 0;
    const settle = () => {
      try {
        const outcome = outcomeOf(reports);
        if (outcome === undefined) throw endedSilently(child);
        resolve(outcome);
      } catch (error) {
        reject(error);
      }
    };
    // A jail that has told the end holds nothing any more, but is still a process of its control group.
    const grouped = request.plan.some((operation) => operation.do === 'control group');
    const settleEarly = () => {
      if (!grouped && open === 0 && reports.some(({ what }) => what === 'exited')) settle();
    };
    for (const [name, output] of [
      ['stdout', child.stdout],
      ['stderr', child.stderr],
    ] as const) {
      if (output === null) continue;
      open += 1;
      output.on('data', (chunk: Buffer) => request.onOutput?.(name, chunk));
      output.once('end', () => {
        open -= 1;
        settleEarly();
      });
    }
    (child.stdio[reportDescriptor] as Readable).on('data', (chunk: Buffer) => {
      const { reports: whole, left } = splitReports(text + decodePath(chunk));
      text = left;
      for (const report of whole) {
        const held = heldOf(report);
        if (held !== undefined) request.onHeld?.(held);
        else reports.push(report);
        if (report.what === 'started') tellStarted();
      }
      settleEarly();
    });
    const lifeline = child.stdio[lifelineDescriptor] as Duplex;
    // A jail that ended early has said why; the broken pipe says nothing more.
    lifeline.on('error', () => undefined);
    // The program is starting meanwhile.
    try {
      lifeline.write(frame(0, kindOf.jail, planBytes(request.plan)));
    } catch (error) {
      lifeline.destroy();
      throw error;
    }
    child.once('close', settle);
  });
  return {
    signal: (signal) => void child.kill(signal),
    kill: () => (child.stdio as readonly unknown[] as readonly (Duplex | undefined)[])[lifelineDescriptor]?.destroy(),
    started,
    done,
  };
}
