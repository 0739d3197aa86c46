/** What a drop throws away is freed by a process that no one waits for. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { freshPlace, program, tree } from '../tree/tree-fixture.js';

const { at } = freshPlace();

function fill(trash: string, directories: number, files: number): void {
  for (let each = 0; each < directories; each += 1) {
    const directory = join(trash, `thrown-${each}`);
    mkdirSync(directory, { recursive: true });
    for (let file = 0; file < files; file += 1) writeFileSync(join(directory, String(file)), '');
  }
}

it('everything goes, what forbids it included, and the directory stays', () => {
  const trash = at('trash');
  fill(trash, 3, 5);
  chmodSync(join(trash, 'thrown-1'), 0);
  writeFileSync(join(trash, 'a file'), '');
  const { status, stderr } = spawnSync(program, ['empty', trash]);
  assert.equal(status, 0, stderr.toString());
  assert.deepEqual(readdirSync(trash), ['a file'], 'only directories are ever thrown away');
});

it('killed at any moment, the next one goes on', async () => {
  const trash = at('trash');
  fill(trash, 20, 100);
  const child = spawn(program, ['empty', trash], { stdio: 'ignore' });
  await once(child, 'spawn');
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(spawnSync(program, ['empty', trash]).status, 0);
  // A process of the first one may still be at its entry: it and the second one do not mind each other.
  while (readdirSync(trash).length > 0) assert.equal(spawnSync(program, ['empty', trash]).status, 0);
});

it('a missing directory is fine, and nobody waits', () => {
  assert.equal(spawnSync(program, ['empty', at('nothing')]).status, 0);
  tree.emptyLater(at('nothing'));
  assert.equal(existsSync(at('nothing')), false);
});
