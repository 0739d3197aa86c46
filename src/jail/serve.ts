/**
 * A kept jail: made once, then many commands, one after the other or at once, each at about the price of a fork. The jail
 * program is told what to run by frames (native/jail/owner/serve.h) and hands the streams of each command over as handles. It ends
 * with this process, and everything inside with it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { constants } from 'node:os';
import type { Duplex, Readable } from 'node:stream';
import { ErrnoError } from '../base/errno.js';
import { decodePath } from '../base/path-bytes.js';
import { CommandStreams, type OutputListener } from './command-streams.js';
import { frame, request } from './frame.js';
import { heldCacheOf } from './held-cache.js';
import type { RunningJail } from './launch.js';
import type { Plan } from './operation.js';
import { planBytes } from './plan-bytes.js';
import {
  type HeldCache,
  type HeldFiles,
  heldOf,
  type Outcome,
  outcomeOf,
  type Report,
  refusalOf,
  splitReports,
} from './report.js';

export interface ServedJailRequest {
  /** Path of the native jail program. */
  readonly program: string;
  /** Of the jail without a command: `keptPlan`. */
  readonly plan: Plan;
  readonly lockDescriptor?: number | undefined;
  /** Given the listening socket of a plan that has one. */
  readonly onServer?: ((server: Server) => void) | undefined;
  /** Ends of channels to the servers of its trees, in the plan's order; closed here once the jail has them. */
  readonly channels?: readonly number[] | undefined;
}

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

const requestDescriptor = 3;
const reportDescriptor = 4;
const lifelineDescriptor = 5;

/** What waits for the reports about one number. */
interface Waiting {
  report(report: Report): void;
  stream(stream: number, socket: Socket): void;
  lost(error: ErrnoError): void;
}

export class ServedJail {
  readonly #child: ChildProcess;
  readonly #requests: Duplex;
  readonly #waiting = new Map<number, Waiting>();
  readonly #heldCaches: HeldCache[] = [];
  #next = 1;
  #ended: ErrnoError | undefined;
  /** Resolves when everything inside is dead and unmounted. Never rejects. */
  readonly ended: Promise<void>;

  /** Resolves when the jail is made; rejects with why it cannot. */
  static async make(keeping: ServedJailRequest): Promise<ServedJail> {
    const jail = new ServedJail(keeping);
    await new Promise<void>((resolve, reject) => {
      jail.#expect(0, {
        report: (report) => {
          const heldCache = heldCacheOf(report);
          if (heldCache !== undefined) jail.#heldCaches.push(heldCache);
          else if (report.what === 'failed') reject(refusalOf(report));
          else resolve();
        },
        stream: () => undefined,
        lost: reject,
      });
      jail.#send(frame(0, request.jail, planBytes(keeping.plan)));
    });
    return jail;
  }

  private constructor({ program, lockDescriptor, onServer, channels = [] }: ServedJailRequest) {
    const child = spawn(program, ['serve'], {
      // What a command sees as pid 1; the path would tell of the host.
      argv0: 'ctx-jail',
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe', 'pipe', lockDescriptor ?? 'ignore', 'ipc', ...channels],
      env: {},
    });
    for (const channel of channels) closeSync(channel);
    this.#child = child;
    this.#requests = child.stdio[requestDescriptor] as Duplex;
    // A jail that ended says so by its end.
    this.#requests.on('error', () => undefined);
    child.on('message', (message, handle) => {
      if (message === 'listening') onServer?.(handle as Server);
      else this.#handOver(message as { readonly id: number; readonly stream: number }, handle as Socket);
    });
    let text = '';
    (child.stdio[reportDescriptor] as Readable).on('data', (chunk: Buffer) => {
      const { reports, left } = splitReports(text + decodePath(chunk));
      text = left;
      for (const report of reports) this.#waiting.get(report.id)?.report(report);
    });
    this.ended = new Promise((resolve) => {
      child.once('close', () => {
        this.#lose('the jail has ended');
        resolve();
      });
      child.once('error', (error) => {
        this.#lose('the jail program cannot be started', error);
        resolve();
      });
    });
  }

  /** Caches that are read-only in it. */
  get heldCaches(): readonly HeldCache[] {
    return this.#heldCaches;
  }

  /** The owner of the jail, as the host knows it. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  #expect(id: number, waiting: Waiting): void {
    if (this.#ended === undefined) this.#waiting.set(id, waiting);
    else waiting.lost(this.#ended);
  }

  #send(bytes: Buffer): void {
    if (this.#ended === undefined) this.#requests.write(bytes);
  }

  #lose(reason: string, cause?: unknown): void {
    const error = new ErrnoError('EPIPE', { operation: 'jail', reason, cause });
    this.#ended = error;
    for (const waiting of this.#waiting.values()) waiting.lost(error);
    this.#waiting.clear();
  }

  #handOver({ id, stream }: { readonly id: number; readonly stream: number }, socket: Socket): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) socket.destroy();
    else waiting.stream(stream, socket);
  }

  /** A request that is answered by one word. */
  #ask(kind: number, payload?: Buffer): Promise<void> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#expect(id, {
        report: (report) => {
          this.#waiting.delete(id);
          if (report.what === 'failed') reject(refusalOf(report));
          else resolve();
        },
        stream: () => undefined,
        lost: reject,
      });
      this.#send(frame(id, kind, payload));
    });
  }

  start(command: ServedCommand): RunningCommand {
    const id = this.#next++;
    const streams = new CommandStreams(command.input === 'pipe' ? 3 : 2, command.onOutput);
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
          resolve(outcome);
        } catch (error) {
          this.#waiting.delete(id);
          streams.destroy();
          reject(error);
        }
      };
      this.#expect(id, {
        report: (report) => {
          const held = heldOf(report);
          if (held !== undefined) return command.onHeld?.(held);
          reports.push(report);
          if (report.what === 'started') tellStarted();
          else void finish();
        },
        stream: (stream, socket) => streams.add(stream, socket),
        lost: (error) => {
          streams.destroy();
          reject(error);
        },
      });
    });
    this.#send(startFrame(id, command));
    const signal = (name: NodeJS.Signals) => {
      const number = Buffer.alloc(4);
      number.writeUInt32LE(constants.signals[name]);
      this.#send(frame(id, request.signal, number));
    };
    return {
      signal,
      kill: () => signal('SIGKILL'),
      pid: this.pid,
      started,
      done,
      write: (chunk) => streams.write(chunk),
      endInput: () => void streams.endInput(),
      resize: (size) => this.#send(frame(id, request.resize, sizeBytes(size))),
    };
  }

  /** Unmounts the overlays, so that their layers can be frozen or read. EBUSY while anything runs inside. */
  release(): Promise<void> {
    return this.#ask(request.release);
  }

  /** Mounts overlays where the released ones were. */
  mount(overlays: Plan): Promise<void> {
    return this.#ask(request.overlays, planBytes(overlays));
  }

  end(): Promise<void> {
    (this.#child.stdio as readonly unknown[] as readonly (Duplex | undefined)[])[lifelineDescriptor]?.destroy();
    return this.ended;
  }
}
