/** The jail program as the process sees it that asks it: frames go in, and all that it reports is kept. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { frame, request } from '../../src/jail/frame.js';
import type { Operation } from '../../src/jail/operation.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { type BareJail, bareUser, type Streams } from './bare-jail.js';
import { slowness } from './process.js';

export interface AskedOptions {
  /** `serve` keeps it for many commands; `beside` takes more beside its own. */
  readonly mode?: 'serve' | 'beside';
  readonly wrapper?: readonly string[];
  readonly streams?: Streams;
  /** Descriptors after all others: ends of channels, then the directory of its sockets. */
  readonly more?: readonly number[];
}

/** Much longer than anything takes that these jails are asked, on the busiest machine. */
const patienceMilliseconds = 60_000;

/** Which descriptor takes what is asked, and which one ends everything. */
const asking = { serve: [3, 5], beside: [5, 3], once: [3, 3] } as const;

export class AskedJail {
  readonly #child: ChildProcess;
  readonly #asking: Duplex;
  readonly #lifeline: Duplex;
  readonly #heard = new EventEmitter();
  readonly #streams = new Map<string, Socket>();
  /** Every report, without the NUL at its end. */
  readonly said: string[] = [];
  /** The program's own exit code or signal. */
  readonly closed: Promise<readonly [number | null, NodeJS.Signals | null]>;

  constructor(
    jail: BareJail,
    plan: readonly Operation[],
    { mode, wrapper = [], streams, more = [] }: AskedOptions = {},
  ) {
    const [first = '', ...words] = [...wrapper, jail.program, ...(mode === undefined ? [] : [mode])];
    const own = streams ?? (['ignore', 'ignore', 'ignore'] as const);
    const handover = mode === 'serve' ? ('ipc' as const) : 'ignore';
    const requests = mode === undefined ? 'ignore' : ('pipe' as const);
    this.#child = spawn(first, words, {
      stdio: [...own, 'pipe', 'pipe', requests, 'ignore', handover, 'ignore', ...more],
      env: {},
      ...bareUser,
    });
    const ends = this.#child.stdio as unknown as readonly Duplex[];
    const [at, life] = asking[mode ?? 'once'];
    this.#asking = ends[at] as Duplex;
    this.#lifeline = ends[life] as Duplex;
    for (const end of ends) end?.on('error', () => undefined);
    let text = '';
    ends[4]?.on('data', (chunk: Buffer) => {
      const reports = (text + chunk.toString('latin1')).split('\0');
      text = reports.pop() ?? '';
      this.said.push(...reports);
      this.#heard.emit('any');
    });
    this.#child.on('message', (message, handle) => {
      const { id, stream } = message as { readonly id: number; readonly stream: number };
      const socket = handle as Socket;
      socket.on('error', () => undefined);
      this.#streams.set(`${id} ${stream}`, socket);
      this.#heard.emit('any');
    });
    this.closed = once(this.#child, 'close').then((how) => {
      this.#heard.emit('any');
      return how as [number | null, NodeJS.Signals | null];
    });
    ends[3]?.write(frame(0, request.jail, planBytes(plan)));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  ask(id: number, kind: number, payload?: Buffer): void {
    this.write(frame(id, kind, payload));
  }

  write(bytes: Buffer): void {
    this.#asking.write(bytes);
  }

  /** No one asks any more. */
  stopAsking(): void {
    this.#asking.destroy();
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The first report like this; fails where the jail ends without it. */
  async reported(like: RegExp): Promise<string> {
    return this.#until(() => this.said.find((report) => like.test(report)), String(like));
  }

  /** Which streams of a command were handed over so far. */
  streamsOf(id: number): readonly number[] {
    return [...this.#streams.keys()]
      .flatMap((key) => (key.startsWith(`${id} `) ? [Number(key.split(' ')[1])] : []))
      .sort();
  }

  stream(id: number, stream: number): Promise<Socket> {
    return this.#until(() => this.#streams.get(`${id} ${stream}`), `stream ${stream} of ${id}`);
  }

  /** All that is written there until its end. */
  async text(id: number, stream: number): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of await this.stream(id, stream)) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString('utf8');
  }

  /** All that it reads. */
  async give(id: number, text: string): Promise<void> {
    const input = await this.stream(id, 0);
    input.write(text);
    input.destroySoon();
  }

  async #until<T>(look: () => T | undefined, what: string): Promise<T> {
    let reason = '';
    void this.closed.then(() => {
      reason = 'has ended';
    });
    const timer = setTimeout(() => {
      reason = 'says nothing more';
      this.#heard.emit('any');
    }, patienceMilliseconds * slowness);
    try {
      for (;;) {
        const found = look();
        if (found !== undefined) return found;
        assert.equal(reason, '', `the jail ${reason}, without ${what}: ${this.said.join('\n')}`);
        await once(this.#heard, 'any');
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** One that does not end by itself, since something in it hangs, is killed: its test has failed, and says so. */
  async end(): Promise<void> {
    this.#lifeline.destroy();
    for (const socket of this.#streams.values()) socket.destroy();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), patienceMilliseconds * slowness);
    await this.closed;
    clearTimeout(timer);
  }
}
