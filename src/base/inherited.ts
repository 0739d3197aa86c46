/**
 * Descriptors that a caller left open: code that stays must not hold them, a lock of theirs would be held for as long.
 */
import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { hasCode } from './errno.js';

const closeOnExec = 0o2000000;

function flagsOf(descriptor: string): number | undefined {
  try {
    const about = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
    return Number.parseInt(/^flags:\s*(\d+)$/m.exec(about)?.[1] ?? '0', 8);
  } catch (error) {
    // The one by which they were listed.
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Above stderr. Node's own are closed by the start of another program, an inherited one is not: so they are told apart. */
export function closeInherited(): void {
  for (const name of readdirSync('/proc/self/fd')) {
    const flags = Number(name) > 2 ? flagsOf(name) : undefined;
    if (flags !== undefined && (flags & closeOnExec) === 0) closeSync(Number(name));
  }
}
