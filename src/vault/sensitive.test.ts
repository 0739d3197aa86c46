import assert from 'node:assert/strict';
import { test } from 'node:test';
import { obeyedPaths } from './git-configuration.js';
import { nameInRepository, sensitivity } from './sensitive.js';
import type { Change, Content } from './tree.js';

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

test('what a developer’s programs run or obey unasked is sensitive, wherever it stands', () => {
  for (const path of [
    ...['.git/rebase-merge/git-rebase-todo', '.git/sequencer/todo', '.gitconfig', '.hg/hgrc', '.jj/repo/config.toml'],
    ...['.git-hooks/x', 'lefthook-local.yml', '.lefthook.toml', '.lefthook/pre-commit/x.sh', '.lintstagedrc'],
    ...['.lintstagedrc.json', 'lint-staged.config.mjs', '.huskyrc.js', 'commitlint.config.ts', 'simple-git-hooks.cjs'],
    ...['.bash_aliases', '.zlogout', '.xprofile', '.tmux.conf', '.config/git/config', '.local/bin/ls', '.aws/config'],
    ...['.envrc.local', '.env', '.tool-versions', '.mise.local.toml', 'mise/config.toml', 'flake.nix', 'devbox.json'],
    ...['.venv/bin/python3', '.venv/bin/activate.fish', '.Rprofile', '.gdbinit', '.lldbinit', '.pdbrc', '.iex.exs'],
    ...['app.code-workspace', '.devcontainer/devcontainer.json', '.devcontainer.json', '.helix/languages.toml'],
    ...['.dir-locals-2.el', '.lvimrc', '.eslintrc.cjs', 'eslint.config.mjs', 'prettier.config.ts', '.pylintrc'],
    ...['.gitlab/ci.yml', '.forgejo/workflows/a.yml', '.cirrus.yml', '.woodpecker.yml', 'Jenkinsfile.release'],
    ...['AGENTS.md', 'packages/a/CLAUDE.md', 'CLAUDE.local.md', '.cursorrules', '.clinerules/a.md', 'opencode.json'],
    ...['.github/copilot-instructions.md', '.github/instructions/a.md', '.aider.conf.yml', '.roo/mcp.json'],
    ...['.yarn/releases/yarn-4.cjs', '.yarn/plugins/a.cjs', '.pnp.cjs', 'pnpm-workspace.yaml', '.pnpmfile.mjs'],
    ...['binding.gyp', 'package.yaml', '.cargo/config.toml', 'rust-toolchain', '.mvn/jvm.config', '.bazelrc'],
    ...['gradle/wrapper/gradle-wrapper.jar', 'Directory.Build.props', 'NuGet.Config', '.bundle/config', 'uv.toml'],
  ]) {
    assert.ok(sensitivity(change(path)) !== undefined, path);
    assert.ok(sensitivity(change(`sub/${path}`)) !== undefined, `sub/${path}`);
  }
});

test('what a build or a test runs that the person starts is theirs to read', () => {
  for (const path of [
    ...['Makefile', 'conftest.py', 'pytest.ini', 'tox.ini', 'setup.py', 'pyproject.toml', 'build.rs', 'gradlew'],
    ...[
      'README.md',
      'agents.ts',
      'src/env',
      '.env.example',
      'docs/claude.txt',
      'config',
      'hooks/pre-commit',
      '.gitattributes',
    ],
    ...[
      'jest.config.js',
      'docker-compose.yml',
      'Cargo.toml',
      'go.mod',
      '.editorconfig',
      'tools/config.toml',
      '.prettierrc',
    ],
  ]) {
    assert.equal(sensitivity(change(path)), undefined, path);
  }
});

const file = (text: string): Content => ({ type: 'file', bytes: Buffer.from(text) });
const configured = (before: string, after: string) =>
  sensitivity(change('.git/config', 'file', 'modified'), file(before), file(after));
const plain = '[core]\n\trepositoryformatversion = 0\n[remote "origin"]\n\turl = https://a.example/x.git\n';

