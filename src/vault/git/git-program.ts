/**
 * Git as a tool of ours, on the trusted side. It is the system's or the person's, never one that the workspace brings; it sees no
 * configuration but what is named here, has an end in time and memory, and is given an agent's files as data only.
 */
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { startProgram } from '../../base/child-process.js';
import { ErrnoError } from '../../base/errno.js';
import {
  gitMemoryKilobytes,
  gitOutputBytes,
  gitPatienceMilliseconds,
  nativeErrorBytes,
} from '../../base/limits/store.js';
import { isExactText } from '../../base/path-bytes.js';
import { programPlaces } from '../../base/system-programs.js';

export interface GitRun {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Bytes, or a file. */
  readonly input?: Buffer | number | undefined;
  /** A file that gets what it prints, instead of the caller. */
  readonly output?: number | undefined;
  readonly cwd: string;
  /** What does not end until then is ended. */
  readonly milliseconds?: number | undefined;
}

export interface GitEnd {
  readonly code: number | null;
  readonly stdout: Buffer;
  /** Its last words, for people. */
  readonly reason: string;
}

const isIn = (path: string, tops: readonly string[]) => tops.some((top) => path === top || path.startsWith(`${top}/`));

/** Directories of programs that are not in any of these. */
export function programDirectories(outside: readonly string[], path = process.env['PATH'] ?? ''): readonly string[] {
  const named = path.split(delimiter).filter((each) => isAbsolute(each) && isExactText(each));
  return [...new Set([...named, ...programPlaces])].filter((each) => {
    try {
      return !isIn(realpathSync(each), outside);
    } catch {
      return false; // Not there.
    }
  });
}

export class Git {
  readonly #program: string;
  readonly #path: string;

  private constructor(program: string, path: string) {
    this.#program = program;
    this.#path = path;
  }

  /** Undefined where there is none but in these directories. */
  static outside(directories: readonly string[]): Git | undefined {
    const found = programDirectories(directories);
    for (const directory of found) {
      try {
        const program = realpathSync(join(directory, 'git'));
        accessSync(program, constants.X_OK);
        if (!isIn(program, directories)) return new Git(join(directory, 'git'), found.join(delimiter));
      } catch {
        // The next one.
      }
    }
    return undefined;
  }

  /** Whatever it says; ETIMEDOUT where it does not end. */
  run({ words, environment, input, output, cwd, milliseconds = gitPatienceMilliseconds }: GitRun): Promise<GitEnd> {
    return new Promise((resolve, reject) => {
      // Its memory is its own concern no longer: objects that unpack to more than the machine has are made in a minute.
      const limited = `ulimit -c 0; ulimit -d ${gitMemoryKilobytes} 2>/dev/null; exec "$0" "$@"`;
      const child = startProgram('/bin/sh', ['-c', limited, this.#program, ...words], {
        cwd,
        env: { PATH: this.#path, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', ...environment },
        stdio: [typeof input === 'number' ? input : input === undefined ? 'ignore' : 'pipe', output ?? 'pipe', 'pipe'],
      });
      const chunks: Buffer[] = [];
      const errors: Buffer[] = [];
      let [length, errorLength, isLate] = [0, 0, false];
      const end = () => {
        isLate = true;
        child.kill('SIGKILL');
      };
      const clock = setTimeout(end, milliseconds);
      child.stdout?.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > gitOutputBytes) end();
        else chunks.push(chunk);
      });
      child.stderr?.on('data', (chunk: Buffer) => {
        errorLength += chunk.length;
        if (errorLength <= nativeErrorBytes) errors.push(chunk);
      });
      child.stdin?.on('error', () => undefined);
      if (Buffer.isBuffer(input)) child.stdin?.end(input);
      child.on('error', (cause) => {
        clearTimeout(clock);
        reject(new ErrnoError('EIO', { operation: `git ${words[0]}`, reason: cause.message, cause }));
      });
      child.on('close', (code) => {
        clearTimeout(clock);
        const said = Buffer.concat(errors).toString('latin1').trim().split('\n').at(-1) ?? '';
        const reason = isLate ? 'git took too long, or said too much' : said.replace(/^(?:fatal|error): /, '');
        resolve({ code: isLate ? null : code, stdout: Buffer.concat(chunks), reason });
      });
    });
  }
}

/** Of a git that must obey no one: no file of the system, the person or the repository says what it does. */
export const sterile: Readonly<Record<string, string>> = {
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: '',
  GIT_CONFIG_COUNT: '6',
  GIT_CONFIG_KEY_0: 'core.hooksPath',
  GIT_CONFIG_VALUE_0: '/dev/null',
  GIT_CONFIG_KEY_1: 'core.fsmonitor',
  GIT_CONFIG_VALUE_1: 'false',
  GIT_CONFIG_KEY_2: 'core.bigFileThreshold',
  GIT_CONFIG_VALUE_2: '16m',
  GIT_CONFIG_KEY_3: 'pack.threads',
  GIT_CONFIG_VALUE_3: '2',
  GIT_CONFIG_KEY_4: 'core.packedGitLimit',
  GIT_CONFIG_VALUE_4: '512m',
  GIT_CONFIG_KEY_5: 'gc.auto',
  GIT_CONFIG_VALUE_5: '0',
};
