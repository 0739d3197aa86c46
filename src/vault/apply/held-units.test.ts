import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../tree/tree.js';
import { holdUnits, isComplete } from './held-units.js';
import { isUnread } from './installed-packages.js';

const change = (path: string, more: Partial<Change> = {}): Change => {
  const type = path.endsWith('/') ? 'directory' : 'file';
  return {
    kind: 'added',
    type,
    mode: 0o644,
    size: 1,
    content: true,
    stamp: '',
    path: path.replace(/\/$/, ''),
    ...more,
  };
};
const held = (paths: readonly string[], sensitive: readonly string[]) => {
  const { withheld, units } = holdUnits(
    paths.map((path) => change(path)),
    sensitive.map((path) => ({ path, why: 'it is obeyed' })),
  );
  return { withheld: [...withheld].sort(), units: units.map(({ path }) => path) };
};

test('what an installed package brings and nothing reads unasked is not held back', () => {
  const unread = [
    'node_modules/a/package.json',
    'node_modules/@scope/a/package.json',
    'app/node_modules/a/node_modules/b/package.json',
    'node_modules/a/test/fixtures/package.json',
    'node_modules/a/.github/workflows/ci.yml',
    'node_modules/a/binding.gyp',
    'vendor/owner/a/composer.json',
  ];
  for (const path of unread) assert.ok(isUnread(change(path)), path);
  assert.equal(held(unread, unread).withheld.length, unread.length, 'but for another reason than its name it is');
});

test('what is the project’s own, or a way out of the package, is held back', () => {
  const own = [
    'package.json',
    'packages/a/package.json',
    'node_modules/package.json',
    'node_modules/.hooks/package.json',
    'xnode_modules/a/package.json',
    'vendor/composer.json',
    'vendor/owner/composer.json',
  ];
  for (const path of own) assert.ok(!isUnread(change(path)), path);
  assert.deepEqual(held(own, own), { withheld: [...own].sort(), units: [] });
  const link = change('node_modules/a/package.json', { type: 'symlink' });
  assert.ok(!isUnread(link));
});

test('a package stays behind whole, with what it had inside, and its neighbours come', () => {
  const inside = [
    'node_modules/a/.vscode/tasks.json',
    'node_modules/a/index.js',
    'node_modules/a/node_modules/b/index.js',
  ];
  const beside = ['node_modules/b/index.js', 'node_modules/ab/index.js', 'node_modules/.package-lock.json', 'index.js'];
  const expected = ['node_modules/a', ...inside].sort();
  assert.deepEqual(held(['node_modules/a/', ...inside, ...beside], [inside[0] ?? '']), {
    withheld: expected,
    units: ['node_modules/a'],
  });
});

test('an environment or a repository that was made stays behind whole; one that was there does not', () => {
  const environment = ['.venv/', '.venv/bin/', '.venv/bin/activate', '.venv/bin/pip', '.venv/pyvenv.cfg'];
  assert.deepEqual(held([...environment, 'main.py'], ['.venv/bin/activate']).withheld, [
    '.venv',
    '.venv/bin',
    '.venv/bin/activate',
    '.venv/bin/pip',
    '.venv/pyvenv.cfg',
  ]);
  const repository = ['new/', 'new/.git/', 'new/.git/HEAD', 'new/.git/config', 'new/a'];
  const made = held(repository, ['new/.git/config']);
  assert.deepEqual(made, { withheld: ['new/.git', 'new/.git/HEAD', 'new/.git/config'], units: ['new/.git'] });
  assert.deepEqual(held(['.git/index', '.git/hooks/post-commit'], ['.git/hooks/post-commit']).withheld, [
    '.git/hooks/post-commit',
  ]);
});

test('only what was made as one makes a unit: by its own name, from the outermost', () => {
  const whole = (paths: readonly (string | Change)[], sensitive: string) =>
    holdUnits(
      paths.map((each) => (typeof each === 'string' ? change(each) : each)),
      [{ path: sensitive, why: 'it is obeyed' }],
    ).units;
  const unit = (path: string, because: string) => [{ path, because: [because] }];
  assert.deepEqual(whole(['.git/', '.git/config'], '.git/config'), unit('.git', '.git/config'));
  assert.deepEqual(whole(['a/.GIT/', 'a/.GIT/config'], 'a/.GIT/config'), unit('a/.GIT', 'a/.GIT/config'));
  assert.deepEqual(whole(['a/', 'a/pyvenv.cfg', 'a/b/pyvenv.cfg', 'a/b/x'], 'a/b/x'), unit('a', 'a/b/x'));
  assert.deepEqual(whole([change('v/pyvenv.cfg', { kind: 'modified' }), 'v/x'], 'v/x'), []);
  assert.deepEqual(whole([change('.git', { type: 'directory', kind: 'modified' }), '.git/x'], '.git/x'), []);
  assert.deepEqual(whole(['v/pyvenv.cfg/', 'v/x'], 'v/x'), []);
  for (const other of ['.github', '.git.d', 'x.git', 'git']) assert.deepEqual(whole([`${other}/`], `${other}/x`), []);
});

test('all reasons of a unit are named; what is allowed or not asked for holds nothing', () => {
  const paths = ['node_modules/a/', 'node_modules/a/x', 'node_modules/a/y', 'z', 'zz'].map((path) => change(path));
  const sensitive = ['node_modules/a/x', 'node_modules/a/y', 'z'].map((path) => ({ path, why: 'it is obeyed' }));
  const all = ['node_modules/a', 'node_modules/a/x', 'node_modules/a/y'];
  const asked = (request?: Parameters<typeof holdUnits>[2]) => {
    const { withheld, units, sensitive: named } = holdUnits(paths, sensitive, request);
    assert.equal(named, sensitive);
    return { withheld: [...withheld].sort(), units };
  };
  const units = [{ path: 'node_modules/a', because: ['node_modules/a/x', 'node_modules/a/y'] }];
  for (const request of [undefined, {}, { allowSensitive: false }, { only: ['.'] }, { only: ['node_modules', 'z'] }]) {
    assert.deepEqual(asked(request), { withheld: [...all, 'z'], units });
  }
  assert.deepEqual(asked({ allowSensitive: true }), { withheld: [], units: [] });
  assert.deepEqual(asked({ only: ['z'] }), { withheld: ['z'], units: [] });
  assert.deepEqual(asked({ only: ['zz', 'node'] }), { withheld: [], units: [] });
});

test('an apply is complete where nothing is held back, and nothing left out but sockets and devices', () => {
  const made = [change('file'), change('socket', { type: 'socket' }), change('device', { type: 'device' })];
  const complete = (withheld: readonly string[], leftOut: readonly string[]) =>
    isComplete(
      made,
      { withheld: new Set(withheld) },
      leftOut.map((path) => ({ path })),
    );
  for (const leftOut of [[], ['socket'], ['device'], ['socket', 'device']]) {
    assert.ok(complete([], leftOut), leftOut.join());
    assert.ok(!complete(['file'], leftOut), leftOut.join());
  }
  for (const leftOut of [['file'], ['socket', 'file'], ['elsewhere']]) assert.ok(!complete([], leftOut));
});
