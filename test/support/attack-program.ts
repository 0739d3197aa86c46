/** The programs of attacks, compiled where a suite wants them. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { compileOnce } from './compiled-program.js';

export const cannotCompile: string | undefined =
  spawnSync('gcc', ['--version']).status === 0 ? undefined : 'gcc is not installed';

export type AttackProgram = 'attack' | 'caller' | 'calls' | 'exchange' | 'hunt' | 'race' | 'tracer';

/** Static, so that it runs wherever it is put. */
export function compileAttackProgram(directory: string, name: AttackProgram = 'attack'): string {
  const program = join(directory, name);
  const sources = [join('test', 'attacks', `${name}.c`)];
  const failed = compileOnce({ compiler: 'gcc', flags: ['-O1', '-static', '-pthread'], sources }, program);
  if (failed !== undefined) throw new Error(failed);
  return program;
}
