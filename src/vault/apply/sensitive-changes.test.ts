/** What is judged of a fork as a whole: each kind of change that stays, in a directory that would else come home as one. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { manifestsAtOnce } from '../../base/limits/store.js';
import { forkChanges } from '../forks/changes.js';
import { freshVault, lookAt } from '../forks/vault-fixture.js';
import { applyFork } from './apply.js';
import { benchOf, isOrdinary, judgeChanges } from './sensitive-changes.js';

const { at, write, withFork, command, access } = freshVault();
const put = (directory: string, path: string, text = '') => {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), text);
};

/** The person's git obeys what is in `tools/hooks`, and `linked` has the shape of a repository but for one name. */
function person(): void {
  write('project/stays', 'mine');
  execFileSync('git', ['init', '-q', '--template=', at('project')]);
  execFileSync('git', ['config', '--file', at('project/.git/config'), 'core.hooksPath', 'tools/hooks']);
  execFileSync('git', ['config', '--file', at('project/.git/config'), 'core.attributesFile', 'way/to/attributes']);
  write('project/half/HEAD', 'ref: refs/heads/main\n');
  mkdirSync(at('project/half/refs'));
}

it('in a tree that is new each entry is ordinary, but those that somebody runs, obeys, hides or waits for', async () => {
  person();
  const held: readonly string[] = [
    ...['.envrc', '.vscode/tasks.json', 'deep/.husky/pre-commit', 'Makefile.am/.envrc'].map((path) => `new/${path}`),
    ...['new/pipe', 'new/repository/.git/hooks/pre-commit', 'new/shape/HEAD', 'new/manifest/package.json'],
    ...['half/objects', 'tools/hooks/pre-commit', 'tools/hooks/deep/x', 'way'],
  ];
  // A manifest has to be read, and an environment may stay as a whole: these are looked at, and come.
  const looked = ['new/env/pyvenv.cfg', 'new/package.json'];
  const free = [
    'new/a',
    'new/deep/b',
    'new/link',
    'tools/other',
    'tools/hooksx',
    'new/node_modules/p/package.json',
    'new/env/lib',
  ];
  await command((directory) => {
    for (const path of [...held, ...looked, ...free].filter((each) => !/pipe|link|way/.test(each)))
      put(directory, path, '{}');
    put(directory, 'new/manifest/package.json', '{"scripts":{"postinstall":"evil"}}');
    put(directory, 'new/node_modules/p/package.json', '{"scripts":{"postinstall":"own"}}');
    execFileSync('mkfifo', [join(directory, 'new/pipe')]);
    symlinkSync('a', join(directory, 'new/link'));
    symlinkSync('new', join(directory, 'way'));
  });
  const layers = readdirSync(access().paths.layers);
  const ordinary = await withFork(async (fork) => {
    const bench = await benchOf(fork);
    const changes = await forkChanges(fork);
    const judged = await judgeChanges(fork, changes, { allowSensitive: false }, bench);
    judged.forget();
    const sensitive = judged.sensitive.map(({ path }) => path);
    // Nothing that is judged to stay may be passed over with its directory.
    const passed = changes.filter((change) => isOrdinary(bench, at('project'), change)).map(({ path }) => path);
    assert.deepEqual(
      passed.filter((path) => sensitive.includes(path)),
      [],
    );
    const files = new Set([...held, ...looked, ...free]);
    assert.deepEqual(sensitive.filter((path) => files.has(path)).sort(), [...held].sort());
    return passed.filter((path) => files.has(path));
  });
  assert.deepEqual([...ordinary].sort(), [...free].sort());
  assert.deepEqual(readdirSync(access().paths.layers), layers);
  const applied = await withFork((fork) =>
    applyFork(fork, { conflicts: 'refuse', allowSensitive: false, treesFrom: 1 }),
  );
  assert.equal(applied.done, true);
  const home = Object.keys(lookAt(at('project')));
  assert.deepEqual(
    held.filter((path) => home.includes(path)),
    [],
  );
  assert.deepEqual(
    [...looked, ...free].filter((path) => !home.includes(path)),
    [],
  );
});

it('manifests are read as many as there are, and judged by what they had', async () => {
  const count = manifestsAtOnce + 1;
  for (let number = 0; number < count; number += 1)
    write(`project/p${number}/package.json`, '{"scripts":{"test":"x"}}');
  write('project/gone/package.json', '{"scripts":{"test":"x"}}');
  await command((directory) => {
    for (let number = 0; number < count; number += 1) {
      const scripts = number === 0 || number === count - 1 ? '{"test":"evil"}' : '{"test":"x"}';
      put(directory, `p${number}/package.json`, `{"name":"n","scripts":${scripts}}`);
    }
    rmSync(join(directory, 'gone/package.json'));
  });
  await withFork(async (fork) => {
    const changes = await forkChanges(fork);
    const { sensitive, dropped, problems, layer } = await judgeChanges(fork, changes, { allowSensitive: false });
    assert.deepEqual(
      sensitive.map(({ path }) => path),
      ['p0/package.json', `p${count - 1}/package.json`].sort(),
    );
    assert.deepEqual([dropped.size, problems, layer], [0, [], undefined]);
    const none = await judgeChanges(fork, [], { allowSensitive: false });
    assert.deepEqual([none.fork, none.sensitive], [fork, []]);
  });
});
