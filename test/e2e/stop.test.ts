/** `ctx ps` lists everything of ours that stays, and `ctx stop` ends it: jails, commands, mounts, servers. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Stopping } from '../../src/sdk/operator/stopping.js';
import { forEachMountUser, isMounted } from '../support/mount-users.js';
import { parseJson, useStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

/** Beside these, what a verb leaves behind: trash that is freed, and a keeper where tests run with them. */
const isWork = ({ kind }: Stopping) => kind !== 'freeing' && kind !== 'keeper';

forUsersInTurn(
  (user, turn) => {
    const stage = useStage(user);
    const running = async () => {
      const { stdout } = await stage.ctx(stage.directory, ['ps', '--json']);
      return (parseJson(stdout) as { running: Stopping[] }).running.filter(isWork);
    };
    const kinds = async () => (await running()).map(({ kind }) => kind).sort();
    const stop = async (...words: readonly string[]) => {
      const { stdout, stderr } = await stage.ctx(stage.directory, ['stop', '--json', ...words]);
      return (parseJson(stdout, stderr) as { stopped: Stopping[] }).stopped.filter(isWork);
    };

    turn.test('everything ends, also what ignores signals, and what a fork holds stays', async () => {
      const [kept, busy, served] = [stage.project(), stage.project(), stage.project()];
      assert.equal((await stage.ctx(kept, ['jail', 'start'])).code, 0);
      const script = 'echo made > file; trap "" TERM INT HUP; echo ready; while :; do sleep 0.1; done';
      const deaf = stage.startCtx(busy, ['exec', '--', 'sh', '-c', script]);
      await deaf.printed('ready');
      const mcp = stage.startCtx(served, ['mcp'], { stdio: 'pipe' });
      for (let tries = 0; !(await kinds()).includes('MCP server') && tries < 50; tries++);
      assert.deepEqual(await kinds(), ['MCP server', 'command', 'kept jail']);
      const stopped = await stop('--all');
      assert.deepEqual(stopped.map(({ kind, problem }) => [kind, problem]).sort(), [
        ['MCP server', null],
        ['command', null],
        ['kept jail', null],
      ]);
      assert.deepEqual(await kinds(), []);
      assert.notEqual((await deaf.finished).code, 0);
      await mcp.finished;
      assert.match((await stage.ctx(busy, ['diff'])).stdout, /^\+made$/m);
      const last = await stage.ctx(stage.directory, ['stop', '--all']);
      assert.match(last.stdout, /^(?:nothing of ctx is running|\d+ {2}keeper, .*: ended)\n$/);
    });

    turn.test('what works on a directory itself, or waits for a person, is listed and ends, too', async () => {
      const [live, asked] = [stage.project(), stage.project()];
      const working = stage.startCtx(live, ['exec', '--live', '--', 'sh', '-c', 'echo up; sleep 60']);
      await working.printed('up');
      assert.equal((await stage.ctx(asked, ['rules', 'add', 'require_approval', '--', 'touch'])).code, 0);
      const waiting = stage.startCtx(asked, ['exec', '--', 'touch', 'made']);
      await waiting.printed('asks for approval');
      const found = (await running()).map(({ pid, origin, what }) => [pid, origin, what]);
      assert.deepEqual(
        found.sort((one, other) => (one[1] === live ? -1 : other[1] === live ? 1 : 0)),
        [
          [working.pid, live, 'sh -c echo up; sleep 60'],
          [waiting.pid, null, 'waits: ctx exec -- touch made'],
        ],
      );
      const listed = await stage.ctx(stage.directory, ['ps']);
      assert.ok(listed.stdout.includes(`command  ${live}, the directory itself: sh -c echo up`), listed.stdout);
      assert.deepEqual(
        (await stop('--all')).map(({ kind, problem }) => [kind, problem]),
        [
          ['command', null],
          ['command', null],
        ],
      );
      for (const { finished } of [working, waiting]) assert.notEqual((await finished).code, 0);
      assert.deepEqual(await kinds(), []);
    });

    turn.test('one is ended by its number; what is none of ours is refused before anything ends', async () => {
      const [one, other] = [stage.project(), stage.project()];
      for (const project of [one, other]) assert.equal((await stage.ctx(project, ['jail', 'start'])).code, 0);
      try {
        const first = (await running()).find(({ origin }) => origin === one);
        assert.ok(first !== undefined);
        const refused = await stage.ctx(one, ['stop', `${first.pid}`, '1']);
        assert.match(refused.stderr, /process 1 is not one that ctx stop can end .*ENOENT/);
        assert.equal((await running()).length, 2);
        assert.deepEqual(
          (await stop(`${first.pid}`)).map(({ pid, problem }) => [pid, problem]),
          [[first.pid, null]],
        );
        assert.deepEqual(
          (await running()).map(({ origin }) => origin),
          [other],
        );
        for (const words of [[], ['--all', '1'], ['x']])
          assert.equal((await stage.ctx(one, ['stop', ...words])).code, 2);
      } finally {
        await stage.ctx(other, ['stop', '--all']);
      }
    });

    turn.test('uninstall ends everything, deletes nothing and says what stays', async () => {
      const project = stage.project();
      assert.equal((await stage.ctx(project, ['jail', 'start'])).code, 0);
      const { code, stdout } = await stage.ctx(project, ['uninstall']);
      assert.equal(code, 0);
      assert.match(stdout, /kept jail of .*: ended\n/);
      assert.ok(stdout.includes(`  ${stage.store}  the store:`), stdout);
      assert.match(stdout, /the program itself: (?:sudo )?rm -r/);
      assert.deepEqual(await kinds(), []);
      assert.ok(existsSync(join(stage.store, 'meta.json')));
    });
  },
  { concurrency: 1 },
);

forEachMountUser('what is mounted', (user) => {
  const stage = useStage(user);

  test('is listed and taken away, also where a program is in it', async () => {
    const [project, tree, fork] = [
      stage.project('echo a > a'),
      stage.makeDirectory('tree'),
      stage.makeDirectory('fork'),
    ];
    await stage.exec(project, ['touch', 'b']);
    for (const words of [
      ['vfs', 'mount', 'memory:', tree],
      ['fork', 'mount', 'main', fork],
    ]) {
      const { code, stderr } = await stage.ctx(project, words);
      assert.equal(code, 0, stderr);
    }
    const inside = stage.start('/', ['sh', '-c', `cd ${tree} && echo there && exec sleep 60`]);
    await inside.printed('there');
    try {
      const listed = await stage.ctx(project, ['ps']);
      assert.match(listed.stdout, new RegExp(`tree mount .*${tree}[\\s\\S]*fork mount .*${fork}`));
      const { code, stdout, stderr } = await stage.ctx(project, ['stop', '--all']);
      assert.equal(code, 0, `${stdout}${stderr}`);
      assert.deepEqual([isMounted(tree), isMounted(fork)], [false, false]);
    } finally {
      inside.child.kill('SIGKILL');
    }
  });
});
