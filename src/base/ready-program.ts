/**
 * A program that was started before it is known what for: the copy of a keeper starts one while it waits for its call, and the call finds
 * it running. It holds nothing of the call's, and ends with this process, used or not.
 */
import type { StartedProgram } from './starter.js';

interface Ready {
  readonly program: string;
  readonly started: StartedProgram;
}

/** Not of this module: the bundle of a keeper and those of the verbs each have one of their own. */
const place = Symbol.for('ctx.ready-program');
const holder = globalThis as { [place]?: Ready | undefined };

export function keepReady(program: string, started: StartedProgram): void {
  holder[place] = { program, started };
}

export function isReady(program: string): boolean {
  return holder[place]?.program === program;
}

/** Whoever takes it has it alone. */
export function takeReady(program: string): StartedProgram | undefined {
  if (!isReady(program)) return undefined;
  const started = holder[place]?.started;
  holder[place] = undefined;
  return started;
}
