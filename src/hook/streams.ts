/** The streams of a hook: a message in, an answer out. Not Node's own, which cost a tenth of a start. */
import { harmlessJson, harmlessOutput } from '../base/visible-text.js';
import { writeWhole } from '../base/write-whole.js';
import { type NextChunk, stdinChunk } from './read-input.js';

export interface HookStreams {
  readonly next: NextChunk;
  /** False where the reader is gone: the exit code has to say it. */
  say(stream: 'stdout' | 'stderr', text: string): boolean;
  /** Ends the call although something of it still waits, with an exit code that blocks it. */
  endNow(): void;
}

export const processStreams: HookStreams = Object.freeze({
  next: stdinChunk,
  say(stream: 'stdout' | 'stderr', text: string): boolean {
    try {
      // What a harness reads is JSON, and stays the same value.
      if (stream === 'stdout') writeWhole(1, Buffer.from(harmlessJson(text)));
      else writeWhole(2, Buffer.from(harmlessOutput(text)));
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
