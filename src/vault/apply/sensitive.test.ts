import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, TreeContent } from '../tree/tree.js';
import { sensitivity } from './sensitive.js';

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
  ]) {
    assert.ok(sensitivity(change(path, 'symlink')) !== undefined, path);
    assert.equal(sensitivity(change(path, 'directory')), undefined, path);
    assert.equal(sensitivity(change(path, 'symlink', 'deleted')), undefined, path);
  }
});

test('a file or a link in place of a repository is sensitive, and so is a pipe wherever it is', () => {
  for (const path of ['.git', 'sub/.git', 'a\nb/.git']) assert.ok(sensitivity(change(path)) !== undefined, path);
  assert.ok(sensitivity(change('src/notes', 'fifo')) !== undefined);
});

test('what an ordinary commit or edit writes is not', () => {
  for (const path of ['src/head', 'docs/HEADER', '.gitignore', '.github/CODEOWNERS']) {
    assert.equal(sensitivity(change(path)), undefined, path);
  }
  assert.equal(sensitivity(change('link', 'symlink')), undefined);
});

test('what a developer’s programs run or obey unasked is sensitive, wherever it stands', () => {
  for (const path of [
    ...['.gitconfig', '.hg/hgrc', '.jj/repo/config.toml'],
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
    ...['AGENT.md', '.amp/settings.json', '.openhands/setup.sh', '.mcp.toml', '.hgrc', 'skills/a/SKILL.md'],
    ...['packages/a/.claude/settings.json', 'packages/a/.mcp.json', '.gradle/config.properties', '.prettierrc.toml'],
    ...['binding.gyp', 'package.yaml', '.cargo/config.toml', 'rust-toolchain', '.mvn/jvm.config', '.bazelrc'],
    ...['gradle/wrapper/gradle-wrapper.jar', 'Directory.Build.props', 'NuGet.Config', '.bundle/config', 'uv.toml'],
  ]) {
    assert.ok(sensitivity(change(path)) !== undefined, path);
    assert.ok(sensitivity(change(`sub\n/${path}`)) !== undefined, `sub/${path}`);
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
    ...['jest.config.js', 'docker-compose.yml', 'Cargo.toml', 'go.mod', '.editorconfig', 'tools/config.toml'],
  ]) {
    assert.equal(sensitivity(change(path)), undefined, path);
  }
});

const file = (text: string): TreeContent => {
  const bytes = Buffer.from(text);
  return { type: 'file', mode: 0o644, size: bytes.length, digest: '', bytes };
};
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

test('a formatter’s file is sensitive where it could name code', () => {
  const judged = (text: string) => sensitivity(change('.prettierrc'), { type: 'missing' } as TreeContent, file(text));
  for (const text of ['{"semi":false,"tabWidth":2}', 'semi: false\n# c\nendOfLine: "lf"\n', '']) {
    assert.equal(judged(text), undefined, text);
  }
  for (const text of [
    ...['{"plugins":["./x.js"]}', '{"\\u0070lugins":["./x.js"]}', 'plugins:\n  - ./x.js\n', '"./shared.js"', '[1]'],
    ...[
      '{"overrides":[{"files":"*","options":{"plugins":["./x"]}}]}',
      '{semi: false, plugins: [./x.js]}',
      'semi: &a x y',
    ],
  ]) {
    assert.ok(judged(text) !== undefined, text);
  }
  assert.ok(sensitivity(change('.prettierrc')) !== undefined, 'one that was not read');
});
