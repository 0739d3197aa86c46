/** Where the programs and libraries of ours that are not JavaScript lie. */
import { join } from 'node:path';
import { installationRoot, isPackage } from './installation.js';
import { lazily } from './lazily.js';

const directory = lazily(() => join(installationRoot(), 'dist', 'native', isPackage() ? process.arch : ''));

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
