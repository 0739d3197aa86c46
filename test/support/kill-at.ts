/** kill -9 of a program and all it started at a chosen step: the N-th call that changes something below a directory. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { compileOnce } from './compiled-program.js';

/** Its exit code where the program had ended before. */
export const notKilled = 99;

/** The program in `directory`; undefined where it cannot be compiled, or this host does not let a program be traced. */
export function compileKillAt(directory: string): string | undefined {
  const program = join(directory, 'kill-at');
  const sources = [join('test', 'support', 'kill-at.c')];
  const failed = compileOnce({ compiler: 'gcc', flags: ['-O1', '-D_GNU_SOURCE'], sources }, program);
  if (failed !== undefined) return undefined;
  const traced = spawnSync(program, ['1', directory, 'mkdir', join(directory, 'traced')], { encoding: 'utf8' });
  return traced.status === 0 ? program : undefined;
}

export const cannotKillAt = 'needs gcc, and a host that lets a program be traced';
