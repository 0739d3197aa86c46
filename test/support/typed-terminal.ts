/** A real terminal that a test types into and reads from: tmux, with a server of its own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from './stage.js';
import { spawnIdentity } from './users.js';

export const cannotType: string | undefined =
  spawnSync('tmux', ['-V']).status === 0 ? undefined : 'tmux is not installed';

export class TypedTerminal {
  readonly #stage: Stage;
  readonly #socket: string;

  constructor(stage: Stage, name: string, cwd: string, command: string) {
    this.#stage = stage;
    this.#socket = `${stage.directory}/tmux-${name}`;
    this.#tmux(cwd, ['-f', '/dev/null', 'new-session', '-d', '-x', '80', '-y', '24', 'sleep 3600']);
    // What the program printed last can be read after it has ended, which may be at once: so it starts when this is set.
    this.#tmux(cwd, ['set-option', '-g', 'remain-on-exit', 'on']);
    this.#tmux(cwd, ['respawn-pane', '-k', '-c', cwd, command]);
  }

  #tmux(cwd: string, words: readonly string[]): string {
    const env = { ...this.#stage.environment, SHELL: '/bin/sh', TERM: 'xterm' };
    const options = { cwd, env, encoding: 'utf8', ...spawnIdentity(this.#stage.user) } as const;
    const { status, stdout, stderr } = spawnSync('tmux', ['-S', this.#socket, ...words], options);
    assert.equal(status, 0, `tmux ${words.join(' ')}: ${stderr}`);
    return stdout;
  }

  /** Keys as tmux names them (`Enter`, `C-z`, `Escape`); anything else is typed as it is. */
  type(...keys: readonly string[]): void {
    this.#tmux('/', ['send-keys', ...keys]);
  }

  resize(columns: number, rows: number): void {
    this.#tmux('/', ['resize-window', '-x', String(columns), '-y', String(rows)]);
  }

  screen(): string {
    return this.#tmux('/', ['capture-pane', '-p']);
  }

  async shows(wanted: RegExp, seconds = 30): Promise<string> {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      const screen = this.screen();
      if (wanted.test(screen)) return screen;
      assert.ok(Date.now() < end, `expected ${wanted} on the screen:\n${screen}`);
      await sleep(50);
    }
  }

  close(): void {
    this.#tmux('/', ['kill-server']);
  }
}
