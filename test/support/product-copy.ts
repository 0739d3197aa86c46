/** A copy of the product whose parts can be broken. */
import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Stage } from './stage.js';

export function copyOfProduct(stage: Stage, name: string): string {
  const copy = join(stage.directory, name);
  const from = join(dirname(stage.program), '..');
  for (const part of ['bin', 'dist/cli', 'dist/native']) {
    mkdirSync(dirname(join(copy, part)), { recursive: true, mode: 0o755 });
    cpSync(join(from, part), join(copy, part), { recursive: true });
  }
  return copy;
}
