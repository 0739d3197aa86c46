/** What a launch of the jail program is asked for, and what it gives. */

import { closeSync } from 'node:fs';
import type { Server } from 'node:net';
import { openTerminalChannel } from '../base/carried-terminal.js';
import { type ErrnoCode, ErrnoError, hasCode } from '../base/errno.js';
import { installAgain } from '../base/native-program.js';
import type { OutputListener } from './command-streams.js';
import { frame, request as kindOf } from './frame.js';
import type { Plan } from './operation.js';
import { planBytes } from './plan-bytes.js';
import type { HeldFiles, Outcome, Report } from './report.js';

export interface Launch {
  /** Path of the native jail program. */
  readonly program: string;
  readonly plan: Plan;
  /** 'inherit' passes this process's streams on; 'capture' hands stdout and stderr to `onOutput`. */
  readonly streams: 'inherit' | 'capture';
  /** What the command reads: this process's stdin, nothing, or a descriptor. */
  readonly input?: 'inherit' | 'nothing' | number;
  readonly onOutput?: OutputListener;
  /** Given the listening socket of a plan that has one, before the command starts. */
  readonly onServer?: (server: Server) => void;
  /** Told again and again by a plan that reports held files. */
  readonly onHeld?: ((held: HeldFiles) => void) | undefined;
  /** The fork's lock; held by the jail too, so that it outlives a killed owner until all is unmounted. */
  readonly lockDescriptor?: number;
  /** Ends of channels to the servers of its trees, in the plan's order; closed here once the jail has them. */
  readonly channels?: readonly number[] | undefined;
  /** What asks it for commands beside this one; without it, it takes none. */
  readonly beside?: BesideAsker | undefined;
}

/** Asks a jail that was made for one command for others beside it (native/jail/owner/serve.h). */
export interface BesideAsker {
  /** The jail's end of the socket by which it is asked; the caller closes it. */
  open(): number;
  /** Told each report about one of them. */
  take(report: Report): void;
  /** The jail has ended. */
  lose(): void;
}

/** Arguments of the jail program. */
export function modeOf({ beside }: Pick<Launch, 'beside'>): readonly string[] {
  return beside === undefined ? [] : ['beside'];
}

export interface RunningJail {
  /** To the command and everything in its process group. */
  signal(signal: NodeJS.Signals): void;
  /** Ends everything inside at once. */
  kill(): void;
  /** The owner of the jail, as the host knows it. */
  readonly pid: number | undefined;
  /** Resolves when the command has been executed: its time counts from here. Never rejects; see `done`. */
  readonly started: Promise<void>;
  /** Rejects with an ErrnoError when the jail could not be made or the command not started. */
  readonly done: Promise<Outcome>;
}

/** The plan goes in; its end is the end of the jail. */
export const lifelineDescriptor = 3;
export const reportDescriptor = 4;

/**
 * Our end of what carries the person's terminal, for a jail that has this process's own streams; the caller closes it. Undefined where the
 * jail's owner sees to the terminal itself.
 */
export function terminalOf({ streams, input = 'inherit' }: Launch): number | undefined {
  return streams === 'inherit' && input === 'inherit' ? openTerminalChannel() : undefined;
}

/** What the jail program is passed beside its streams. */
export interface Passed {
  /** Its end of the socket by which it is asked. */
  readonly asking: number | undefined;
  /** What carries the terminal. */
  readonly terminal: number | undefined;
  /** Closes our copies of both, and of its channels: to be called when it has them, or has not been started. */
  close(): void;
}

/** Opened for one start. Where that fails nothing stays open, the request's channels included. */
export function passedOn(request: Launch): Passed {
  const held = [...(request.channels ?? [])];
  const close = () => {
    for (const descriptor of held.splice(0)) closeSync(descriptor);
  };
  const holding = (descriptor: number | undefined) => {
    if (descriptor !== undefined) held.push(descriptor);
    return descriptor;
  };
  try {
    return { asking: holding(request.beside?.open()), terminal: holding(terminalOf(request)), close };
  } catch (cause) {
    close();
    throw startError(request, cause);
  }
}

/** What a person is told of a start that failed. */
export function startError(request: Launch, cause: unknown): ErrnoError {
  return cause instanceof ErrnoError && cause.code !== 'EMFILE' ? cause : notStarted(request, cause);
}

/** What the program is told by way of the lifeline, when it has started. */
export function planFrame({ plan }: Pick<Launch, 'plan'>): Buffer {
  return frame(0, kindOf.jail, planBytes(plan));
}

/** A jail that has told the end holds nothing any more, but is still a process of its control group. */
export function isGrouped({ plan }: Pick<Launch, 'plan'>): boolean {
  return plan.some((operation) => operation.do === 'control group');
}

export function endedSilently(how: string | number | null): ErrnoError {
  return new ErrnoError('EIO', {
    operation: 'jail',
    reason: `the jail program ended without saying how the command ended (${how})`,
  });
}

/** A program that does not listen yet ends by a signal, and by its lifeline, without a word. */
export function endedEarly(): ErrnoError {
  return new ErrnoError('ECANCELED', { operation: 'exec', reason: 'interrupted before the command started' });
}

/** What may be used up; everything else is the installation's. */
const usedUp: Partial<Record<ErrnoCode, string>> = {
  EMFILE: 'this process has too many files open: raise ulimit -n',
  EAGAIN: 'you may have too few processes and threads left: raise ulimit -u, or end other processes of yours',
  ENOMEM: 'end other processes: this machine has no memory left',
};

export function notStarted({ program }: Pick<Launch, 'program'>, cause: unknown): ErrnoError {
  const [code, remedy] = Object.entries(usedUp).find(([each]) => hasCode(cause, each as ErrnoCode)) ?? [];
  return new ErrnoError((code ?? 'ENOENT') as ErrnoCode, {
    operation: 'jail',
    path: program,
    reason: 'the jail program cannot be started',
    remedy: remedy ?? installAgain,
    cause,
  });
}
