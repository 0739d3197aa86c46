/**
 * pivot_root moves the processes that exist at that time. A command's process that was just being forked would keep the
 * host's root: it happened, in about one launch of a hundred on a busy machine. Many launches, side by side, all by one
 * process of each user: what is tried is the jail's start, and to start Node for each costs ten times as much.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const main = fileURLToPath(new URL('launch-race/main.js', import.meta.url));
const launches = process.env['CTX_SOAK'] === '1' ? 400 : 20;
const sideBySide = 4;

forEachUser((user) => {
  const stage = useStage(user);

  test(`no launch of ${sideBySide * launches} leaves a command in the host's root`, async () => {
    const projects = Array.from({ length: sideBySide }, () => stage.project('echo secret > ../secret'));
    for (const project of projects) stage.shell(project, 'test -e ../secret');
    const argv = [process.execPath, main, String(launches), stage.store, ...projects];
    const { code, stdout, stderr } = await stage.start('/', argv, { timeoutSeconds: 1200 }).finished;
    assert.equal(code, 0, stdout + stderr);
  });
});
