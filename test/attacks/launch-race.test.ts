/**
 * pivot_root moves the processes that exist at that time. A command's process that was just being forked would keep the
 * host's root: it happened, in about one launch of a hundred on a busy machine. Many launches, side by side.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const launches = process.env['CTX_SOAK'] === '1' ? 400 : 15;
const sideBySide = 4;

forEachUser(
  (user) => {
    const stage = useStage(user);
    for (let lane = 0; lane < sideBySide; lane += 1) {
      test(`no launch ever leaves a command in the host's root (lane ${lane})`, async () => {
        const project = stage.project('echo secret > ../secret');
        stage.shell(project, 'test -e ../secret');
        for (let launch = 0; launch < launches; launch += 1) {
          const { code, stderr } = await stage.ctx(project, ['exec', '--', 'test', '!', '-e', '../secret']);
          assert.equal(code, 0, `launch ${launch}: ${stderr}`);
        }
      });
    }
  },
  { concurrency: sideBySide },
);
