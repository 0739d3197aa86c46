/** A wrapper in which the kernel seems to refuse some system calls of a program, or to do nothing at them. */
import { join } from 'node:path';
import { systemCalls } from '../../src/jail/system-calls.js';
import { compileOnce } from './compiled-program.js';

/** An argument of a call, by its index, and its value. */
export type Argument = readonly [index: number, value: number];

/** Of this call, or of those whose arguments have these values: answered with the errno. */
export interface RefusedCall {
  readonly call: string;
  readonly error: number;
  readonly arguments?: readonly Argument[];
}

/** Since Linux 6.15, and not in the table of what commands use. */
const newer: Readonly<Record<string, number>> = { open_tree_attr: 467 };

function rule({ call, error, arguments: given = [] }: RefusedCall): string {
  const number = systemCalls[process.arch === 'arm64' ? 'arm64' : 'x64'].get(call) ?? newer[call];
  if (number === undefined) throw new Error(`${call} has no number here`);
  return [`${number}:${error}`, ...given.map(([index, value]) => `${index}=${value >>> 0}`)].join(':');
}

/** The words in front of a program; the wrapper itself is put into `directory`. */
export function callRefuser(directory: string): (...refused: readonly RefusedCall[]) => readonly string[] {
  const program = join(directory, 'refuse-call');
  const sources = [join('test', 'support', 'refuse-call.c')];
  const failed = compileOnce({ compiler: 'gcc', flags: ['-O1', '-static', '-D_GNU_SOURCE'], sources }, program);
  if (failed !== undefined) throw new Error(failed);
  return (...refused) => [program, ...refused.map(rule), '--'];
}
