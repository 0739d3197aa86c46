/** Verbs that only look wait for no command, and show what it has written so far. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('status, diff, checkpoints, inspect, why and blame answer while a command runs', async () => {
    const project = stage.project('echo base > a; echo base > b');
    await stage.inside(project, 'echo first > first');
    const script = 'echo here > live; rm b; echo changed > a; echo ready; until test -e stop; do sleep 0.02; done';
    const running = stage.startCtx(project, ['exec', '--timeout', '60s', '--', 'sh', '-c', script]);
    try {
      await running.printed('ready');
      const status = (await stage.json(project, ['status'])) as { changes: number; running: { command: string }[] };
      assert.equal(status.changes, 4);
      assert.match(status.running[0]?.command ?? '', /^sh -c echo here/);
      assert.match((await stage.ctx(project, ['status'])).stdout, /running {3}sh -c .*\(process \d+, since 2/);
      const diff = await stage.ctx(project, ['diff']);
      assert.match(diff.stdout, /\+here\n/);
      assert.match(diff.stdout, /-base\n\+changed\n/);
      assert.match(diff.stderr, /still running: sh -c .*its changes may be incomplete/);
      const { stdout: names, stderr } = await stage.ctx(project, ['diff', '--names', '--since', '2']);
      assert.match(stderr, /still running: sh -c .*its changes may be incomplete/);
      assert.match(names, /A live/);
      assert.doesNotMatch(names, /first/);
      const { checkpoints } = (await stage.json(project, ['checkpoint', 'list'])) as { checkpoints: unknown[] };
      assert.equal(checkpoints.length, 2);
      for (const words of [['checkpoint', 'info', '2'], ['inspect'], ['why', 'read', 'a'], ['blame', 'first']]) {
        const { code, stderr } = await stage.ctx(project, words);
        assert.deepEqual([words, code, stderr], [words, 0, '']);
      }
    } finally {
      running.child.kill('SIGTERM');
      await running.finished;
    }
    const ended = (await stage.json(project, ['status'])) as { running: unknown[] };
    assert.deepEqual(ended.running, []);
  });

  test('a tree that never stands still can be looked at, too', async () => {
    const project = stage.project('mkdir d; echo base > d/f');
    const busy = `echo ready; while :; do mkdir -p d/x/y; echo 1 > d/x/y/z; echo 2 > d/f; mv d/f d/g; rm -r d/x
      ln -s /etc d/x; rm d/x; mkfifo d/f; rm d/f; mv d/g d/f; done`;
    const running = stage.startCtx(project, ['exec', '--timeout', '60s', '--', 'sh', '-c', busy]);
    try {
      await running.printed('ready');
      for (let look = 0; look < 5; look++) {
        for (const words of [['status'], ['diff']]) {
          const { code, stderr } = await stage.ctx(project, words);
          assert.equal(code, 0, stderr);
        }
      }
    } finally {
      running.child.kill('SIGTERM');
      await running.finished;
    }
  });
});
