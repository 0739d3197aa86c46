/** What goes in and what comes out. */
import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { until } from '../support/process.js';
import { useStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

/** A program with a terminal as stdin and stdout; stderr is a file where one is named. Prints what the terminal showed. */
const atTerminal = `
import os, pty, subprocess, sys
errors, *words = sys.argv[1:]
master, slave = pty.openpty()
child = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=open(errors, 'wb') if errors else slave)
os.close(slave)
try:
    while shown := os.read(master, 4096): os.write(1, shown)
except OSError: pass # its last user has gone
sys.exit(child.wait())
`;

forUsersInTurn((user, turn) => {
  const stage = useStage(user);

  turn.test('stdin from a pipe, a file, /dev/null, a here-document and nowhere', async () => {
    const project = stage.project('echo of-file > ../input');
    assert.equal((await stage.ctx(project, ['exec', '--', 'cat'], { input: 'of-socket' })).stdout, 'of-socket');
    const ways = [
      ['< ../input', 'of-file\n'],
      ['< /dev/null', ''],
      ['<&-', ''],
    ] as const;
    for (const [redirection, expected] of ways) {
      assert.equal(stage.shell(project, `${stage.program} exec -- cat ${redirection} || true`), expected, redirection);
    }
    assert.equal(stage.shell(project, `echo of-pipe | ${stage.program} exec -- cat`), 'of-pipe\n');
  });

  turn.test('one megabyte goes through unchanged, from a file to a file and through a pipe', async () => {
    const project = stage.project('head -c 1000000 /dev/urandom > ../random');
    stage.shell(project, `${stage.program} exec -- cat < ../random > ../copy; cmp ../random ../copy`);
    stage.shell(project, `cat ../random | ${stage.program} exec -- cat | cmp - ../random`);
  });

  turn.test('/dev/stderr, /dev/stdout and /proc/self/fd can be opened again', async () => {
    const project = stage.project();
    const script = 'echo err > /dev/stderr; echo out > /dev/stdout; echo more > /proc/self/fd/2';
    const { code, stdout, stderr } = await stage.ctx(project, ['exec', '--', 'sh', '-c', script]);
    assert.deepEqual([code, stdout, stderr], [0, 'out\n', 'err\nmore\n']);
    stage.shell(project, `${stage.program} exec -- sh -c '${script}' > ../out 2> ../err; test "$(cat ../out)" = out`);
    stage.shell(project, `${stage.program} exec -- sh -c '${script}' 2>&1 | sort | tr -d '\\n' | grep -qx errmoreout`);
  });

  turn.test('beside a terminal, stderr is the terminal or where it was sent', async () => {
    const project = stage.project();
    const errors = stage.makeDirectory('errors');
    // On a busy machine a first use would show how far it has come.
    await stage.inside(project, 'true');
    for (const file of ['', join(errors, 'err')]) {
      const words = [stage.program, 'exec', '--', 'sh', '-c', 'test -t 0 && test -t 1 && echo out; echo "e""rr" >&2'];
      const { code, stdout, stderr } = await stage.start(project, ['python3', '-c', atTerminal, file, ...words])
        .finished;
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^out\r$/m);
      assert.equal(/^err\r$/m.test(stdout), file === '');
      if (file !== '') assert.match(stage.shell(project, `cat ${file}`), /^err$/m);
    }
  });

  turn.test('closed streams harm nobody', async () => {
    const project = stage.project();
    stage.shell(project, `${stage.program} exec -- sh -c 'echo x > made; true' <&- >&- 2>&-`);
    assert.equal(await stage.inside(project, 'cat made'), 'x\n');
  });

  turn.test('output that cannot be written is a failure of the run, and a reader that has gone is none', async () => {
    const project = stage.project('echo a > a');
    await stage.inside(project, 'seq 100000 > a');
    const failing = [
      'exec -- echo x > /dev/full',
      'exec -- sh -c \'trap "" PIPE; seq 100000; exit 0\' > /dev/full',
      "exec -- sh -c 'echo x >&2' 2> /dev/full",
      'exec --json -- true > /dev/full',
      'exec --report always -- true 2> /dev/full',
      'diff > /dev/full',
      'status --json > /dev/full',
      '--version > /dev/full',
      '--help > /dev/full',
    ];
    for (const words of failing) {
      const script = `code=0; ${stage.program} ${words} || code=$?; echo $code`;
      assert.notEqual(stage.shell(project, script).trim().split('\n').at(-1), '0', words);
    }
    // A disk that takes a part of it.
    const part = `code=0; (ulimit -f 64; ${stage.program} diff > ../part 2> ../said) || code=$?; echo $code; cat ../said`;
    assert.match(stage.shell(project, part), /^1\nctx: print: write failed/);
    stage.shell(project, `${stage.program} exec -- seq 100000 | head -n 1 | grep -qx 1`);
    const said = stage.shell(project, `${stage.program} exec -- echo x 2>&1 > /dev/full || true`);
    assert.equal(said, 'ctx: stdout of the command could not be written, the rest is lost (ENOSPC)\n');
    const limited = `ulimit -f 2000; ${stage.program} exec -- head -c 3000000 /dev/zero 2>&1 > ../part || true`;
    assert.equal(
      stage.shell(project, limited),
      'ctx: stdout of the command could not be written, the rest is lost (EFBIG)\n',
    );
  });

  turn.test('a reader that takes nothing keeps no fork busy once ctx is killed', async () => {
    const project = stage.project('mkfifo ../unread');
    const unread = openSync(join(project, '../unread'), 'r+');
    const script = 'echo begun >&2; exec yes';
    const run = stage.startCtx(project, ['exec', '--', 'sh', '-c', script], { stdio: ['ignore', unread, 'pipe'] });
    await run.printed('begun');
    // How much room the pipes on the way have depends on how many their user has.
    await setTimeout(1_000);
    run.child.kill('SIGKILL');
    await until(async () => (await stage.ctx(project, ['drop'])).code === 0, 'the fork is free', 30);
    await run.finished;
    closeSync(unread);
  });

  turn.test('endless output with --json is kept up to the limit and counted beyond', async () => {
    const project = stage.project();
    const envelope = await stage.exec(project, ['sh', '-c', 'head -c 30000000 /dev/zero | tr "\\0" x; echo err >&2']);
    const { stdout, stderr } = envelope;
    assert.deepEqual([stdout?.bytes, stdout?.dropped], [30_000_000, 30_000_000 - 8 * 1024 * 1024]);
    assert.equal(stdout?.text.length, 8 * 1024 * 1024);
    assert.equal(stderr?.text, 'err\n');
  });

  turn.test('output that is not UTF-8 is kept exactly', async () => {
    const project = stage.project();
    const { stdout } = await stage.exec(project, ['printf', '\\377\\000ok']);
    assert.deepEqual(Buffer.from(stdout?.base64 ?? '', 'base64'), Buffer.from([0xff, 0, 0x6f, 0x6b]));
    assert.equal(stdout?.bytes, 4);
  });

  turn.test('stdout stays the command’s alone, also when the report and the import have something to say', async () => {
    const project = stage.project();
    const { stdout } = await stage.ctx(project, ['exec', '--report', 'always', '--', 'printf', 'exact']);
    assert.equal(stdout, 'exact');
  });

  turn.test('without a terminal, a time-out and what was granted but is not there are told, a line each', async () => {
    const project = stage.project();
    const asked = ['exec', '--read', '/nosuch', '--timeout', '1s', '--', 'sleep', '60'];
    const { stderr } = await stage.ctx(project, asked);
    assert.equal(stderr, 'ctx: timed out\nctx: skipped --read /nosuch: there is no such path\n');
    assert.equal((await stage.ctx(project, ['exec', '--report', 'never', ...asked.slice(1)])).stderr, '');
  });
});
