/**
 * A command of the person's that prints a secret: by their shell's rules, with their rights and environment, outside of every jail. Only
 * the person can have named it: it is stored where no jail writes.
 */
import type { ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import { startProgram } from '../../base/child-process.js';
import { fromSystemError } from '../../base/errno.js';
import { networkSecretCharacters } from '../../base/limits/network.js';
import type { Host } from '../host.js';

export interface CommandOutput {
  /** `exit code 0`, or how else it ended. */
  readonly ended: string;
  /** Without the end of its last line. */
  readonly stdout: string;
  /** For the person who names the command; never for a jail or the record. */
  readonly stderr: string;
}

/** Twice what a value may have: one that is too long is refused as such. */
const mostBytes = 2 * networkSecretCharacters;

/** With all that it has started. It leads a group of its own, unless it could not be started. */
function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}

/**
 * A second process of its group hears by a pipe that this one is gone, however it went, and ends the group. What the command leaves
 * behind on purpose stays where it ends by itself: a line says so.
 */
const untilWeEnd = '(read -r ended <&3 || kill -KILL 0) > /dev/null 2>&1 & exec 3<&-; exec /bin/sh -c "$1"';

/**
 * It reads nothing, and in a session of its own it has no terminal: what a person types there is for the command in the jail, which reads
 * it as well. A program that asks a person has a window or an agent of its own. `signal` ends it: nobody needs its answer any more.
 */
const unstarted = ({ code }: { readonly code: string }) => `it could not be started in your home (${code})`;

export function commandOutput(
  command: string,
  { environment, home }: Pick<Host, 'environment' | 'home'>,
  milliseconds: number,
  signal?: AbortSignal,
): Promise<CommandOutput> {
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = startProgram('/bin/sh', ['-c', untilWeEnd, 'sh', command], {
        cwd: home,
        env: { ...environment },
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
        detached: true,
      });
    } catch (error) {
      return resolve({ ended: unstarted(fromSystemError(error, 'start a program')), stdout: '', stderr: '' });
    }
    const ours = child.stdio[3];
    ours?.on('error', () => undefined); // the other end may have gone first
    child.once('exit', () => (ours as Writable | null)?.end('\n'));
    const said = { stdout: '', stderr: '' };
    const settle = (ended: string) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      resolve({ ended, stdout: said.stdout.replace(/\r?\n$/, ''), stderr: said.stderr });
    };
    const end = (ended: string) => {
      kill(child);
      // What has left its group may hold them open.
      child.stdout?.destroy();
      child.stderr?.destroy();
      ours?.destroy();
      settle(ended);
    };
    const cancel = () => end('it was cancelled');
    const timer = setTimeout(() => end(`it took longer than ${milliseconds / 1000} s`), milliseconds);
    // There is neither where no descriptors are left; what happened is said by its error then.
    child.stdout?.setEncoding('latin1').on('data', (chunk: string) => {
      said.stdout += chunk;
      if (said.stdout.length > mostBytes) end(`it printed more than ${mostBytes} bytes`);
    });
    child.stderr?.setEncoding('latin1').on('data', (chunk: string) => {
      said.stderr += chunk.slice(0, mostBytes - said.stderr.length);
    });
    child.once('error', ({ code = '?' }: NodeJS.ErrnoException) => end(unstarted({ code })));
    child.once('close', (code, killedBy) => settle(code === null ? `${killedBy}` : `exit code ${code}`));
    if (signal?.aborted === true) cancel();
    else signal?.addEventListener('abort', cancel);
  });
}
