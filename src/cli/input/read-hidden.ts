/** One line that is not shown: typed at a terminal without echo, or what stdin holds. */
import { readFileSync } from 'node:fs';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import { printError } from '../text/output.js';

const enter = /[\r\n]/;
const interrupt = '\u0003';
const endOfInput = '\u0004';
const erase = /[\b\u007f]/;
const eraseLine = '\u0015';

function cancelled(): ErrnoError {
  return new ErrnoError('ECANCELED', { operation: 'read', reason: 'cancelled at the terminal; nothing was stored' });
}

/** Keys as a terminal in raw mode sends them. Undefined where it is not over yet. Pure. */
export function typedLine(keys: string): { readonly line: string } | 'cancelled' | undefined {
  let line = '';
  for (const key of keys) {
    if (enter.test(key)) return { line };
    if (key === interrupt || (key === endOfInput && line === '')) return 'cancelled';
    if (erase.test(key)) line = line.slice(0, -1);
    else if (key === eraseLine) line = '';
    else line += key;
  }
  return undefined;
}

function typed(question: string): Promise<string> {
  const { stdin } = process;
  printError(question);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  let keys = '';
  return new Promise<string>((resolve, reject) => {
    const end = (act: () => void) => {
      stdin.off('data', take).off('end', gone);
      stdin.setRawMode(false);
      stdin.pause();
      printError('\n');
      act();
    };
    const gone = () => end(() => reject(cancelled()));
    const take = (chunk: string) => {
      keys += chunk;
      const line = typedLine(keys);
      if (line === 'cancelled') gone();
      else if (line !== undefined) end(() => resolve(line.line));
    };
    stdin.on('data', take).on('end', gone);
  });
}

export async function readHidden(question: string): Promise<string> {
  if (process.stdin.isTTY === true) return typed(question);
  try {
    return readFileSync(0, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw fromSystemError(error, 'read', 'stdin');
  }
}
