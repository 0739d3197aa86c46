/** A store of format 1, made of one of today. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from './program.js';
import type { Stage } from './stage.js';
import { spawnIdentity } from './users.js';

/** By its text: the user may not be allowed to read the checkout. */
export function makeFormat1(stage: Stage, store: string): void {
  const input = readFileSync(join(checkout, 'test/support/older-store.mjs'));
  const options = { input, encoding: 'utf8', ...spawnIdentity(stage.user) } as const;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-', store], options);
  assert.equal(status, 0, stderr);
}
