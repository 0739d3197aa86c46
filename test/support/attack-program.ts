/** The programs of attacks, compiled where a suite wants them. */
import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from './program.js';

export const cannotCompile: string | undefined =
  spawnSync('gcc', ['--version']).status === 0 ? undefined : 'gcc is not installed';

export type AttackProgram = 'attack' | 'caller' | 'calls' | 'exchange' | 'hunt' | 'race' | 'tracer';

/** Static, so that it runs wherever it is put. */
export function compileAttackProgram(directory: string, name: AttackProgram = 'attack'): string {
  const program = join(directory, name);
  const source = join(checkout, 'test', 'attacks', `${name}.c`);
  const { status, stderr } = spawnSync('gcc', ['-O1', '-static', '-pthread', '-o', program, source], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`gcc could not compile ${source}: ${stderr}`);
  chmodSync(program, 0o755);
  return program;
}
