/**
 * Commands that a jail is asked for, by number: what is asked is a frame (native/jail/owner/serve.h), what comes back are reports and the
 * streams of each command, as handles.
 */
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { ErrnoError } from '../base/errno.js';
import { CommandStreams, type OutputListener } from './command-streams.js';
import { frame, request } from './frame.js';
import type { RunningJail } from './launch-request.js';
import { noDescriptorLeft } from './lost-handle.js';
import type { Plan } from './operation.js';
import { planBytes } from './plan-bytes.js';
import { type HeldFiles, heldOf, type Outcome, outcomeOf, type Report, refusalOf } from './report.js';

export interface ServedCommand {
  /** Of the command alone: `commandPlan`. */
  readonly plan: Plan;
  /** A command that reads nothing starts quicker; one with a terminal has stdin, stdout and stderr there. */
  readonly input: 'nothing' | 'pipe' | TerminalSize;
  readonly onOutput: OutputListener;
  /** Told again and again by a plan that reports held files. */
  readonly onHeld?: ((held: HeldFiles) => void) | undefined;
}

export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

export interface RunningCommand extends RunningJail {
  /** Resolves when there is room for more. Nothing happens to what is written to a command that reads nothing. */
  write(chunk: Buffer): Promise<void>;
  /** The command sees the end of its input. */
  endInput(): void;
  /** Nothing happens where it has no terminal. */
  resize(size: TerminalSize): void;
}

function sizeBytes({ rows, columns }: TerminalSize): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16LE(rows, 0);
  bytes.writeUInt16LE(columns, 2);
  return bytes;
}

function startFrame(id: number, { plan, input }: ServedCommand): Buffer {
  if (input === 'nothing') return frame(id, request.command, planBytes(plan));
  if (input === 'pipe') return frame(id, request.commandWithInput, planBytes(plan));
  return frame(id, request.commandWithTerminal, Buffer.concat([sizeBytes(input), planBytes(plan)]));
}

/** What waits for the reports about one number. */
export interface Waiting {
  report(report: Report): void;
  /** Undefined: it came, and this process had no descriptor left for it. */
  stream(stream: number, socket: Socket | undefined): void;
  lost(error: ErrnoError): void;
}

export class AskedCommands {
  readonly #write: (bytes: Buffer) => void;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;
  #ended: ErrnoError | undefined;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  /** Told every report, of all numbers. */
  take(report: Report): void {
    this.#waiting.get(report.id)?.report(report);
  }

  handOver(id: number, stream: number, socket: Socket | undefined): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) socket?.destroy();
    else waiting.stream(stream, socket);
  }

  /** The jail has ended: so has everything that was asked for. */
  lose(reason: string, cause?: unknown): void {
    const error = new ErrnoError('EPIPE', { operation: 'jail', reason, cause });
    this.#ended = error;
    for (const waiting of this.#waiting.values()) waiting.lost(error);
    this.#waiting.clear();
  }

  expect(id: number, waiting: Waiting): void {
    if (this.#ended === undefined) this.#waiting.set(id, waiting);
    else waiting.lost(this.#ended);
  }

  send(bytes: Buffer): void {
    if (this.#ended === undefined) this.#write(bytes);
  }

  /** A request that is answered by one word. */
  ask(kind: number, payload?: Buffer): Promise<void> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.expect(id, {
        report: (report) => {
          this.#waiting.delete(id);
          if (report.what === 'failed') reject(refusalOf(report));
          else resolve();
        },
        stream: () => undefined,
        lost: reject,
      });
      this.send(frame(id, kind, payload));
    });
  }

  /** `pid` is the owner of the jail, as the host knows it. */
  start(command: ServedCommand, pid: number | undefined): RunningCommand {
    const id = this.#next++;
    // First: what cannot be asked for is refused, and nothing waits for it.
    const asked = startFrame(id, command);
    const streams = new CommandStreams(command.input === 'pipe' ? 3 : 2, command.onOutput);
    const signal = (name: NodeJS.Signals) => {
      const number = Buffer.alloc(4);
      number.writeUInt32LE(constants.signals[name]);
      this.send(frame(id, request.signal, number));
    };
    const reports: Report[] = [];
    let tellStarted: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      tellStarted = resolve;
    });
    const done = new Promise<Outcome>((resolve, reject) => {
      const finish = async () => {
        try {
          const outcome = outcomeOf(reports);
          if (outcome === undefined) return;
          await streams.settle();
          this.#waiting.delete(id);
          if (streams.isLost) throw noDescriptorLeft('the command was ended, since its output cannot be heard');
          resolve(outcome);
        } catch (error) {
          this.#waiting.delete(id);
          streams.destroy();
          reject(error);
        }
      };
      this.expect(id, {
        report: (report) => {
          const held = heldOf(report);
          if (held !== undefined) return command.onHeld?.(held);
          reports.push(report);
          if (report.what === 'started') tellStarted();
          else void finish();
        },
        stream: (stream, socket) => {
          if (socket !== undefined) return streams.add(stream, socket);
          // Nobody would hear what it says, or it would wait for what it reads.
          streams.lose();
          signal('SIGKILL');
        },
        lost: (error) => {
          streams.destroy();
          reject(error);
        },
      });
    });
    this.send(asked);
    return {
      signal,
      kill: () => {
        streams.killed();
        signal('SIGKILL');
      },
      pid,
      started,
      done,
      write: (chunk) => streams.write(chunk),
      endInput: () => void streams.endInput(),
      resize: (size) => this.send(frame(id, request.resize, sizeBytes(size))),
    };
  }
}
