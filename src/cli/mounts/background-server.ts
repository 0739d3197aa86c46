/** A mount is served by a process of its own: the same call again with --foreground, which says one line when it is mounted. */
import { spawn } from 'node:child_process';
import { mkdirSync, rmdirSync } from 'node:fs';
import { ErrnoError, ExitCode, fromSystemError, hasCode } from '../../base/errno.js';
import { anything, membersOf, parsedAs } from '../../base/shape.js';
import { print, printError } from '../text/output.js';

/** Signals that end a server, in good order. */
export function endedBySignals(): AbortSignal {
  const ending = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => ending.abort());
  return ending.signal;
}

function isMade(directory: string): boolean {
  try {
    mkdirSync(directory);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    if (!hasCode(error, 'ENOENT')) throw fromSystemError(error, 'mount', directory);
    const reason = 'the directory above it does not exist';
    throw new ErrnoError('ENOENT', { operation: 'mount', path: directory, reason, remedy: 'make it first' });
  }
}

/**
 * Mounts on `directory`, which is made where it is missing, and removed again if nothing could be mounted. `check` refuses
 * it before another process is started.
 */
export async function serveAt(
  directory: string,
  check: (directory: string) => unknown,
  words: readonly string[],
): Promise<number> {
  const made = isMade(directory);
  let code: number | undefined;
  try {
    check(directory);
    code = await serveInBackground(words);
    return code;
  } finally {
    if (made && code !== ExitCode.ok) rmdirSync(directory);
  }
}

/** Its first words are its answer, what it warned of before is said too; it holds no stream of ours afterwards. */
function serveInBackground(words: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...words], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  let answer = '';
  return new Promise((resolved, reject) => {
    child.once('error', (error) => reject(fromSystemError(error, 'start the server of the mount')));
    child.stdout.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
      if (!answer.includes('\n') || isRefusal(answer)) return;
      printError(complaints);
      print(answer);
      child.removeAllListeners('close');
      child.stdout.destroy();
      child.stderr.destroy();
      child.unref();
      resolved(ExitCode.ok);
    });
    child.once('close', (code) => {
      printError(complaints);
      print(answer);
      resolved(code ?? ExitCode.internal);
    });
  });
}

/** With `--json` a refusal is on stdout, too: it ends then. */
function isRefusal(answer: string): boolean {
  return membersOf(parsedAs<unknown>(answer, anything))['error'] !== undefined;
}
