/** Node's own way to start programs. It brings sockets and streams: loaded by the first that starts one with it. */
import type { ChildProcess, SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { ErrnoError, hasCode } from './errno.js';
import { lazily } from './lazily.js';

export const childProcess = lazily(() => process.getBuiltinModule('node:child_process'));

/** Two by which the program says how its start went, one of /dev/null, one to spare. */
const alwaysOpened = 4;

/** And two a pipe, and another one of what is passed on, where that has to make way for others. */
function mostOpened(stdio: SpawnOptions['stdio']): number {
  const streams = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio];
  const each = (stream: (typeof streams)[number]) => (stream === 'ignore' ? 0 : typeof stream === 'number' ? 1 : 2);
  return streams.reduce<number>((sum, stream) => sum + each(stream), alwaysOpened);
}

/** EMFILE where that many descriptors are not left. */
function requireRoom(program: string, many: number): void {
  const held: number[] = [];
  try {
    while (held.length < many) held.push(openSync('/', 'r'));
  } catch (cause) {
    if (!hasCode(cause, 'EMFILE') && !hasCode(cause, 'ENFILE')) throw cause;
    throw new ErrnoError('EMFILE', {
      operation: 'start a program',
      path: program,
      reason: 'too many files are open',
      remedy: 'raise the limit of open files (ulimit -n), or end other work of this process',
      cause,
    });
  } finally {
    for (const descriptor of held) closeSync(descriptor);
  }
}

/**
 * As Node's `spawn`, for a process that stays: where Node finds no descriptor left in the middle of it, it keeps those that it has opened
 * until this process ends. EMFILE, before anything is opened.
 */
export const startProgram = ((program: string, words: readonly string[], options: SpawnOptions): ChildProcess => {
  requireRoom(program, mostOpened(options.stdio));
  return childProcess().spawn(program, words, options);
}) as typeof spawn;
