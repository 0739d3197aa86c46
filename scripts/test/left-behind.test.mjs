import assert from 'node:assert/strict';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { leftIn, makeTemporary, removeTemporary } from './left-behind.mjs';

it('what tests leave in their temporary directory is named, and removed', () => {
  const directory = makeTemporary();
  assert.equal(statSync(directory).mode & 0o7777, 0o1777);
  assert.deepEqual(leftIn(directory), []);
  writeFileSync(join(directory, 'b'), '');
  writeFileSync(join(directory, 'a'), '');
  assert.deepEqual(leftIn(directory), ['left behind by tests: a, b']);
  removeTemporary(directory);
  assert.ok(!existsSync(directory));
});
