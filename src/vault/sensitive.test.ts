import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sensitivity } from './sensitive.js';
import type { Change } from './tree.js';

const change = (path: string, type: Change['type'] = 'file', kind: Change['kind'] = 'added'): Change => ({
  kind,
  type,
  path,
  mode: 0o644,
  size: 1,
  content: true,
  stamp: '',
});

test('a link in place of a directory that is obeyed is as sensitive as what would be in it', () => {
  for (const path of [
    '.vscode',
    '.claude',
    '.husky',
    'packages/a/.idea',
    '.github',
    '.github/workflows',
    '.config',
    '.git',
    '.git/hooks',
    '.git/modules',
    '.git/objects',
  ]) {
    assert.ok(sensitivity(change(path, 'symlink')) !== undefined, path);
    assert.equal(sensitivity(change(path, 'directory')), undefined, path);
    assert.equal(sensitivity(change(path, 'symlink', 'deleted')), undefined, path);
  }
});

test('a file that leads git to another repository, or makes a directory one, is sensitive', () => {
  for (const path of ['.git', 'sub/.git', '.git/commondir', '.git/worktrees/a/gitdir', 'innocent/HEAD', 'HEAD']) {
    assert.ok(sensitivity(change(path)) !== undefined, path);
  }
});

test('what an ordinary commit or edit writes is not', () => {
  for (const path of [
    '.git/HEAD',
    '.git/index',
    '.git/hooks/pre-commit.sample',
    'src/head',
    'docs/HEADER',
    '.gitignore',
    '.github/CODEOWNERS',
  ]) {
    assert.equal(sensitivity(change(path)), undefined, path);
  }
  assert.equal(sensitivity(change('link', 'symlink')), undefined);
});
