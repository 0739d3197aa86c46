/** Long text for a person at a terminal goes through their pager; in pipes and files it never does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { harmlessOutput } from '../../base/visible-text.js';
import { printExact } from './output.js';

type Environment = Readonly<Record<string, string | undefined>>;

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // Whatever the reason: this is not the one that can be run.
  }
}

/** As a shell takes it. Undefined where the text is to be written as it is: no terminal, `PAGER=cat` or empty, no pager here. */
export function pagerFor(stream: Pick<NodeJS.WriteStream, 'isTTY'>, environment: Environment): string | undefined {
  if (stream.isTTY !== true || environment['TERM'] === 'dumb') return undefined;
  const own = environment['PAGER'];
  if (own !== undefined) return own.trim() === '' || own.trim() === 'cat' ? undefined : own;
  const places = (environment['PATH'] ?? '').split(':').filter((place) => place.startsWith('/'));
  // Ends at once where all of it fits, passes colours, leaves the text on the screen.
  return places.some((place) => isProgram(join(place, 'less'))) ? 'less -FRX' : undefined;
}

/** The text shown, and the pager ended. A person who leaves it early has seen enough. */
export async function showText(text: string, pager: string | undefined): Promise<void> {
  if (pager === undefined || text === '') {
    printExact(text);
    return;
  }
  const ignore = () => undefined;
  // Interrupting is the pager's to understand while it is there.
  process.on('SIGINT', ignore);
  try {
    const child = spawn('/bin/sh', ['-c', pager], { stdio: ['pipe', 'inherit', 'inherit'] });
    child.stdin.on('error', ignore);
    child.stdin.end(harmlessOutput(text));
    const [code] = (await once(child, 'close')) as [number | null];
    // 126 and 127: the shell found nothing to run, so nothing was shown.
    if (code === 126 || code === 127) printExact(text);
  } finally {
    process.off('SIGINT', ignore);
  }
}
