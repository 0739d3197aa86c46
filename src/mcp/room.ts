/**
 * Room for answers. A client that asks and does not read would have every answer kept in memory: while it has not taken what it was
 * answered, nothing more is read from it and nothing more is done for it.
 */
import { Readable, type Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

export function roomOf(input: Readable, output: Writable): () => Promise<void> {
  let waiting: Promise<void> | undefined;
  return async () => {
    if (!output.writableNeedDrain) return;
    waiting ??= new Promise((resolve) => {
      input.pause();
      const go = () => {
        output.off('drain', go).off('close', go);
        waiting = undefined;
        input.resume();
        resolve();
      };
      output.on('drain', go).on('close', go);
    });
    await waiting;
  };
}

function drained(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      output.off('drain', go).off('close', go);
      resolve();
    };
    output.on('drain', go).on('close', go);
  });
}

/** The input as far as it may be read: a piece goes on when the answers to those before it have been taken. */
export function readWithRoom(input: Readable, output: Writable): Readable {
  const pieces = async function* () {
    for await (const piece of input) {
      // Not paused: no one reads it but this loop.
      if (output.writableNeedDrain) await drained(output);
      yield piece as Buffer;
      // What can be answered at once has been, and is in the output.
      await setImmediate();
    }
  };
  return Readable.from(pieces(), { objectMode: false });
}
