/** Directories that were there before the command are renamed as on any filesystem: compared call by call with the host's own. */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkout } from '../support/program.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser, isRoot } from '../support/users.js';

const script = join(checkout, 'test', 'everyday', 'renames.py');

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('every way to rename a directory gives what it gives outside: errors, trees, links, modes, times, attributes', async () => {
    const [outside, inside] = [stage.project(), stage.project()];
    copyFileSync(script, join(inside, 'renames.py'));
    for (const project of [outside, inside]) stage.shell(project, `mkdir cases; python3 ${script} make cases`);
    // Root's command has no capability: neither has what it is compared with.
    const plain = user.uid === 0 && isRoot ? 'setpriv --bounding-set -all ' : '';
    const expected = stage.shell(outside, `${plain}python3 ${script} run cases`);
    const envelope = await stage.exec(inside, ['python3', 'renames.py', 'run', 'cases']);
    assert.deepEqual(envelope.stdout?.text.split('\n'), expected.split('\n'), envelope.stderr?.text);
    assert.ok(envelope.resources.copiedForRename.directories > 20);
    assert.ok(envelope.resources.copiedForRename.files > 20);
    // Nothing of the work is left.
    assert.equal(stage.shell(inside, `${stage.program} diff --names | grep -c ctx-rename || true`), '0\n');
  });

  test('git, node, perl and mv rename a directory, and it comes home as a rename', async () => {
    const project = stage.project(
      'git init -q .; git config user.email a@b; git config user.name n; mkdir -p a/sub b c d; for n in a/x a/sub/y b/x c/x d/x; do echo $n >$n; done; git add .; git commit -qm x',
    );
    const status = await stage.inside(
      project,
      `git mv a a2 && node -e "fs.renameSync('b','b2')" && perl -e 'rename "c","c2" or die $!' && mv -nT d d2 && git add . && git status --short`,
    );
    assert.equal(status, 'R  a/sub/y -> a2/sub/y\nR  a/x -> a2/x\nR  b/x -> b2/x\nR  c/x -> c2/x\nR  d/x -> d2/x\n');
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'git status --short'), status);
    assert.equal(stage.shell(project, 'ls'), 'a2\nb2\nc2\nd2\n');
  });

  test('what a command left running in a kept jail still renames files and directories after the command has ended', async () => {
    const project = stage.project('mkdir d; echo x >d/x; echo y >y');
    await stage.ctx(project, ['jail', 'start']);
    const late = '(while ! test -e go; do sleep 0.05; done; mv y z; mv -T d e; touch done) >/dev/null 2>&1 &';
    await stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', late]);
    const { stdout, stderr } = await stage.ctx(project, [
      'jail',
      'exec',
      '--',
      'sh',
      '-c',
      'touch go; while ! test -e done; do sleep 0.05; done; ls; cat e/x',
    ]);
    await stage.ctx(project, ['jail', 'stop']);
    assert.equal(stdout, 'done\ne\ngo\nz\nx\n', stderr);
  });
});
