/** A process that a command of a kept jail leaves, against the limits of the fork, while no command runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inKeptJail, isAlive } from '../support/kept-jail.js';
import { until } from '../support/process.js';
import { recordsOf } from '../support/record.js';
import { useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

forEitherUser((user) => {
  const stage = useStage(user);
  const writers: readonly (readonly [string, readonly string[], string])[] = [
    ['disk', ['--disk', '20M'], 'while :; do head -c 1000000 /dev/zero >> big; done'],
    ['files', ['--files', '200'], 'i=0; while :; do i=$((i+1)); : > f$i; done'],
  ];
  for (const [what, options, script] of writers) {
    test(`${what}: what goes on writing between two commands is ended`, () =>
      inKeptJail(
        stage,
        async ({ project, pid }) => {
          await stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', `setsid sh -c '${script}' > /dev/null 2>&1 &`]);
          await until(() => !isAlive(pid), 'the kept jail has ended');
          const kilobytes = Number(stage.shell(stage.store, 'du -sk vault | cut -f1'));
          assert.ok(kilobytes < 200_000, `${kilobytes} kB`);
          assert.ok(recordsOf(stage.store).some(({ type, status }) => type === 'limit' && status === 'failed'));
        },
        { options },
      ));
  }
});
