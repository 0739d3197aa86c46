/**
 * A tree program that stays, for the small jobs that come with every command: to start a program costs this process more than
 * most of them take (`native/tree/serve.c`). It is started with the first job, ends with this process, and keeps it from nothing.
 */
import { constants } from 'node:os';
import type { Starter } from '../../base/starter.js';
import { channelAtOnce, channelBeside, type TreeChannel } from './tree-channel.js';

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

/** Words and a list that are together longer are for a program of their own: the server keeps both in memory. */
export const servedBytes = 1024 * 1024;

function jobBytes(words: Buffer, list: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(words.length);
  head.writeUInt32LE(list.length, 4);
  return Buffer.concat([head, words, list]);
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
  readonly #starter: Starter | undefined;
  #channel: TreeChannel | undefined;
  /** By their numbers: jobs are counted as they are asked for. */
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #cut: Buffer = Buffer.alloc(0);

  constructor(program: string, starter: Starter | undefined) {
    this.#program = program;
    this.#starter = starter;
  }

  /** `words` are the verb and its options, each NUL-terminated; `list` is what it reads. Rejects where the program cannot be started, or ended before the job did. */
  run(words: Buffer, list: Buffer): Promise<JobEnd> {
    return new Promise((resolve, reject) => {
      this.#channel ??= this.#start();
      this.#waiting.set(this.#asked, { output: [], errors: [], resolve, reject });
      this.#asked = (this.#asked + 1) >>> 0;
      this.#channel.hold(true);
      this.#channel.write(jobBytes(words, list));
    });
  }

  /** Ends it where no one waits for it; the process that asks next starts another. */
  release(): void {
    if (this.#waiting.size > 0) return;
    const channel = this.#channel;
    this.#forget();
    channel?.end();
  }

  /** With all that it does: each of its jobs is refused, and the next one is for another program. */
  kill(): void {
    const channel = this.#channel;
    if (channel === undefined) return;
    channel.kill();
    this.#lose(new Error('the tree program was stopped'));
  }

  #lose(error: Error): void {
    this.#forget();
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of lost) reject(error);
  }

  #forget(): void {
    this.#channel = undefined;
    this.#cut = Buffer.alloc(0);
    this.#asked = 0;
  }

  #start(): TreeChannel {
    const heard = {
      onChunk: (chunk: Buffer) => {
        if (this.#channel === channel) this.#take(chunk);
      },
      onEnd: (error: Error) => {
        if (this.#channel === channel) this.#lose(error);
      },
    };
    const channel =
      this.#starter === undefined
        ? channelBeside(this.#program, heard)
        : channelAtOnce(this.#program, this.#starter, heard);
    return channel;
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
      // While no one waits for it, this process may end.
      if (this.#waiting.size === 0) this.#channel?.hold(false);
      job.resolve(endOf(job, bytes[0] ?? 1));
    }
  }
}
