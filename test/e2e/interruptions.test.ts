/** However a command ends, or its ctx: everything inside is dead soon, the lock is free, and the next command works. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesMounting } from '../support/leftovers.js';
import { type Running, until } from '../support/process.js';
import { snapshot } from '../support/snapshot.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const skip = spawnSync('strace', ['-V']).status === 0 ? false : 'strace is not installed';

/** Announces itself and works on; stops only when it is made to. */
const working = 'echo started; while :; do sleep 0.05; done';

/** Everything that a terminal would signal: the whole process group. */
function toGroup(running: Running, signal: NodeJS.Signals): void {
  if (running.child.exitCode === null && running.child.signalCode === null) process.kill(-running.pid, signal);
}

async function nothingRuns(project: string): Promise<void> {
  await until(() => processesMounting(project).length === 0, `nothing runs in ${project}`);
}

async function worksAgain(stage: Stage, project: string): Promise<void> {
  assert.equal(await stage.inside(project, 'echo again'), 'again\n');
}

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);
  const startIn = (project: string, script: string, ...options: readonly string[]) =>
    stage.startCtx(project, ['exec', ...options, '--', 'sh', '-c', script], { detached: true });

  turn.test('Ctrl-C reaches the command, which may tidy up, and gives 130', async () => {
    const project = stage.project();
    const running = startIn(project, `trap 'echo tidied > tidied; exit 130' INT; ${working}`);
    await running.printed('started');
    toGroup(running, 'SIGINT');
    assert.equal((await running.finished).code, 130);
    await nothingRuns(project);
    assert.equal(await stage.inside(project, 'cat tidied'), 'tidied\n');
  });

  turn.test('Ctrl-C ends a command that does not care, and the report still comes', async () => {
    const project = stage.project();
    const running = startIn(project, `echo x > x; ${working}`, '--report', 'always');
    await running.printed('started');
    toGroup(running, 'SIGINT');
    const { code, stderr } = await running.finished;
    assert.equal(code, 130);
    assert.match(stderr, /killed by SIGINT.*\n {2}A x/s);
    await nothingRuns(project);
  });

  turn.test('a command that ignores Ctrl-C is told by the second and killed by the third', async () => {
    const project = stage.project();
    const running = startIn(project, `trap '' INT TERM HUP; ${working}`);
    await running.printed('started');
    // On a busy machine two that follow each other closely arrive as one: again, until it is over.
    let isOver = false;
    const finished = running.finished.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      toGroup(running, 'SIGINT');
      await Promise.race([finished, sleep(150)]);
    }
    assert.equal((await finished).code, 137);
    await nothingRuns(project);
    await worksAgain(stage, project);
  });

  turn.test('SIGTERM to ctx ends the command', async () => {
    const project = stage.project();
    const running = startIn(project, working);
    await running.printed('started');
    running.child.kill('SIGTERM');
    assert.equal((await running.finished).code, 143);
    await nothingRuns(project);
  });

  turn.test('kill -9 of ctx ends everything inside and frees the lock', async () => {
    const project = stage.project();
    const running = startIn(project, `echo x > x; (setsid sh -c 'trap "" TERM; ${working}' &) ; ${working}`);
    await running.printed('started');
    running.child.kill('SIGKILL');
    await nothingRuns(project);
    await worksAgain(stage, project);
    assert.equal(await stage.inside(project, 'ls'), 'x\n');
  });

  turn.test(
    'Ctrl-C during the import leaves nothing behind but an empty place, and the next command imports',
    async () => {
      const project = stage.project('i=0; while [ $i -lt 1500 ]; do echo $i > f$i; i=$((i+1)); done');
      const before = snapshot(project);
      for (const delay of [60, 180]) {
        const data = join(stage.directory, `interrupted-${delay}`);
        const running = stage.startCtx(project, ['exec', '--', 'true'], { detached: true, env: { CTX_DATA: data } });
        await sleep(delay);
        toGroup(running, 'SIGINT');
        const { code, signal, stderr } = await running.finished;
        assert.ok(code === 130 || signal === 'SIGINT' || code === 0, `${code} ${signal} ${stderr}`);
        if (existsSync(join(data, 'trash'))) assert.deepEqual(readdirSync(join(data, 'trash')), []);
        const next = await stage.ctx(project, ['exec', '--', 'sh', '-c', 'ls | wc -l'], { env: { CTX_DATA: data } });
        assert.equal(next.stdout.trim(), '1500');
      }
      assert.deepEqual(snapshot(project), before);
    },
  );

  for (const signal of ['SIGINT', 'SIGTSTP']) {
    test(`${signal} as the command leaves the job of its ctx ends and stops nothing`, { skip }, async () => {
      const inject = ['-e', 'trace=setsid', '-e', `inject=setsid:signal=${signal}`];
      const argv = ['strace', '-f', '-o', join(stage.directory, 'calls'), ...inject, stage.program];
      const running = stage.start(stage.project(), [...argv, 'exec', '--', 'echo', 'ran']);
      const { code, stdout, stderr } = await running.finished;
      assert.deepEqual([code, stdout], [0, 'ran\n'], stderr);
    });
  }

  test('SIGINT while the jail’s program waits for its plan is passed on to the command', { skip }, async () => {
    // The first is of the process that becomes it, the second its own.
    const inject = ['-e', 'trace=close_range', '-e', 'inject=close_range:signal=SIGINT:when=2'];
    const argv = ['strace', '-f', '-o', join(stage.directory, 'calls'), ...inject, stage.program];
    const running = stage.start(stage.project(), [...argv, 'exec', '--', 'sleep', '60'], {
      env: { CTX_KEEPER: 'off' },
    });
    const { code, stdout, stderr } = await running.finished;
    assert.deepEqual([code ?? 130, stdout], [130, ''], stderr);
    assert.doesNotMatch(stderr, /without saying/);
  });

  turn.test('a time-out ends the command, keeps its output and says so', async () => {
    const project = stage.project();
    const { stdout } = await stage.ctx(project, [
      'exec',
      '--json',
      '--timeout',
      '3s',
      '--',
      'sh',
      '-c',
      `echo x > x; ${working}`,
    ]);
    const envelope = JSON.parse(stdout) as {
      timedOut: boolean;
      stdout: { text: string };
      signal: string;
      changes: { path: string }[];
    };
    assert.deepEqual([envelope.timedOut, envelope.stdout.text, envelope.signal], [true, 'started\n', 'SIGTERM']);
    assert.deepEqual(
      envelope.changes.map(({ path }) => path),
      ['x'],
    );
    await nothingRuns(project);
  });

  turn.test('a time-out kills what does not listen', async () => {
    const project = stage.project();
    const { code } = await stage.ctx(project, [
      'exec',
      '--timeout',
      '3s',
      '--',
      'sh',
      '-c',
      `trap '' TERM; ${working}`,
    ]);
    assert.equal(code, 137);
    await nothingRuns(project);
  });

  turn.test(
    'while one command runs another that wants the fork alone is refused with 69, or waits when told to',
    async () => {
      const project = stage.project();
      const first = startIn(project, `trap 'echo first > order; exit 0' TERM; ${working}`);
      await first.printed('started');
      const refused = await stage.ctx(project, ['exec', '--alone', '--', 'true']);
      assert.equal(refused.code, 69);
      assert.match(refused.stderr, /process \d+ is using it: .*\(EBUSY\)\n {2}try: wait for it to end, or pass --wait/);
      for (const verb of ['apply', 'drop']) assert.equal((await stage.ctx(project, [verb])).code, 69, verb);
      const second = stage.startCtx(project, ['exec', '--wait', '--', 'cat', 'order']);
      await sleep(500);
      first.child.kill('SIGTERM');
      assert.equal((await first.finished).code, 0);
      const { code, stdout } = await second.finished;
      assert.deepEqual([code, stdout], [0, 'first\n']);
    },
  );

  turn.test('a signal ends a ctx that waits for its turn', async () => {
    const project = stage.project();
    const first = startIn(project, working);
    await first.printed('started');
    const second = startIn(project, 'echo second', '--wait');
    await sleep(600);
    // To ctx alone, as a supervisor would: no one else can end its wait.
    second.child.kill('SIGINT');
    const ended = await Promise.race([second.finished, sleep(30_000, 'still waiting')]);
    first.child.kill('SIGKILL');
    const { code, signal, stdout } = await second.finished;
    assert.notEqual(ended, 'still waiting');
    // By the signal itself where it came before Node was up.
    assert.ok(code === 130 || signal === 'SIGINT', `${code} ${signal}`);
    assert.equal(stdout, '');
  });

  turn.test('a command whose reader goes away ends, as in a shell', async () => {
    const project = stage.project();
    assert.equal(
      stage.shell(project, `${stage.program} exec -- sh -c 'yes; echo "ended $?" >&2' 2>/dev/null | head -1`),
      'y\n',
    );
    await nothingRuns(project);
    await worksAgain(stage, project);
  });

  turn.test('a command that ignores the end of its terminal is killed, and the fork is free', async () => {
    const project = stage.project();
    const running = startIn(project, `trap '' HUP; ${working}`);
    await running.printed('started');
    running.child.kill('SIGHUP');
    assert.equal((await running.finished).code, 137);
    await nothingRuns(project);
    await worksAgain(stage, project);
  });

  turn.test('commands that leave background processes do not hold the report back', async () => {
    const project = stage.project();
    const envelope = await stage.exec(project, ['sh', '-c', 'sleep 100 & (setsid sleep 100 &); echo done']);
    assert.equal(envelope.stdout?.text, 'done\n');
    await nothingRuns(project);
  });
});
