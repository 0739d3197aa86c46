/** Which git is ours to run: never one that lies in the workspace, by whatever name or link it is found. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { it } from 'node:test';
import { freshPlace } from '../tree/tree-fixture.js';
import { Git } from './git-program.js';

const { at, write } = freshPlace();

/** A program that says where it is. */
function program(path: string, mode = 0o755): void {
  write(path, `#!/bin/sh\necho ${path} "$PATH"\n`);
  chmodSync(at(path), mode);
}

/** The first git that is found on a PATH of these, outside of the workspace, and the PATH that it has. */
async function found(...directories: readonly string[]): Promise<readonly string[]> {
  const before = process.env['PATH'];
  process.env['PATH'] = directories.map((each) => (each === 'relative' ? each : at(each))).join(':');
  try {
    const git = Git.outside([at('work'), at('more')]) ?? assert.fail('there is no git');
    const { stdout } = await git.run({ words: ['--version'], environment: {}, cwd: at('own') });
    return stdout.toString().trim().split(' ');
  } finally {
    process.env['PATH'] = before;
  }
}

it('is the first on the PATH that neither is in a root of the workspace nor leads there', async () => {
  for (const path of ['work/bin/git', 'work/tools/git', 'more/git', 'own/git', 'own/bin/git']) program(path);
  program('closed/git', 0o644);
  for (const name of ['by-link', 'by-name', 'empty']) mkdirSync(at(name));
  symlinkSync(at('work/tools/git'), at('by-link/git'));
  symlinkSync(at('by-link/git'), at('by-name/git'));
  symlinkSync(at('work/bin'), at('directory'));
  symlinkSync(at('own/bin'), at('good'));
  program('workshop/git');
  const bad = ['work/bin', 'work', 'more', 'by-link', 'by-name', 'directory', 'relative', 'empty', 'closed', 'none'];
  for (const each of bad) {
    const [own, path = ''] = await found(each, 'own');
    assert.equal(own, 'own/git', each);
    const isOutside = !['work/bin', 'work', 'more', 'directory', 'relative', 'none'].includes(each);
    assert.equal(
      path.split(':').includes(at(each)),
      isOutside,
      `a program that git starts is not looked for in ${each}`,
    );
  }
  assert.equal((await found(...bad, 'good', 'own'))[0], 'own/bin/git');
  assert.equal((await found('workshop'))[0], 'workshop/git', 'a directory whose name begins like the workspace’s');
});
