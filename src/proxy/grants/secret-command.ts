/**
 * A command of the person's that prints a secret: by their shell's rules, with their rights and environment, outside of every jail. Only
 * the person can have named it: it is stored where no jail writes.
 */
import { childProcess } from '../../base/child-process.js';
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

/** It reads nothing, and has no terminal of ours: a program that asks a person has a window or an agent of its own. */
export function commandOutput(
  command: string,
  { environment, home }: Pick<Host, 'environment' | 'home'>,
  milliseconds: number,
): Promise<CommandOutput> {
  return new Promise((resolve) => {
    const child = childProcess().execFile(
      '/bin/sh',
      ['-c', command],
      {
        cwd: home,
        env: { ...environment },
        encoding: 'latin1',
        timeout: milliseconds,
        killSignal: 'SIGKILL',
        maxBuffer: 2 * networkSecretCharacters,
      },
      (error, stdout, stderr) => {
        const ended =
          error === null
            ? 'exit code 0'
            : error.killed === true
              ? `it took longer than ${milliseconds / 1000} s`
              : typeof error.code === 'number'
                ? `exit code ${error.code}`
                : `${error.code ?? error.signal ?? 'not started'}`;
        resolve({ ended, stdout: stdout.replace(/\r?\n$/, ''), stderr });
      },
    );
    child.stdin?.end();
  });
}
