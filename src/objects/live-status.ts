/** `status` and `pid` of an agent as they are now: a process that was killed leaves both behind, and is dead all the same. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../base/errno.js';

function processIn(directory: string): string {
  try {
    return readFileSync(join(directory, 'pid'), 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && (hasCode(error, 'ENOENT') || hasCode(error, 'EACCES'))) return '';
    throw error;
  }
}

/** Of another file, and where the process is there, the text itself. */
export function liveText(directory: string, file: string, text: string): string {
  if (file !== 'status' && file !== 'pid') return text;
  const process = processIn(directory);
  if (process === '' || !/^[1-9]\d*$/.test(process) || existsSync(`/proc/${process}`)) return text;
  return file === 'status' ? 'dead\n' : '';
}
