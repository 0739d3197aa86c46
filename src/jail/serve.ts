/**
 * A kept jail: made once, then many commands, one after the other or at once, each at about the price of a fork. The jail
 * program is told what to run by frames (native/jail/owner/serve.h) and hands the streams of each command over as handles. It ends
 * with this process, and everything inside with it.
 */
import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { type Duplex, PassThrough, type Readable } from 'node:stream';
import { startProgram } from '../base/child-process.js';
import { decodePath } from '../base/path-bytes.js';
import { AskedCommands, type RunningCommand, type ServedCommand } from './asked-commands.js';
import { frame, request } from './frame.js';
import { heldCacheOf } from './held-cache.js';
import { notStarted } from './launch-request.js';
import { noDescriptorLeft, onLostHandle } from './lost-handle.js';
import type { Plan } from './operation.js';
import { planBytes } from './plan-bytes.js';
import { type HeldCache, refusalOf, splitReports } from './report.js';

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

const requestDescriptor = 3;
const reportDescriptor = 4;
const lifelineDescriptor = 5;

export class ServedJail {
  readonly #child: ChildProcess;
  readonly #requests: Duplex;
  readonly #commands = new AskedCommands((bytes) => void this.#requests.write(bytes));
  readonly #heldCaches: HeldCache[] = [];
  /** Resolves when everything inside is dead and unmounted. Never rejects. */
  readonly ended: Promise<void>;

  /** Resolves when the jail is made; rejects with why it cannot. */
  static async make(keeping: ServedJailRequest): Promise<ServedJail> {
    const jail = new ServedJail(keeping);
    await new Promise<void>((resolve, reject) => {
      jail.#commands.expect(0, {
        report: (report) => {
          const heldCache = heldCacheOf(report);
          if (heldCache !== undefined) jail.#heldCaches.push(heldCache);
          else if (report.what === 'failed') reject(refusalOf(report));
          else resolve();
        },
        stream: () => undefined,
        lost: (error) => reject(error.cause === undefined ? error : notStarted(keeping, error.cause)),
      });
      jail.#commands.send(frame(0, request.jail, planBytes(keeping.plan)));
    });
    return jail;
  }

  private constructor({ program, lockDescriptor, onServer, channels = [] }: ServedJailRequest) {
    const lock = lockDescriptor ?? 'ignore';
    const started = () =>
      startProgram(program, ['serve'], {
        // What a command sees as pid 1; the path would tell of the host.
        argv0: 'ctx-jail',
        stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe', 'pipe', lock, 'ipc', 'ignore', ...channels],
        env: {},
      });
    let child: ChildProcess;
    try {
      child = started();
    } catch (cause) {
      throw notStarted({ program }, cause);
    } finally {
      for (const channel of channels) closeSync(channel);
    }
    this.#child = child;
    // Node makes none where it finds out in the middle that this process has too many files open: the error follows.
    const ends = child.stdio as readonly unknown[] | undefined;
    this.#requests = (ends?.[requestDescriptor] ?? new PassThrough()) as Duplex;
    // A jail that ended says so by its end.
    this.#requests.on('error', () => undefined);
    child.on('message', (message, handle) => {
      if (message === 'listening') onServer?.(handle as Server);
      else {
        const { id, stream } = message as { readonly id: number; readonly stream: number };
        this.#commands.handOver(id, stream, handle as Socket);
      }
    });
    onLostHandle(child, (lost) => {
      if (lost !== undefined) return this.#commands.handOver(lost.id, lost.stream, undefined);
      const why = 'the jail has no network';
      this.#commands.lose(why, noDescriptorLeft(why));
      void this.end();
    });
    let text = '';
    (ends?.[reportDescriptor] as Readable | undefined)?.on('data', (chunk: Buffer) => {
      const { reports, left } = splitReports(text + decodePath(chunk));
      text = left;
      for (const report of reports) this.#commands.take(report);
    });
    this.ended = new Promise((resolve) => {
      child.once('close', () => {
        this.#commands.lose('the jail has ended');
        resolve();
      });
      child.once('error', (error) => {
        this.#commands.lose('the jail program cannot be started', error);
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

  start(command: ServedCommand): RunningCommand {
    return this.#commands.start(command, this.pid);
  }

  /** Unmounts the overlays, so that their layers can be frozen or read. EBUSY while anything runs inside. */
  release(): Promise<void> {
    return this.#commands.ask(request.release);
  }

  /** Mounts overlays where the released ones were. */
  mount(overlays: Plan): Promise<void> {
    return this.#commands.ask(request.overlays, planBytes(overlays));
  }

  end(): Promise<void> {
    (this.#child.stdio as readonly unknown[] as readonly (Duplex | undefined)[] | undefined)?.[
      lifelineDescriptor
    ]?.destroy();
    return this.ended;
  }
}
