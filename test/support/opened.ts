/** Workspaces of the SDK in this process, with a home, a store and projects that are gone after the tests. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { composeHost } from '../../src/compose.js';
import { type OpenOptions, open, operate, type Workspace } from '../../src/index.js';

export class Opened {
  readonly directory = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-opened-')));
  readonly data = join(this.directory, 'store');
  readonly project = join(this.directory, 'project');
  readonly #workspaces: Workspace[] = [];

  /** To be called before anything is opened; it ends after the tests of the file. */
  constructor(files: Readonly<Record<string, string>> = {}) {
    // Root's commands run as another user, who has to get to the project.
    chmodSync(this.directory, 0o755);
    process.env['HOME'] = join(this.directory, 'home');
    process.env['CTX_KEEPER'] = 'off';
    for (const name of ['home', 'project']) mkdirSync(join(this.directory, name), { mode: 0o755 });
    mkdirSync(this.data, { mode: 0o700 });
    for (const [name, text] of Object.entries(files)) this.write(name, text);
    after(async () => {
      for (const workspace of this.#workspaces) await workspace.close();
      rmSync(this.directory, { recursive: true, force: true });
    });
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(join(this.project, name)), { recursive: true });
    writeFileSync(join(this.project, name), text);
  }

  async open(options: OpenOptions = {}): Promise<Workspace> {
    const workspace = await open({ data: this.data, directory: this.project, ...options });
    this.#workspaces.push(workspace);
    return workspace;
  }

  /** With these variables beside those of the process. */
  host(environment: Readonly<Record<string, string>> = {}) {
    return composeHost({ ...process.env, CTX_DATA: this.data, ...environment });
  }

  operate() {
    return operate({ data: this.data });
  }
}
