/** Which build of ctx a process runs, as native/call says it of the files that a new one would run. */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Of the bundle at `program`, and of the native programs beside it: their times, and the inodes where all times were made the same. */
export function buildOf(program: string): string {
  return ['.', '../native']
    .map((path) => statSync(join(dirname(program), path), { bigint: true }))
    .map(({ mtimeNs, ino }) => `${mtimeNs} ${ino} `)
    .join('');
}
