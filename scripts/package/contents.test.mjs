import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { commitOf } from './contents.mjs';

const place = mkdtempSync(join(tmpdir(), 'ctxfs-commit-'));
after(() => rmSync(place, { recursive: true }));

it('a checkout with a file that is not in its commit is said to be modified, whatever git status shows its owner', async () => {
  const git = (...words) => assert.equal(spawnSync('git', ['-C', place, ...words]).status, 0, words.join(' '));
  git('init', '-q');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'first');
  git('config', 'status.showUntrackedFiles', 'no');
  Object.assign(process.env, { GIT_DIR: join(place, '.git'), GIT_WORK_TREE: place });
  assert.match(await commitOf(), /^[0-9a-f]{40}$/);
  writeFileSync(join(place, 'new.ts'), '');
  assert.match(await commitOf(), /^[0-9a-f]{40}-modified$/);
});
