/** The streams of a hook: a message in, an answer out. Not Node's own, which cost a tenth of a start. */
import { writeSync } from 'node:fs';
import { hasCode } from '../base/errno.js';
import { type NextChunk, stdinChunk } from './read-input.js';

export interface HookStreams {
  readonly next: NextChunk;
  /** False where the reader is gone: the exit code has to say it. */
  say(stream: 'stdout' | 'stderr', text: string): boolean;
  /** Ends the call although something of it still waits, with an exit code that blocks it. */
  endNow(): void;
}

/** To a descriptor, all of it; a harness's pipe may be one that does not block. */
function writeAll(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      if (!hasCode(error, 'EAGAIN')) throw error;
    }
  }
}

export const processStreams: HookStreams = Object.freeze({
  next: stdinChunk,
  say(stream: 'stdout' | 'stderr', text: string): boolean {
    try {
      writeAll(stream === 'stdout' ? 1 : 2, text);
      return true;
    } catch {
      return false;
    }
  },
  /** A thread may still wait for what does not answer, and an ordinary exit would wait for that thread. */
  endNow(): void {
    process.kill(process.pid, 'SIGKILL');
  },
});