test('a repository’s configuration may get what git writes of its own, and nothing that names a program', () => {
  for (const added of [
    '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n',
    '[remote "mine"]\n\turl = git@b.example:y.git\n\tfetch = +refs/heads/*:refs/remotes/mine/*\n',
    '[user]\n\tname = A B\n\temail = a@b\n# a comment\n',
  ]) {
    assert.equal(configured(plain, plain + added), undefined, added);
  }
  for (const added of [
    '[core]\n\tfsmonitor = x\n',
    '[core] fsmonitor = x\n',
    '[branch "main"]\n\t[a "x.merge=y"][core]fsmonitor=x\n',
    '[branch "main"]\n[core] ; .merge\nfsmonitor = x\n',
    '[branch "main"]\nmerge = a \\\n[core]\n',
    '[user]\n\tname = a\\\n',
    '\u00a0[user]\n\tname = a\n',
    '[remote "new"]\n\turl = ext::sh -c x\n',
    '[remote "new"]\n\turl = ssh://-oProxyCommand=x/\n',
    '[branch "new"]\n\tremote = ext::sh -c x\n',
    '[include]\n\tpath = ../x\n',
  ]) {
    assert.ok(configured(plain, plain + added) !== undefined, added);
  }
});

test('a remote that the person has keeps its address, and a branch its remote', () => {
  const other = 'https://evil.example/x.git';
  assert.ok(configured(plain, plain.replace('https://a.example/x.git', other)) !== undefined);
  assert.ok(configured(plain, `${plain}\turl = ${other}\n`) !== undefined);
  assert.ok(configured(plain, `${plain}\tpushurl = ${other}\n`) !== undefined);
  const branch = `${plain}[branch "main"]\n\tremote = origin\n`;
  assert.ok(configured(branch, branch.replace('= origin', '= evil')) !== undefined);
});

test('a manifest is sensitive by what is run of it', () => {
  const judged = (name: string, before: object, after: object) =>
    sensitivity(change(name, 'file', 'modified'), file(JSON.stringify(before)), file(JSON.stringify(after)));
  const old = { scripts: { test: 'x' } };
  for (const name of ['package.json', 'composer.json']) {
    assert.equal(judged(name, old, { ...old, version: '2' }), undefined);
    assert.ok(judged(name, old, { scripts: { test: 'y' } }) !== undefined);
    assert.ok(judged(name, old, { ...old, 'lint-staged': { '*': 'y' } }) !== undefined);
    const deep = `{"scripts":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    assert.ok(sensitivity(change(name), file(''), file(deep)) !== undefined);
    assert.ok(judged(name, old, { ...old, husky: { hooks: { 'pre-commit': 'y' } } }) !== undefined);
  }
});

test('a repository is one by whatever name', () => {
  const isRepository = (directory: string) => directory === 'bare' || directory === '/away/repository';
  const named = (path: string) => nameInRepository(path, isRepository);
  assert.equal(named('bare/hooks/pre-commit'), 'bare/.git/hooks/pre-commit');
  assert.equal(named('/away/repository/config'), '/away/repository/.git/config');
  assert.equal(named('other/hooks/pre-commit'), 'other/hooks/pre-commit');
  assert.equal(
    nameInRepository('config', (directory) => directory === ''),
    '.git/config',
  );
  assert.equal(
    nameInRepository('/away/config', (directory) => directory === ''),
    '/away/config',
  );
});

test('what a configuration has git obey is found in every form that git takes', () => {
  const text = `[core]\n\thooksPath = tools/hooks ; ours\n[core] HOOKSPATH="other"\n# hooksPath = not\n[include]\n\tpath=../x.inc\n[includeIf "gitdir:~/"]\n\tpath = y\n`;
  assert.deepEqual(obeyedPaths(text), { hooks: ['tools/hooks', 'other'], included: ['../x.inc', 'y'] });
  assert.deepEqual(obeyedPaths(plain), { hooks: [], included: [] });
});
