import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRepositoryData } from './repository-data.js';

const isData = (path: string) => isRepositoryData({ path, type: 'file' });

test('what a commit writes is data', () => {
  for (const path of [
    'index',
    'HEAD',
    `objects/ab/${'c'.repeat(38)}`,
    'objects/pack/pack-ab.pack',
    'objects/info/commit-graph',
    'refs/heads/x',
    'logs/HEAD',
    'packed-refs',
    'modules/x/index',
    'modules/x/HEAD',
    `modules/x/objects/ab/${'c'.repeat(38)}`,
    'modules/x/objects/pack/pack-abc.idx',
  ]) {
    assert.ok(isData(`.git/${path}`), path);
  }
  assert.ok(isRepositoryData({ path: '.git/hooks', type: 'directory' }));
  assert.ok(isData('.git/hooks/pre-commit.sample'));
});

test('what git takes programs from, or is not known, is not', () => {
  for (const path of [
    'config',
    'config.worktree',
    'hooks/post-checkout',
    'hooks/deep/x.sample',
    'info/attributes',
    'objects/info/alternates',
    'modules/x/config',
    'modules/x/hooks/pre-commit',
    'modules/x/refs/hooks/pre-commit',
    'modules/x/objects/ab/hooks/post-checkout',
    'modules/x/objects/info/alternates',
    'modules/x/info/attributes',
    'worktrees/x/config.worktree',
    'info/exclude',
    'refs/replace/x',
    'refs/notes/commits',
    'MERGE_HEAD',
    'shallow',
    'index.lock',
    'anything',
  ]) {
    assert.ok(!isData(`.git/${path}`), path);
  }
  for (const path of ['.gitmodules', '.github/x', 'sub/.git/index', '.git']) assert.ok(!isData(path), path);
});
