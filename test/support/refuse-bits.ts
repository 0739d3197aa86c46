/** Programs on a host where a call of the kernel is refused: an older one, another filesystem, a sandbox. */
import { join } from 'node:path';
import { compileOnce } from './compiled-program.js';

/** A call, an argument with these bits of it (`=BITS`: exactly these), and the errno. */
export type Refusal = readonly [call: string, argument: number, bits: string, errno: number];

/** Words to put before those of a program. The directory gets the program that refuses. */
export function refusing(directory: string, refusals: readonly Refusal[]): readonly string[] {
  const program = join(directory, 'refuse-bits');
  const sources = [join('test', 'support', 'refuse-bits.c')];
  const failed = compileOnce({ compiler: 'gcc', flags: ['-O1', '-static'], sources }, program);
  if (failed !== undefined) throw new Error(failed);
  return refusals.flatMap((refusal) => [program, ...refusal.map(String)]);
}
