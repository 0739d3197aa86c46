/** The way to a tree program that stays: started as everything is, or as a process that runs one command starts it. */
import { closeSync, read, write } from 'node:fs';
import { startProgram } from '../../base/child-process.js';
import { takeReady } from '../../base/ready-program.js';
import type { ProgramStream, StartedProgram, Starter } from '../../base/starter.js';

export interface TreeChannel {
  write(bytes: Buffer): void;
  /** Not wanted: this process may end, and nothing is heard until it is wanted again. */
  hold(wanted: boolean): void;
  /** The program ends when it has done what it was asked for. */
  end(): void;
  /** It ends now, with all that it does. */
  kill(): void;
}

export interface Heard {
  onChunk(chunk: Buffer): void;
  /** It has ended, or could not be started. */
  onEnd(error: Error): void;
}

const ended = (how: string | number | null) => new Error(`the tree program ended with ${how}`);

export function channelBeside(program: string, { onChunk, onEnd }: Heard): TreeChannel {
  // From no directory of anybody's: it may stay for long.
  const child = startProgram(program, ['serve'], { stdio: ['pipe', 'pipe', 'ignore'], env: {}, cwd: '/' });
  child.once('error', onEnd);
  child.once('close', (code, signal) => onEnd(ended(signal ?? code)));
  // It has ended, and says so by its end.
  child.stdin.on('error', () => undefined);
  child.stdout.on('data', onChunk);
  const held = [child, child.stdin, child.stdout] as readonly { ref?(): void; unref?(): void }[];
  return {
    write: (bytes) => void child.stdin.write(bytes),
    hold: (wanted) => {
      for (const each of held) {
        if (wanted) each.ref?.();
        else each.unref?.();
      }
    },
    end: () => void child.stdin.end(),
    kill: () => void child.kill('SIGTERM'),
  };
}

function writeAll(descriptor: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (from: number): void => {
      if (from === bytes.length) resolve();
      else write(descriptor, bytes, from, (error, length) => (error === null ? next(from + length) : reject(error)));
    };
    next(0);
  });
}

const chunkBytes = 64 << 10;

const serverStreams: readonly ProgramStream[] = ['told', 'heard', 'nothing'];

export function startServer(program: string, starter: Starter): StartedProgram {
  return starter.start(program, Buffer.from(`${program}\0serve\0`), serverStreams);
}

/** It is read from only while it is wanted: a read that is under way would keep this process from its end. */
export function channelAtOnce(program: string, starter: Starter, { onChunk, onEnd }: Heard): TreeChannel {
  const started = takeReady(program) ?? startServer(program, starter);
  const [input, output] = [started.end(0), started.end(1)];
  const bytes = Buffer.allocUnsafe(chunkBytes);
  let [isWanted, isReading] = [false, false];
  let written = Promise.resolve();
  let writing = 0;
  let isOpen = true;
  const close = () => {
    if (isOpen) closeSync(input);
    isOpen = false;
  };
  const listen = () => {
    if (isReading || !isWanted) return;
    isReading = true;
    read(output, bytes, 0, bytes.length, null, (error, length) => {
      isReading = false;
      if (error === null && length > 0) {
        onChunk(Buffer.from(bytes.subarray(0, length)));
        listen();
        return;
      }
      isWanted = false;
      void written.then(close);
      closeSync(output);
      const { code, signal } = started.wait();
      onEnd(error ?? ended(signal ?? code));
    });
  };
  return {
    write: (job) => {
      const put = async () => {
        // Where it has ended, that is heard.
        if (isOpen) await writeAll(input, job).catch(() => undefined);
        writing -= 1;
      };
      writing += 1;
      // Now, where nothing is before it: this process may compute for a while before it looks at what it promised.
      written = writing === 1 ? put() : written.then(put);
    },
    hold: (wanted) => {
      isWanted = wanted;
      listen();
    },
    // Its end is heard, so that nothing of it stays open.
    end: () => {
      void written.then(close);
      isWanted = true;
      listen();
    },
    kill: () => started.signal('SIGTERM'),
  };
}
