import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isSameIndex } from './same-index.js';

function withRepository(use: (git: (...words: readonly string[]) => void, directory: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-index-'));
  const env = { PATH: process.env['PATH'], HOME: directory, GIT_CONFIG_NOSYSTEM: '1' };
  try {
    use((...words) => void execFileSync('git', words, { cwd: directory, env, stdio: 'ignore' }), directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('an index that was only refreshed is the same; a staged change or a flag is not', () => {
  withRepository((git, directory) => {
    const index = () => readFileSync(join(directory, '.git', 'index'));
    git('init', '-q');
    for (const name of ['a', 'bb', 'ccccccc', 'a-name-of-some-length']) writeFileSync(join(directory, name), name);
    git('add', '.');
    const first = index();
    execFileSync('touch', ['-d', '2001-01-01', 'a', 'bb'], { cwd: directory });
    git('update-index', '-q', '--refresh');
    const refreshed = index();
    assert.ok(!first.equals(refreshed));
    assert.ok(isSameIndex(first, refreshed));
    git('write-tree');
    assert.ok(isSameIndex(first, index()), 'with a cache of trees');
    const torn = Buffer.from(refreshed);
    torn[70] = (torn[70] ?? 0) ^ 1;
    assert.ok(!isSameIndex(first, torn), 'with a wrong digest');
    assert.ok(!isSameIndex(first, refreshed.subarray(0, 100)));
    git('update-index', '--assume-unchanged', 'a');
    assert.ok(!isSameIndex(first, index()));
    git('update-index', '--no-assume-unchanged', 'a');
    assert.ok(isSameIndex(first, index()));
    git('update-index', '--chmod=+x', 'bb');
    assert.ok(!isSameIndex(first, index()));
    git('update-index', '--chmod=-x', 'bb');
    git('update-index', '--index-version', '4');
    assert.ok(isSameIndex(first, index()), 'with names that lend each other their beginnings');
    git('update-index', '--index-version', '2');
    assert.ok(isSameIndex(first, index()));
    writeFileSync(join(directory, 'a'), 'other');
    git('add', 'a');
    assert.ok(!isSameIndex(first, index()));
    git('rm', '-q', '--cached', 'a');
    assert.ok(!isSameIndex(first, index()));
    assert.ok(!isSameIndex(Buffer.from('text'), Buffer.from('text')));
  });
});
