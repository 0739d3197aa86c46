import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What Node runs as `ctx`: for a process of ours that has to live on its own. */
export function ctxProgram(): string {
  const here = fileURLToPath(import.meta.url);
  return join(here.slice(0, here.lastIndexOf('/dist/')), 'dist', 'cli', 'ctx.cjs');
}

/** `dist/native`, beside the bundle and beside the compiled files alike. */
export function nativeProgram(name: string): string {
  const here = fileURLToPath(import.meta.url);
  return join(here.slice(0, here.lastIndexOf('/dist/')), 'dist', 'native', name);
}
