import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `dist/native`, beside the bundle and beside the compiled files alike. */
export function nativeProgram(name: string): string {
  const here = fileURLToPath(import.meta.url);
  return join(here.slice(0, here.lastIndexOf('/dist/')), 'dist', 'native', name);
}
