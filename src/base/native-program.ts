/** Where the programs and libraries of ours that are not JavaScript lie. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installationRoot } from './installation.js';
import { lazily } from './lazily.js';

/** A package has programs for several machines, a checkout those that were compiled here. */
const directory = lazily(() => {
  const native = join(installationRoot(), 'dist', 'native');
  const packaged = join(native, process.arch);
  return existsSync(packaged) ? packaged : native;
});

/** What Node runs as `ctx`: for a process of ours that has to live on its own. */
export function ctxProgram(): string {
  return join(installationRoot(), 'dist', 'cli', 'ctx.cjs');
}

/** What to do where one of them is missing. */
export const installAgain = 'install ctx again; in a checkout of ctxfs: npm run setup -- start';

/** `dist/native`, beside the bundle and beside the compiled files alike. */
export function nativeProgram(name: string): string {
  return join(directory(), name);
}
