/** Where a part that mediates is missing, broken or silent, the command does not run: never without the part. */
import assert from 'node:assert/strict';
import { chmodSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { type Stage, useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

/** What stands in place of a native program. */
const broken: Readonly<Record<string, string | undefined>> = {
  'is missing': undefined,
  'ends at once and says nothing': '#!/bin/sh\nexit 0\n',
  'ends with an odd code': '#!/bin/sh\nexit 77\n',
  'kills itself': '#!/bin/sh\nkill -9 $$\n',
  'says that all is well and runs nothing': '#!/bin/sh\nprintf "started\\0" >&4; exit 0\n',
  'says things that nobody knows': '#!/bin/sh\nprintf "hurrah\\0exited\\0" >&4; exit 0\n',
  'is no program': 'not a program\n',
};

/** A copy of the product whose parts can be broken. */
function copyOfProduct(stage: Stage, name: string): string {
  const copy = join(stage.directory, name);
  const from = join(dirname(stage.program), '..');
  for (const part of ['bin', 'dist/cli', 'dist/native']) {
    mkdirSync(dirname(join(copy, part)), { recursive: true, mode: 0o755 });
    cpSync(join(from, part), join(copy, part), { recursive: true });
  }
  return copy;
}

forEachUser((user) => {
  const stage = useStage(user);

  test('with its parts whole the copy works', async () => {
    const copy = copyOfProduct(stage, 'whole');
    const { stdout, stderr } = await stage.start(stage.project(), [
      join(copy, 'bin', 'ctx'),
      'exec',
      '--',
      'echo',
      'ran',
    ]).finished;
    assert.equal(stdout, 'ran\n', stderr);
  });

  test('a command does not run, and is not said to have, where the jail program is broken in any way', async () => {
    const copy = copyOfProduct(stage, 'broken');
    const jail = join(copy, 'dist', 'native', 'jail');
    const project = stage.project();
    await stage.inside(project, 'true');
    for (const [how, text] of Object.entries(broken)) {
      rmSync(jail, { force: true });
      if (text !== undefined) writeFileSync(jail, text);
      if (text !== undefined) chmodSync(jail, 0o755);
      const marker = join(project, 'ran');
      const words = ['exec', '--wait', '--', 'sh', '-c', `echo ran; touch ${marker}`];
      const { code, stdout } = await stage.start(project, [join(copy, 'bin', 'ctx'), ...words]).finished;
      assert.ok(code !== 0 && code !== null, `a jail program that ${how}: ${code}`);
      assert.equal(stdout, '', how);
      assert.ok(!existsSync(marker), how);
    }
  });

  test('no list, an empty one and one that cannot be read grant nothing, not everything', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'empty'])).code, 0);
    const look = 'env | grep -ci proxy; ls /root /home 2>/dev/null | wc -l';
    for (const [file, text] of [
      ['network', ''],
      ['policy', ''],
      ['mount', ''],
    ] as const) {
      const { code, stderr } = await stage.ctx(project, ['agent', 'set', 'empty', file, text]);
      assert.equal(code, 0, stderr);
      const { stdout } = await stage.ctx(project, ['exec', '--wait', '--agent', 'empty', '--', 'sh', '-c', look]);
      assert.equal(stdout, '0\n0\n', file);
    }
    for (const words of [
      ['--net', ''],
      ['--net-private', ''],
      ['--weaken', ''],
      ['--weaken', 'everything'],
      ['--agent', ''],
      ['--agent', 'nobody'],
      ['--read', ''],
    ]) {
      const { code, stdout } = await stage.ctx(project, ['exec', ...words, '--', 'echo', 'ran']);
      assert.ok(code !== 0, words.join(' '));
      assert.equal(stdout, '', words.join(' '));
    }
  });
});
