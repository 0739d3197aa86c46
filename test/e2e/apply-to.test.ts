/** `ctx apply --to`: a fork's changes onto a directory that it is not of. */
import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { snapshot } from '../support/snapshot.js';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const sample = 'mkdir -p d/e s; echo a > a; echo f > d/f; echo g > d/e/g; ln -s a link; echo s > s/s; echo same > same';
const edits = 'echo b > a; rm -r d; echo file > d; rm link; ln -s d link; mkdir new; echo n > new/n; echo t > s/t';

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('another copy of the directory becomes what the fork shows; the fork and its own directory stay', async () => {
    const project = stage.project(sample);
    const other = stage.project(sample);
    const twin = stage.project(`${sample}; ${edits}`);
    await stage.inside(project, edits);
    const before = snapshot(project);
    const pending = (await stage.json(project, ['diff']))['changes'];
    const applied = await stage.json(project, ['apply', '--to', other]);
    assert.equal(applied['done'], true);
    assert.deepEqual(snapshot(other, { times: false }), snapshot(twin, { times: false }));
    assert.deepEqual(snapshot(project), before);
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], pending);
    const again = await stage.json(project, ['apply', '--to', other]);
    assert.deepEqual([again['done'], again['applied'], again['conflicts']], [true, [], []]);
  });

  test('what the other directory has otherwise is a conflict: nothing is written until a side is chosen', async () => {
    const project = stage.project(sample);
    await stage.inside(project, edits);
    const other = stage.project(`${sample}; echo theirs > a; echo mine > d/mine; rm -r s`);
    const before = snapshot(other);
    const refused = await stage.json(project, ['apply', '--to', other], 1);
    assert.deepEqual([...(refused['conflicts'] as string[])].sort(), ['a', 'd']);
    assert.deepEqual(snapshot(other), before);
    const dry = await stage.json(project, ['apply', '--dry-run', '--conflicts', 'theirs', '--to', other], 3);
    assert.equal(dry['done'], false);
    assert.deepEqual(snapshot(other), before);
    const taken = await stage.json(project, ['apply', '--conflicts', 'theirs', '--to', other], 3);
    assert.equal(taken['done'], true);
    assert.deepEqual(
      (taken['problems'] as { path: string; code: string }[]).map(({ path, code }) => [path, code]),
      [['d', 'ENOTEMPTY']],
      'files the fork never saw are nobody’s to delete',
    );
    assert.equal(stage.shell(other, 'cat a s/t; find d | sort; readlink link'), 'b\nt\nd\nd/mine\nd\n');
  });

  test('a link in the other directory is not followed', async () => {
    const project = stage.project('mkdir s; echo 0 > s/x');
    await stage.inside(project, 'echo 1 > s/x; echo 1 > s/y');
    const outside = stage.project('echo 0 > x');
    const other = stage.project('true');
    symlinkSync(outside, join(other, 's'));
    await stage.json(project, ['apply', '--to', other], 1);
    assert.equal(stage.shell(outside, 'cat *'), '0\n');
    await stage.json(project, ['apply', '--conflicts', 'theirs', '--to', other]);
    assert.equal(stage.shell(outside, 'cat *; ls'), '0\nx\n');
    assert.equal(stage.shell(other, 'cat s/x s/y'), '1\n1\n');
  });

  test('the store, the fork’s own directory and what is no directory are refused with what was expected', async () => {
    const project = stage.project('echo a > a');
    await stage.inside(project, 'echo b > a; echo x > .envrc');
    for (const [to, code] of [
      [project, 'EINVAL'],
      [stage.store, 'EINVAL'],
      [stage.directory, 'EINVAL'],
      [join(project, 'a'), 'ENOTDIR'],
      [join(project, 'nowhere'), 'ENOENT'],
    ] as const) {
      const { code: exitCode, stderr, stdout } = await stage.ctx(project, ['apply', '--to', to]);
      assert.notEqual(exitCode, 0);
      assert.match(`${stdout}${stderr}`, new RegExp(`\\(${code}\\)`), to);
    }
    const other = stage.project('echo a > a');
    const applied = await stage.json(project, ['apply', '--to', other], 3);
    assert.deepEqual(applied['heldBack'], ['.envrc']);
    assert.equal(stage.shell(other, 'cat a; ls -A'), 'b\na\n');
  });
});
