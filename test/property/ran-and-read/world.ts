/** A directory in which a shell finds programs that only note that they ran, and what a line of shell text ran there. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { logged } from './words.js';

/** What runs others, or hands text on: the real ones. */
const real = ['cat', 'env', 'xargs', 'find', 'nice', 'nohup', 'timeout', 'bash', 'dash', 'sh'];
const limitMilliseconds = 1_000;
const nobody = 65_534;

export interface Ran {
  readonly commands: readonly (readonly string[])[];
  readonly wroteFiles: boolean;
}

export class World {
  readonly #directory: string;
  readonly #programs: string;
  readonly #log: string;
  readonly #work: string;
  readonly #user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

  constructor(directory: string) {
    this.#directory = directory;
    this.#programs = join(directory, 'bin');
    this.#log = join(directory, 'log');
    this.#work = join(directory, 'work');
    mkdirSync(this.#programs);
    chmodSync(directory, 0o711);
    const note = `#!/bin/sh\nprintf '%s\\0' "$#" "\${0##*/}" "$@" >> '${this.#log}'\n`;
    for (const name of logged) writeFileSync(join(this.#programs, name), note, { mode: 0o755 });
    for (const name of real) {
      const found = ['/usr/bin', '/bin'].map((each) => join(each, name)).find((each) => existsSync(each));
      if (found !== undefined) symlinkSync(found, join(this.#programs, name));
    }
  }

  has(program: string): boolean {
    return existsSync(join(this.#programs, program));
  }

  async run(shell: string, text: string): Promise<Ran> {
    rmSync(this.#work, { recursive: true, force: true });
    mkdirSync(this.#work);
    writeFileSync(this.#log, '', { mode: 0o666 });
    chmodSync(this.#log, 0o666);
    if ('uid' in this.#user) chownSync(this.#work, nobody, nobody);
    const bounded = 'ulimit -t 2 -f 100 -v 400000; exec "$0" -c "$1" "$0"';
    const child = spawn('/bin/sh', ['-c', bounded, shell, text], {
      cwd: this.#work,
      env: { PATH: this.#programs, HOME: this.#work, LC_ALL: 'C.UTF-8', FUNCNEST: '50' },
      stdio: 'ignore',
      detached: true,
      ...this.#user,
    });
    const group = -(child.pid ?? 0);
    const kill = () => {
      try {
        process.kill(group, 'SIGKILL');
      } catch {
        // They have all ended.
      }
    };
    const timer = setTimeout(kill, limitMilliseconds);
    await once(child, 'exit');
    clearTimeout(timer);
    // What it left behind in the background.
    kill();
    return { commands: this.#commands(), wroteFiles: readdirSync(this.#work).length > 0 };
  }

  #commands(): readonly (readonly string[])[] {
    const words = readFileSync(this.#log, 'utf8').split('\0').slice(0, -1);
    const found: string[][] = [];
    for (let at = 0; at < words.length; ) {
      const end = at + 2 + Number(words[at]);
      found.push(words.slice(at + 1, end));
      at = end;
    }
    return found;
  }

  end(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
