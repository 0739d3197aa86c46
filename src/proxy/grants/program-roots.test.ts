import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { contains } from '../../authority/absolute-path.js';
import { programPaths } from '../../authority/program-paths.js';
import { programRoots } from './program-roots.js';

const home = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-programs-')));
after(() => rmSync(home, { recursive: true, force: true }));

function make(path: string, target?: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  if (target === undefined) writeFileSync(join(home, path), '');
  else symlinkSync(target, join(home, path));
}

make('pipx/venvs/tool/bin/tool');
make('pipx/venvs/tool/bin/python', '../../../../python/bin/python3');
make('python/bin/python3.12');
make('python/bin/python3', 'python3.12');
make('python/bin/again', 'python3');
make('scripts/run');
make('project/bin/planted');
make('.ssh/id');
for (const [name, target] of [
  ['tool', join(home, 'pipx/venvs/tool/bin/tool')],
  ['run', '../scripts/run'],
  ['planted', join(home, 'project/bin/planted')],
  ['key', join(home, '.ssh/id')],
  ['system', '/usr/bin/env'],
  ['dangling', '/no/such'],
  ['circle', 'circle'],
  ['long', 'x'.repeat(300)],
] as const)
  make(`own/${name}`, target);
make('project/links/out', join(home, 'scripts/run'));

const shows = (roots: readonly string[], path: string) => roots.some((root) => contains(root, join(home, path)));
const rootsFor = (entries: readonly string[], untrusted: readonly string[] = []) =>
  programRoots(
    programPaths(entries.map((entry) => join(home, entry)).join(':'), home),
    home,
    untrusted.map((path) => join(home, path)),
  );

test('where links of PATH lead is shown with what its programs need, also by a second link, and nothing else', () => {
  const roots = rootsFor(['own']);
  for (const path of ['pipx/venvs/tool/bin/tool', 'python/bin/python3.12', 'scripts/run', 'project/bin/planted'])
    assert.ok(shows(roots, path), path);
  for (const path of ['scripts/other', '.ssh/id', 'pipx/venvs/other']) assert.ok(!shows(roots, path), path);
  assert.ok(!roots.some((root) => contains('/usr', root) || contains(root, home)), roots.join(' '));
  assert.equal(new Set(roots).size, roots.length);
});

test('neither links of a directory that an agent may write are followed, nor those that lead into one', () => {
  assert.ok(!shows(rootsFor(['own'], ['project']), 'project/bin/planted'));
  assert.ok(shows(rootsFor(['project/links']), 'scripts/run'));
  assert.deepEqual(rootsFor(['project/links'], ['project']), []);
});
