/** One line that is not shown: typed at a terminal without echo, or what stdin holds. */
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import { printError } from '../text/output.js';

/** More than any secret may have. */
const hiddenBytes = 64 * 1024;
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

/** A stream waits where a password manager takes its time; what is too long to be one line is not read to its end. */
async function piped(): Promise<string> {
  const chunks: Buffer[] = [];
  let total = 0;
  try {
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      total += chunk.length;
      if (total > hiddenBytes) break;
    }
  } catch (error) {
    throw fromSystemError(error, 'read', 'stdin');
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

export async function readHidden(question: string): Promise<string> {
  return process.stdin.isTTY === true ? typed(question) : piped();
}
