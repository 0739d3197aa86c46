/**
 * Programs of ours without Node's own way to start them, which copies this process and loads sockets and streams: a tenth of a cold
 * `ctx exec`. For a process that runs one command and ends: what such a program says is read by threads of Node's pool, one a
 * pipe, and those are few. Everybody else starts programs with `child-process`.
 */
import { closeSync, read } from 'node:fs';
import { constants } from 'node:os';
import { fromSystemError } from './errno.js';
import { lazily } from './lazily.js';

/** A descriptor to pass on, nothing, or a pipe: what the program says is `heard`, what it reads is `told`. */
export type ProgramStream = number | 'nothing' | 'heard' | 'told';

export interface StartedProgram {
  readonly pid: number;
  /** Our end of the stream at this place, where it is a pipe. */
  end(place: number): number;
  /** Nothing where it was waited for. */
  signal(name: NodeJS.Signals): void;
  /** For its end, which is to be near. */
  wait(): { readonly code: number | null; readonly signal: NodeJS.Signals | null };
}

/** `native/start.node`. */
interface Library {
  start(program: string, words: Buffer, ends: Buffer, ...streams: number[]): number;
  wait(pid: number): number;
}

const streamNumbers = { nothing: -1, heard: -2, told: -3 } as const;
const chunkBytes = 16 << 10;

/** What this process or this machine may have no more of; anything else is for the caller to explain. */
const usedUp: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

function nameOf(numbers: Readonly<Record<string, number>>, number: number): string | undefined {
  return Object.entries(numbers).find(([, value]) => value === number)?.[0];
}

export class Starter {
  readonly #library: () => Library;

  constructor(path: string) {
    this.#library = lazily(() => {
      const module = { exports: {} as Library };
      process.dlopen(module, path);
      return module.exports;
    });
  }

  /** `words` are NUL-terminated, the program's own name first; its environment is empty. Throws what `spawn` would report. */
  start(program: string, words: Buffer, streams: readonly ProgramStream[]): StartedProgram {
    const library = this.#library();
    const ends = Buffer.alloc(4 * streams.length);
    const numbers = streams.map((stream) => (typeof stream === 'number' ? stream : streamNumbers[stream]));
    const pid = library.start(program, words, ends, ...numbers);
    if (pid < 0) {
      const code = nameOf(constants.errno, -pid) ?? String(-pid);
      const cause = Object.assign(new Error(`${code}: too much is in use`), { code, syscall: 'spawn' });
      if (usedUp.has(code)) throw fromSystemError(cause, 'start a program', program);
      throw Object.assign(new Error(`spawn ${program} ${code}`), { code });
    }
    let isThere = true;
    return {
      pid,
      end: (place) => ends.readInt32LE(4 * place),
      signal: (name) => {
        if (isThere) process.kill(pid, name);
      },
      wait: () => {
        isThere = false;
        const status = library.wait(pid);
        const number = status & 0x7f;
        if (number === 0) return { code: (status >> 8) & 0xff, signal: null };
        return { code: null, signal: (nameOf(constants.signals, number) ?? `signal ${number}`) as NodeJS.Signals };
      },
    };
  }
}

/** All that comes through a pipe; closes it. */
export function hear(descriptor: number, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.allocUnsafe(chunkBytes);
    const next = () =>
      read(descriptor, bytes, 0, bytes.length, null, (error, length) => {
        try {
          if (error !== null) throw error;
          if (length > 0) {
            take(Buffer.from(bytes.subarray(0, length)));
            next();
            return;
          }
          closeSync(descriptor);
          resolve();
        } catch (failure) {
          if (length !== 0) closeSync(descriptor);
          reject(failure);
        }
      });
    next();
  });
}
