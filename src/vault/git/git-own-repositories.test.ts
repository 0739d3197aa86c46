/** Repositories of the person's, wherever they are in and around their directories: the configuration of each says what git obeys. */
import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { it } from 'node:test';
import { addRoots } from '../forks/roots.js';
import { freshVault } from '../forks/vault-fixture.js';
import { ownRepositories } from './git-own-repositories.js';

const { at, write, withFork, request } = freshVault();
const repository = (path: string) => {
  write(`${path}/HEAD`, 'ref: refs/heads/main\n');
  for (const name of ['objects', 'refs']) mkdirSync(at(path, name), { recursive: true });
};
const found = (more = {}) => withFork(async (fork) => [...(await ownRepositories(fork))].sort(), more);

it('are found by name and by shape, at any depth, and where a file leads', async () => {
  repository('project/.git');
  repository('project/deep/er/nested/.git');
  repository('project/deep/bare.git');
  repository('elsewhere/real');
  write('project/linked/.git', `gitdir: ${at('elsewhere/real')}\n`);
  write('project/relative/.git', 'gitdir: ../../elsewhere/modules/x');
  write('project/worktree/HEAD', 'x');
  write('project/worktree/commondir', '..');
  const all = [
    'project/.git',
    'project/deep/er/nested/.git',
    'project/deep/bare.git',
    'elsewhere/real',
    'elsewhere/modules/x',
    'project/worktree',
  ];
  // What only looks a little like one is none.
  write('project/docs/HEAD', 'x');
  mkdirSync(at('project/docs/objects'));
  write('project/text/.git', 'not a gitdir');
  write('project/two/.git', 'gitdir: /a\ngitdir: /b\n');
  symlinkSync(at('elsewhere/real'), at('project/.gitlink'));
  assert.deepEqual(await found(), all.map((path) => at(path)).sort());
  // The same without the list of what was there when it was last looked at.
  await withFork(async (fork) => {
    rmSync(fork.paths.scan('workspace'));
    assert.deepEqual([...(await ownRepositories(fork))].sort(), all.map((path) => at(path)).sort());
  });
});

it('are also those that a directory lies in, and those of further directories', async () => {
  repository('.git');
  repository('more/sub/.git');
  repository('above');
  mkdirSync(at('above/hooks/project'), { recursive: true });
  mkdirSync(at('project'));
  await withFork(async (fork) => void (await addRoots(fork, { paths: [at('more')] })));
  assert.deepEqual(await found(), [at('.git'), at('more/sub/.git')].sort());
  const inside = { ...request({ origin: at('above/hooks/project') }) };
  assert.deepEqual(await found(inside), [at('.git'), at('above')].sort());
  assert.equal(realpathSync(at()), at());
});
