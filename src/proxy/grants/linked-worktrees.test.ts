import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { linkedWorktrees } from './linked-worktrees.js';

const top = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-worktrees-')));
after(() => rmSync(top, { recursive: true, force: true }));

/** A worktree as git leaves it: `own` in the repository names the file, and the file names `own`. */
function worktree(repository: string, name: string, change: { own?: string; file?: string } = {}): string {
  const own = join(repository, 'worktrees', name);
  const file = join(top, name, '.git');
  mkdirSync(own, { recursive: true });
  mkdirSync(join(top, name), { recursive: true });
  writeFileSync(join(own, 'gitdir'), change.own ?? `${file}\n`);
  writeFileSync(file, change.file ?? `gitdir: ${own}\n`);
  return file;
}

const shown = (...roots: string[]) =>
  linkedWorktrees(roots)
    .map(({ source }) => source)
    .sort();

test('worktrees of a repository and of a bare one are shown, and only as files to read', () => {
  const [app, bare] = [join(top, 'app'), join(top, 'bare.git')];
  const files = [...['a', 'b', 'c'].map((name) => worktree(join(app, '.git'), name)), worktree(bare, 'd')];
  assert.deepEqual(shown(app, bare), files);
  assert.deepEqual(shown(app), files.slice(0, 3));
  assert.deepEqual(shown(top, join(top, 'none')), []);
  for (const { source, target, access, identity } of linkedWorktrees([app])) {
    assert.deepEqual([target, access], [source, 'read only']);
    assert.match(identity ?? '', /^\d+:\d+$/);
  }
});

test('a file that does not name the repository in turn is not shown, whatever the repository says', () => {
  const git = join(top, 'planted', '.git');
  const secret = join(top, 'secret', '.git');
  mkdirSync(join(top, 'secret'), { recursive: true });
  writeFileSync(secret, 'gitdir: /elsewhere\n');
  mkdirSync(join(top, 'directory', '.git'), { recursive: true });
  worktree(git, 'other', { own: `${secret}\n` });
  worktree(git, 'absent', { own: join(top, 'nowhere', '.git') });
  worktree(git, 'relative', { own: '../relative/.git' });
  worktree(git, 'named', { own: '/etc/passwd\n' });
  worktree(git, 'directories', { own: join(top, 'directory', '.git') });
  worktree(git, 'silent', { file: 'text\n' });
  worktree(git, 'foreign', { file: `gitdir: ${join(top, 'app', '.git', 'worktrees', 'a')}\n` });
  worktree(git, 'long', { own: `${join(top, 'x'.repeat(20_000), '.git')}\n` });
  worktree(git, 'longer', { own: `/${'x/'.repeat(3000)}.git\n` });
  worktree(git, 'zero', { own: '/a\0b/.git\n' });
  symlinkSync('round', join(top, 'round'));
  worktree(git, 'circle', { own: `${join(top, 'round', '.git')}\n` });
  const real = worktree(git, 'real');
  symlinkSync(join(top, 'real'), join(top, 'link'));
  worktree(git, 'linked', { own: `${join(top, 'link', '.git')}\n` });
  assert.deepEqual(shown(join(top, 'planted')), [real]);
});
