/**
 * A tree program that stays, for the small jobs that come with every command: to start a program costs this process more than
 * most of them take (`native/tree/serve.c`). It is started with the first job, ends with this process, and keeps it from nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';

export interface JobEnd {
  readonly output: Buffer;
  readonly errors: Buffer;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Waiting {
  readonly output: Buffer[];
  readonly errors: Buffer[];
  resolve(end: JobEnd): void;
  reject(error: Error): void;
}

const kinds = { output: 1, errors: 2, end: 3 } as const;
const headBytes = 9;
const firstSignal = 128;

type Held = (Readable | Writable) & { ref?(): void; unref?(): void };

function jobBytes(words: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(words.length);
  return Buffer.concat([head, words]);
}

function endOf({ output, errors }: Waiting, status: number): JobEnd {
  const number = status - firstSignal;
  const named = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  const signal = number > 0 ? ((named ?? `signal ${number}`) as NodeJS.Signals) : null;
  return {
    output: Buffer.concat(output),
    errors: Buffer.concat(errors),
    code: signal === null ? status : null,
    signal,
  };
}

export class TreeServer {
  readonly #program: string;
  #child: ChildProcess | undefined;
  /** By their numbers: jobs are counted as they are asked for. */
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #cut: Buffer = Buffer.alloc(0);

  constructor(program: string) {
    this.#program = program;
  }

  /** `words` are the verb and its options, each NUL-terminated. Rejects where the program cannot be started, or ended before the job did. */
  run(words: Buffer): Promise<JobEnd> {
    return new Promise((resolve, reject) => {
      this.#child ??= this.#start();
      this.#waiting.set(this.#asked, { output: [], errors: [], resolve, reject });
      this.#asked = (this.#asked + 1) >>> 0;
      this.#hold(true);
      this.#child.stdin?.write(jobBytes(words));
    });
  }

  #start(): ChildProcess {
    // From no directory of anybody's: it may stay for long.
    const child = spawn(this.#program, ['serve'], { stdio: ['pipe', 'pipe', 'ignore'], env: {}, cwd: '/' });
    const lose = (error: Error) => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#cut = Buffer.alloc(0);
      this.#asked = 0;
      const lost = [...this.#waiting.values()];
      this.#waiting.clear();
      for (const { reject } of lost) reject(error);
    };
    child.once('error', lose);
    child.once('close', (code, signal) => lose(new Error(`the tree program ended with ${signal ?? code}`)));
    // It has ended, and says so by its end.
    child.stdin.on('error', () => undefined);
    child.stdout.on('data', (chunk: Buffer) => this.#take(chunk));
    return child;
  }

  #take(chunk: Buffer): void {
    const bytes = this.#cut.length === 0 ? chunk : Buffer.concat([this.#cut, chunk]);
    let at = 0;
    while (bytes.length - at >= headBytes) {
      const length = bytes.readUInt32LE(at + 5);
      if (bytes.length - at - headBytes < length) break;
      const from = at + headBytes;
      this.#hear(bytes.readUInt32LE(at), bytes[at + 4] ?? 0, bytes.subarray(from, from + length));
      at = from + length;
    }
    this.#cut = bytes.subarray(at);
  }

  #hear(number: number, kind: number, bytes: Buffer): void {
    const job = this.#waiting.get(number);
    if (job === undefined) return;
    if (kind === kinds.output) job.output.push(bytes);
    else if (kind === kinds.errors) job.errors.push(bytes);
    else if (kind === kinds.end) {
      this.#waiting.delete(number);
      if (this.#waiting.size === 0) this.#hold(false);
      job.resolve(endOf(job, bytes[0] ?? 1));
    }
  }

  /** While nobody waits for it, this process may end. */
  #hold(wanted: boolean): void {
    const child = this.#child;
    if (child === undefined) return;
    for (const each of [child, child.stdin, child.stdout] as readonly (Held | ChildProcess | null)[]) {
      if (wanted) each?.ref?.();
      else each?.unref?.();
    }
  }
}
