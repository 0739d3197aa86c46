/** A kept jail and a hook that one of them keeps waiting: no tool call gets through by it. */
import assert from 'node:assert/strict';
import { inKeptJail, isAlive } from '../support/kept-jail.js';
import { useStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

forUsersInTurn((user, turn) => {
  const stage = useStage(user);
  // What is done to the process that keeps its jail is not done to those of the others.
  const [apart, ended] = [useStage(user), useStage(user)];
  const question = (project: string) => JSON.stringify({ version: 1, cwd: project, tool: 'read', paths: ['x'] });

  turn.test('a kept jail whose process is held does not let a call through: the hook ends, and not well', () =>
    inKeptJail(apart, async ({ project, keeper }) => {
      process.kill(keeper, 'SIGSTOP');
      try {
        const { code, signal, stdout } = await apart.ctx(project, ['hook', 'json'], { input: question(project) });
        assert.deepEqual([code, signal, stdout], [null, 'SIGALRM', '']);
        // Who wants it to end is not kept waiting either.
        const stop = await apart.ctx(project, ['jail', 'stop']);
        assert.equal(stop.code, 69);
        assert.match(stop.stderr, new RegExp(`process ${keeper}, which keeps the jail, is stopped`));
      } finally {
        process.kill(keeper, 'SIGCONT');
      }
      assert.equal((await apart.ctx(project, ['why', 'read', '.'])).code, 0);
    }),
  );

  turn.test('a hook whose kept jail ends in the middle blocks the call', () =>
    inKeptJail(ended, async ({ project, keeper }) => {
      const running = ended.startCtx(project, ['hook', 'claude-code'], { stdio: ['pipe', 'pipe', 'pipe'] });
      // More than the kernel holds for whoever is to read it: the kept jail has begun to answer.
      await new Promise((resolve) => running.child.stdin?.write(`{${' '.repeat(2 ** 21)}`, resolve));
      process.kill(keeper, 'SIGKILL');
      const { code, stdout, stderr } = await running.finished;
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, /the kept jail ended before it answered/);
    }),
  );

  turn.test('a kept jail holds no descriptor of whoever started it', () => {
    const project = stage.project();
    const ctx = stage.program;
    // By a shell that hands on descriptors of any number.
    const start = `exec 30> ../held-lock; flock 30; ${ctx} jail start`;
    stage.shell(
      project,
      `bash -c '${start}'; free=0; flock -n ../held-lock true || free=1; ${ctx} jail stop; exit $free`,
    );
  });

  turn.test('a message that never ends is denied, and the kept jail lives', () =>
    inKeptJail(stage, async ({ project, pid }) => {
      const running = stage.startCtx(project, ['hook', 'json'], { stdio: ['pipe', 'pipe', 'pipe'] });
      running.child.stdin?.write('{"version":1,');
      const { code, stdout } = await running.finished;
      assert.equal(code, 137);
      assert.match(stdout, /"deny"/);
      assert.ok(isAlive(pid));
      assert.match((await stage.ctx(project, ['hook', 'json'], { input: question(project) })).stdout, /"allow"/);
    }),
  );
});
