/** Kept jails: many commands in one kept jail, what they leave running, and what is left when they end. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { envelopeOf, inKeptJail, isAlive } from '../support/kept-jail.js';
import { processesMounting } from '../support/leftovers.js';
import { until } from '../support/process.js';
import { copyOfProduct } from '../support/program.js';
import { recordsOf } from '../support/record.js';
import { useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);

  turn.test('commands run one after the other in one jail, each with its own report', () =>
    inKeptJail(stage, async ({ project }) => {
      const first = await envelopeOf(
        stage,
        project,
        'echo one > a; cat /proc/sys/kernel/random/boot_id > /dev/null; readlink /proc/self/ns/pid',
      );
      const second = await envelopeOf(stage, project, 'echo two >> a; readlink /proc/self/ns/pid; exit 3');
      assert.equal(first.stdout?.text, second.stdout?.text, 'one pid namespace');
      assert.deepEqual(
        [first, second].map(({ exitCode, changes }) => [
          exitCode,
          ...changes.map(({ kind, path }) => `${kind} ${path}`),
        ]),
        [
          [0, 'added a'],
          [3, 'modified a'],
        ],
      );
      assert.equal(second.pending, 1);
    }),
  );

  turn.test('ctx exec joins it where nothing else is asked for, and makes a jail of its own where something is', () =>
    inKeptJail(stage, async ({ project }) => {
      const namespace = ['sh', '-c', 'readlink /proc/self/ns/pid'];
      const { stdout: kept } = await stage.ctx(project, ['jail', 'exec', '--', ...namespace]);
      assert.equal((await stage.ctx(project, ['exec', '--', ...namespace])).stdout, kept);
      assert.equal((await stage.ctx(project, ['session', 'exec', '--', ...namespace])).stdout, kept, 'its older name');
      const alone = await stage.ctx(project, ['exec', '--read', '/usr', '--', ...namespace]);
      assert.match(alone.stdout, /^pid:/, alone.stderr);
      assert.notEqual(alone.stdout, kept);
      // Other agents and rules than the kept jail's process has: those of the caller hold.
      const CTX_ROOT = join(stage.directory, 'other-rules');
      const judged = await stage.ctx(project, ['rules', 'add', 'deny', '--', 'sh'], { env: { CTX_ROOT } });
      assert.equal(judged.code, 0, judged.stderr);
      const denied = await stage.ctx(project, ['exec', '--', ...namespace], { env: { CTX_ROOT } });
      assert.deepEqual([denied.code, denied.stdout], [13, ''], denied.stderr);
    }),
  );

  turn.test('of several that want one at the same time the first starts it, and all of them run in it', async () => {
    const project = stage.project();
    const words = ['exec', '--keep', '--', 'sh', '-c', 'readlink /proc/self/ns/pid'];
    try {
      const ran = await Promise.all([1, 2, 3, 4].map(() => stage.ctx(project, words)));
      const told = ran.map(({ stderr }) => stderr).join('');
      assert.deepEqual(
        [ran.map(({ code }) => code), new Set(ran.map(({ stdout }) => stdout)).size],
        [[0, 0, 0, 0], 1],
        told,
      );
    } finally {
      await stage.ctx(project, ['jail', 'stop']);
    }
  });

  turn.test(
    'another build of ctx than the one that keeps a kept jail does not ask it, and says how to renew it',
    async () => {
      const product = copyOfProduct(join(stage.directory, 'rebuilt'));
      const ctx = (...words: readonly string[]) => stage.start(project, [join(product, 'bin/ctx'), ...words]).finished;
      const project = stage.project();
      const namespace = ['--report', 'never', '--', 'readlink', '/proc/self/ns/pid'];
      assert.equal((await ctx('jail', 'start')).code, 0);
      try {
        const kept = await ctx('exec', ...namespace);
        assert.equal((await ctx('exec', ...namespace)).stdout, kept.stdout);
        const why = await ctx('why', 'read', 'x');
        // As a build puts its files into their place.
        copyFileSync(join(product, 'dist/cli/ctx.cjs'), join(product, 'new.cjs'));
        renameSync(join(product, 'new.cjs'), join(product, 'dist/cli/ctx.cjs'));
        for (const calling of [() => ctx('exec', ...namespace), () => stage.ctx(project, ['exec', ...namespace])]) {
          const { code, stdout, stderr } = await calling();
          assert.equal(code, 0, stderr);
          assert.notEqual(stdout, kept.stdout);
          assert.match(stderr, /^ctx: another build of ctx keeps the jail here.*ctx jail stop.*\n$/);
        }
        assert.deepEqual(await ctx('why', 'read', 'x'), why);
        const inIt = await ctx('jail', 'exec', '--', 'true');
        assert.match(inIt.stderr, /another build of ctx.*ESTALE/s);
        assert.equal(inIt.code, 1);
      } finally {
        assert.equal((await ctx('jail', 'stop')).code, 0);
      }
    },
  );

  const writeAndRead =
    'echo changed > file; rm file; mkdir made; chmod 600 file; cat file; echo own > ~/own && cat ~/own';

  turn.test('a kept jail may be read-only as a whole: no command of it changes the fork', () =>
    inKeptJail(
      stage,
      async ({ project }) => {
        for (const words of [
          ['jail', 'exec'],
          ['exec', '--readonly'],
        ]) {
          const { stdout, stderr } = await stage.ctx(project, [...words, '--', 'sh', '-c', writeAndRead]);
          assert.equal(stdout, 'original\nown\n', stderr);
          assert.equal(stderr.match(/Read-only file system/g)?.length, 4, stderr);
        }
        // Without the option it is not a command for that jail.
        assert.equal(
          (await stage.ctx(project, ['exec', '--', 'sh', '-c', 'echo new > file; cat file'])).stdout,
          'new\n',
        );
        assert.equal((await stage.ctx(project, ['jail', 'exec', '--', 'cat', 'file'])).stdout, 'new\n');
      },
      { script: 'echo original > file', options: ['--readonly'] },
    ),
  );

  turn.test('one command of a kept jail may be read-only, in the same jail as those before and after it', () =>
    inKeptJail(
      stage,
      async ({ project }) => {
        const run = (script: string, ...options: readonly string[]) =>
          stage.ctx(project, ['exec', ...options, '--', 'sh', '-c', script]);
        const namespace = 'readlink /proc/self/ns/pid';
        const { stdout: kept } = await run(namespace);
        assert.equal((await run(namespace, '--readonly')).stdout, kept);
        for (let round = 0; round < 2; round += 1) {
          const { stdout, stderr } = await run(writeAndRead, '--readonly');
          assert.equal(stdout, 'original\nown\n', stderr);
          assert.equal((await run('echo x > other && rm other && echo written')).stdout, 'written\n');
        }
      },
      { script: 'echo original > file' },
    ),
  );

  turn.test(
    'what runs in the background keeps the fork as it is mounted: a command that needs it otherwise has a jail of its own',
    () =>
      inKeptJail(stage, async ({ project }) => {
        const run = (script: string, ...options: readonly string[]) =>
          stage.ctx(project, ['exec', ...options, '--', 'sh', '-c', script]);
        await run('sleep 1000 & echo $! > ~/pid', '--readonly');
        const writing = await run('echo x > file');
        assert.equal(writing.code, 0, writing.stderr);
        assert.equal((await run('cat file', '--readonly')).stdout, 'x\n');
        assert.equal((await run('kill -9 $(cat ~/pid); sleep 1000 & echo $! > ~/pid', '--readonly')).code, 0);
      }),
  );

  turn.test('streams, exit codes and signals pass through the native client', () =>
    inKeptJail(stage, async ({ project }) => {
      const run = (script: string, input?: string) =>
        stage.ctx(project, ['exec', '--', 'sh', '-c', script], input === undefined ? {} : { input });
      assert.deepEqual(await run('cat; echo err >&2; exit 7', 'some input'), {
        code: 7,
        signal: null,
        stdout: 'some input',
        stderr: 'err\n',
      });
      assert.equal((await run('kill -9 $$')).code, 137);
      const full = await stage.start(project, ['sh', '-c', `${stage.program} exec -- yes > /dev/full`]).finished;
      assert.deepEqual([full.code, full.stderr], [1, 'ctx: print: write failed: No space left on device\n']);
      // To a harness only 2 stops a call.
      const hook = await stage.start(project, ['sh', '-c', `${stage.program} hook json </dev/null >/dev/full`])
        .finished;
      assert.deepEqual([hook.code, hook.stderr], [2, full.stderr]);
      const left = await stage.start(project, [
        'bash',
        '-c',
        `${stage.program} exec -- yes | head -1; echo \${PIPESTATUS}`,
      ]);
      assert.equal((await left.finished).stdout, 'y\n141\n');
      assert.equal((await run('echo err > /dev/stderr; echo out > /dev/stdout')).stdout, 'out\n');
      assert.equal((await stage.ctx(project, ['exec', '--', 'no-such-program'])).code, 127);
      stage.shell(
        project,
        `head -c 3000000 /dev/urandom > ../random; ${stage.program} exec -- cat < ../random | cmp - ../random`,
      );
      const waiting = stage.startCtx(project, [
        'exec',
        '--',
        'sh',
        '-c',
        'trap "echo asked; exit 5" INT; echo ready; while :; do sleep 0.05; done',
      ]);
      await waiting.printed('ready');
      process.kill(waiting.pid, 'SIGINT');
      const { code, stdout } = await waiting.finished;
      assert.deepEqual([code, stdout], [5, 'ready\nasked\n']);
    }),
  );

  turn.test('what a command leaves running goes on, is told of, and can be ended by a later one', () =>
    inKeptJail(stage, async ({ project }) => {
      await stage.ctx(project, ['exec', '--', 'sh', '-c', 'sleep 1000 & echo $! > pid']);
      const meanwhile = await envelopeOf(stage, project, 'kill -0 $(cat pid) && echo alive');
      assert.equal(meanwhile.stdout?.text, 'alive\n');
      assert.match(meanwhile.warnings.join(), /earlier commands are running/);
      assert.match((await stage.ctx(project, ['diff', '--names'])).stdout, /A pid/);
      assert.match((await stage.ctx(project, ['drop'])).stderr, /EBUSY/);
      const ending = await envelopeOf(
        stage,
        project,
        'kill -9 $(cat pid); while kill -0 $(cat pid) 2> /dev/null; do :; done',
      );
      assert.equal(ending.exitCode, 0, ending.stderr?.text);
      // A killed process holds its mounts until it is gone, which is shortly after.
      let warnings = ending.warnings;
      for (let asked = 0; warnings.length > 0 && asked < 100; asked += 1) {
        warnings = (await envelopeOf(stage, project, 'sleep 0.05')).warnings;
      }
      assert.deepEqual(warnings, []);
      assert.equal((await stage.ctx(project, ['diff', '--names'])).code, 0);
    }),
  );

  turn.test('the fork is free again when what ran in the background has ended', () =>
    inKeptJail(stage, async ({ project }) => {
      await stage.ctx(project, ['exec', '--', 'sh', '-c', 'echo 1 > made; until [ -e go ]; do sleep 0.05; done &']);
      assert.match((await stage.ctx(project, ['drop'])).stderr, /EBUSY/);
      await stage.ctx(project, ['exec', '--', 'touch', 'go']);
      const { code, stdout } = await stage.ctx(project, ['diff', '--names', '--wait']);
      assert.equal(code, 0);
      assert.match(stdout, /A made/);
    }),
  );

  turn.test('a rollback in it undoes the last command, and the next one sees that', () =>
    inKeptJail(
      stage,
      async ({ project }) => {
        await stage.ctx(project, ['exec', '--', 'sh', '-c', 'echo changed > file']);
        assert.equal((await stage.ctx(project, ['rollback'])).code, 0);
        assert.equal((await stage.ctx(project, ['exec', '--', 'cat', 'file'])).stdout, 'original\n');
        await stage.ctx(project, ['exec', '--', 'sh', '-c', 'echo kept > file']);
        assert.equal((await stage.ctx(project, ['apply'])).code, 0);
        assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'kept\n');
      },
      { script: 'echo original > file' },
    ),
  );

  turn.test('it ends with the process that keeps it, and everything inside with it', async () => {
    await inKeptJail(stage, async ({ project, pid }) => {
      await stage.ctx(project, ['exec', '--', 'sh', '-c', 'sleep 1000 & setsid sleep 1000 & true']);
      process.kill(pid, 'SIGKILL');
      await until(() => !isAlive(pid), 'the keeper is dead');
      await until(() => processesMounting(project).length === 0, 'nothing runs inside any more');
      assert.match((await stage.ctx(project, ['jail', 'exec', '--', 'true'])).stderr, /there is no kept jail here/);
      // The fork is whole, and another kept jail takes its place.
      assert.equal((await stage.ctx(project, ['exec', '--wait', '--', 'true'])).code, 0);
      assert.equal((await stage.ctx(project, ['jail', 'start'])).code, 0);
      assert.equal((await stage.ctx(project, ['jail', 'exec', '--', 'true'])).code, 0);
    });
  });

  turn.test('an edit of the person enters with a command soon after it', () =>
    inKeptJail(
      stage,
      async ({ project }) => {
        const shown = async () => (await stage.ctx(project, ['exec', '--', 'cat', 'file'])).stdout;
        assert.equal(await shown(), 'first\n');
        stage.shell(project, 'echo second > file');
        let seen = '';
        for (const end = Date.now() + 60_000; seen !== 'second\n' && Date.now() < end; ) seen = await shown();
        assert.equal(seen, 'second\n');
      },
      { script: 'echo first > file' },
    ),
  );

  turn.test('its beginning and its end are in the record of its agent, of the same fork', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'keeper'])).code, 0);
    await inKeptJail(stage, async () => undefined, { project, options: ['--agent', 'keeper'] });
    const [begun, ended, ...more] = recordsOf(stage.store).filter(
      ({ type, agent }) => type === 'jail' && agent === 'keeper',
    );
    assert.deepEqual([begun?.status, ended?.status, more], ['begin', 'ok', []]);
    assert.match(begun?.object ?? '', /^fork\/[0-9a-f]{16}\/main$/);
    assert.deepEqual([ended?.object, ended?.facts], [begun?.object, begun?.facts]);
  });

  turn.test('runs nothing more where what its agent may do has changed meanwhile, for more or for less', async () => {
    const project = stage.project('echo one > file');
    const agent = (...words: readonly string[]) => stage.ctx(project, ['agent', ...words]);
    assert.equal((await agent('new', 'changing')).code, 0);
    assert.equal((await agent('grant', 'changing', 'read', '/usr/share')).code, 0);
    const changes = [
      ['revoke', 'changing', 'read', '/usr/share'],
      ['grant', 'changing', 'tool:other', 'execute'],
    ];
    for (const change of changes) {
      await inKeptJail(
        stage,
        async () => {
          const exec = () => stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', 'echo ran >> file']);
          assert.equal((await exec()).code, 0);
          assert.equal((await agent(...change)).code, 0, change.join(' '));
          const { code, stderr } = await exec();
          assert.match(stderr, /what its agent may do has changed since it started \(ESTALE\)/, change.join(' '));
          assert.notEqual(code, 0);
        },
        { project, options: ['--agent', 'changing'] },
      );
    }
    const { stdout } = await stage.ctx(project, ['exec', '--report', 'never', '--', 'cat', 'file']);
    assert.equal(stdout, 'one\nran\nran\n');
  });

  turn.test('it keeps no descriptor of the program that started it: a lock that was held there is free', async () => {
    const project = stage.project();
    const script = 'exec 7>lock; flock 7; "$0" jail start; flock -n lock true; echo $?';
    const { stdout } = await stage.start(project, ['/bin/sh', '-c', script, stage.program]).finished;
    assert.match(stdout, /\n1\n$/, 'held while its holder lives');
    assert.equal(stage.shell(project, 'flock -n lock true; echo $?'), '0\n');
    assert.equal((await stage.ctx(project, ['jail', 'stop'])).code, 0);
  });

  turn.test('it ends when nobody asks anything for as long as was said', async () => {
    await inKeptJail(
      stage,
      async ({ pid }) => {
        await until(() => !isAlive(pid), 'the idle kept jail has ended');
      },
      { options: ['--idle', '300ms'] },
    );
  });

  turn.test('a second one on the same fork is refused, one on another fork is not', () =>
    inKeptJail(stage, async ({ project }) => {
      const second = await stage.ctx(project, ['jail', 'start']);
      assert.match(second.stderr, /this fork has a kept jail already/);
      assert.equal((await stage.ctx(project, ['fork', 'create', 'other'])).code, 0);
      const other = await stage.ctx(project, ['jail', 'start', '--fork', 'other']);
      assert.equal(other.code, 0, other.stderr);
      await stage.ctx(project, ['jail', 'exec', '--fork', 'other', '--', 'sh', '-c', 'echo 1 > there']);
      assert.equal((await stage.ctx(project, ['exec', '--', 'ls'])).stdout, '');
      assert.equal((await stage.ctx(project, ['exec', '--fork', 'other', '--', 'ls'])).stdout, 'there\n');
      assert.equal((await stage.ctx(project, ['jail', 'stop', '--fork', 'other'])).code, 0);
    }),
  );

  turn.test('a time-out ends the command and its group, and the kept jail goes on', () =>
    inKeptJail(stage, async ({ project }) => {
      const { code, stdout } = await stage.ctx(project, [
        'exec',
        '--timeout',
        '3s',
        '--',
        'sh',
        '-c',
        'echo begun; sleep 100',
      ]);
      assert.deepEqual([code, stdout], [143, 'begun\n']);
      const next = await stage.ctx(project, ['exec', '--', 'echo', 'next']);
      assert.deepEqual([next.code, next.stdout, next.stderr], [0, 'next\n', '']);
    }),
  );
});
