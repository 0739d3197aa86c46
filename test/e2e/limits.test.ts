/** What a command is refused and held to: seen in the report, in the record, and while it runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { envelopeOf, inKeptJail } from '../support/kept-jail.js';
import { slowness } from '../support/process.js';
import { recordsOf } from '../support/record.js';
import { parseJson, useStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

/** For a command that a limit is to end before. */
const patience = `${40 * slowness}s`;

forUsersInTurn((user, turn) => {
  const stage = useStage(user);
  const record = () =>
    recordsOf(stage.store)
      .map((body) => JSON.stringify(body))
      .join('\n');

  const exec = async (cwd: string, options: readonly string[], argv: readonly string[]): Promise<Envelope> => {
    const { stdout, stderr } = await stage.ctx(cwd, ['exec', '--json', ...options, '--', ...argv]);
    return parseJson(stdout, stderr) as Envelope;
  };

  turn.test('a refused system call is told with its count and its time, in the report and in the record', async () => {
    const project = stage.project();
    const script = 'unshare -U true; sleep 0.1; unshare -U true; true';
    const { refusals, startedAt } = await stage.exec(project, ['sh', '-c', script]);
    const [refusal] = refusals;
    assert.deepEqual([refusals.length, refusal?.call, refusal?.count], [1, 'unshare', 2]);
    const times = [startedAt, refusal?.firstAt, refusal?.lastAt, new Date().toISOString()].map((at) =>
      Date.parse(at ?? ''),
    );
    assert.deepEqual(
      [...times].sort((a, b) => a - b),
      times,
    );
    assert.ok(Number(times[2]) - Number(times[1]) >= 100);
    const { firstAt, lastAt } = refusal ?? {};
    assert.ok(record().includes(JSON.stringify({ call: 'unshare', count: 2, firstAt, lastAt })));
  });

  turn.test(
    'a fork that is full ends its command, and says so while it runs, in the report and in the record',
    async () => {
      const project = stage.project();
      const script =
        'i=0; while sleep 0.02; do i=$((i + 1)); dd if=/dev/zero of=file$i bs=64k count=4 2>/dev/null; done';
      const envelope = await exec(project, ['--disk', '4M', '--timeout', patience], ['sh', '-c', script]);
      assert.deepEqual([envelope.signal, envelope.timedOut], ['SIGKILL', false], `${envelope.changes.length} changes`);
      assert.match(envelope.limitsReached.join(), /^disk limit reached: the fork holds \d+ of 4194304 bytes/);
      assert.deepEqual(
        envelope.limitEvents.map(({ limit, percent, most }) => [limit, percent, most]),
        [
          ['disk', 80, 4194304],
          ['disk', 100, 4194304],
        ],
      );
      for (const { at } of envelope.limitEvents) assert.ok(record().includes(`"at":"${at}"`));
      // What it wrote is there to be looked at; nothing more is run on it until there is room.
      assert.ok(envelope.changes.length > 0);
      const full = await stage.ctx(project, ['exec', '--disk', '4M', '--', 'true']);
      assert.equal(full.code, 13, full.stderr);
      assert.match(full.stderr, /hold \d+ bytes in \d+ files already.*EDQUOT/s);
      assert.equal((await stage.ctx(project, ['exec', '--disk', '40M', '--', 'true'])).code, 0);
    },
  );

  turn.test('files are counted with their directories and links, in the private home too', async () => {
    const fill = 'mkdir ~/d; i=0; while sleep 0.01; do i=$((i + 1)); ln -s x ~/d/$i; : > $i; mkdir d$i; done';
    const envelope = await exec(stage.project(), ['--files', '60', '--timeout', patience], ['sh', '-c', fill]);
    const reached = [...envelope.limitsReached, `${envelope.changes.length} changes`].join();
    assert.match(reached, /^file limit reached: the fork holds \d+ of 60 files/);
    assert.equal(envelope.signal, 'SIGKILL');
  });

  turn.test('one file cannot outgrow the whole limit between two looks', async () => {
    const argv = ['dd', 'if=/dev/zero', 'of=large', 'bs=4M', 'count=4'];
    const envelope = await exec(stage.project(), ['--disk', '1M'], argv);
    assert.match(envelope.limitsReached.join(), /disk limit reached/);
    assert.match(envelope.limitError?.reason ?? '', /disk limit reached/);
    assert.deepEqual(envelope.limitEvents.map(({ limit, percent, used }) => [limit, percent, used >= 2 ** 20]).at(-1), [
      'disk',
      100,
      true,
    ]);
    assert.ok(envelope.changes.every(({ size }) => size <= 2 ** 20));
  });

  turn.test('a hard link is one file, however many names it has', async () => {
    const script = 'echo x > a; i=0; while [ $i -lt 200 ]; do i=$((i + 1)); ln a l$i; done; sleep 0.3; ls | wc -l';
    const envelope = await exec(stage.project(), ['--files', '50'], ['sh', '-c', script]);
    assert.deepEqual([envelope.stdout?.text, envelope.limitEvents], ['201\n', []]);
  });

  turn.test('time is told at four fifths, while the command still runs', async () => {
    const words = ['exec', '--report', 'always', '--timeout', '1s', '--', 'sleep', '5'];
    const { stderr } = await stage.ctx(stage.project(), words);
    assert.match(stderr, /80 % of its limit used: 0\.8 s of 1\.0 s\r\n.*limit of 1\.0 s reached\r\n.*timed out/s);
    assert.ok(record().includes('"limit":"wallTime"'));
  });

  test('a process may open many files, and not without end', async () => {
    const project = stage.project();
    const limit = Number(await stage.inside(project, 'ulimit -n'));
    const own = stage.shell(project, 'ulimit -Hn').trim();
    assert.equal(limit, own === 'unlimited' ? 16_384 : Math.min(16_384, Number(own)));
  });

  test('memory and processes are told when they come near their limit', async (context) => {
    const project = stage.project();
    const hold = 'const kept = Buffer.alloc(170 * 2 ** 20, 1); setTimeout(() => kept.length, 3000);';
    const words = ['exec', '--json', '--memory', '200M', '--', 'node', '-e', hold];
    const { code, stdout } = await stage.ctx(project, words);
    if (code === 69) {
      context.skip('this host gives this user no control group');
      return;
    }
    const { limitEvents } = JSON.parse(stdout) as Envelope;
    assert.ok(
      limitEvents.some(({ limit, percent }) => limit === 'memory' && percent === 80),
      stdout,
    );
    const forks = 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do sleep 2 & done; wait';
    const many = await exec(project, ['--processes', '20'], ['sh', '-c', forks]);
    assert.ok(many.limitEvents.some(({ limit }) => limit === 'pids'));
  });

  const quick = ['sh', '-c', 'touch $(seq 100)'];
  // It may be seen while it runs, and is ended then: the shell, or what the shell waits for.
  const quickly = (envelope: Envelope) => {
    const { exitCode, limitError, limitEvents } = envelope;
    assert.ok([0, null, 128 + 9, 128 + 15].includes(exitCode), JSON.stringify(envelope));
    assert.match(
      limitError?.reason ?? '',
      /^file limit reached: the fork holds \d+ of 20 files(; the command was ended)?$/,
    );
    assert.deepEqual(limitEvents.map(({ limit, percent }) => [limit, percent]).at(-1), ['inodes', 100]);
  };
  const told = /^ctx: file limit reached: the fork holds \d+ of 20 files/m;

  turn.test(
    'a command that ends above its limit before anybody looked has failed: line, exit code, event, record',
    async () => {
      const project = stage.project();
      const { code, stderr } = await stage.ctx(project, ['exec', '--files', '20', '--', ...quick]);
      assert.ok(code === 13 || code === 137, stderr);
      assert.match(stderr, told);
      const ended = recordsOf(stage.store).filter(
        ({ type, facts }) => type === 'exec' && facts?.['origin'] === project,
      );
      assert.equal(ended.at(-1)?.status, 'failed');
      assert.match(JSON.stringify(ended.at(-1)?.facts?.['limitError']), /EDQUOT.*file limit reached/);
      quickly(await exec(stage.project(), ['--files', '20'], quick));
    },
  );

  turn.test('so has one that joined another command, and one of a kept jail', async () => {
    const project = stage.project();
    const other = stage.startCtx(project, ['exec', '--', 'sh', '-c', 'echo ready; until [ -e 1 ]; do sleep 0.1; done']);
    await other.printed('ready');
    const joined = await exec(project, ['--files', '20'], quick);
    assert.equal(joined.besideCount, 1);
    quickly(joined);
    await other.finished;
    await inKeptJail(
      stage,
      async ({ project: kept }) => {
        const { code, stderr } = await stage.ctx(kept, ['jail', 'exec', '--', ...quick]);
        assert.ok(code === 13 || code === 137, stderr);
        assert.match(stderr, told);
        await stage.ctx(kept, ['drop', '--wait']);
        quickly(await envelopeOf(stage, kept, quick[2] ?? ''));
      },
      { options: ['--files', '20'] },
    );
  });

  test('what the kernel holds is told as used up, in a kept jail too, and only with the command that used it', async (context) => {
    const forks = 'for i in $(seq 30); do sleep 1 & done; wait';
    const eat = "python3 -c 'len(bytearray(200_000_000))'; true";
    const held = (events: Envelope['limitEvents']) =>
      events.filter(({ percent }) => percent === 100).map(({ limit, used, most }) => [limit, used >= most]);
    const many = await exec(stage.project(), ['--processes', '20'], ['sh', '-c', forks]);
    assert.deepEqual(held(many.limitEvents), [['pids', true]]);
    const memory = await stage.ctx(stage.project(), ['exec', '--json', '--memory', '50M', '--', 'sh', '-c', eat]);
    if (memory.code === 69) return context.skip('this host gives this user no control group');
    assert.deepEqual(held((parseJson(memory.stdout) as Envelope).limitEvents), [['memory', true]]);
    await inKeptJail(
      stage,
      async ({ project }) => {
        const full = await envelopeOf(stage, project, eat);
        assert.deepEqual(held(full.limitEvents), [['memory', true]]);
        assert.match(full.limitsReached.join(), /memory limit reached/);
        const next = await envelopeOf(stage, project, 'true');
        assert.deepEqual([next.limitEvents, next.limitsReached], [[], []]);
      },
      { options: ['--memory', '50M'] },
    );
  });

  turn.test('io_uring is refused where it is counted', async () => {
    const ask = 'import ctypes; ctypes.CDLL(None).syscall(425, 4, ctypes.create_string_buffer(256))';
    const { refusals } = await stage.exec(stage.project(), ['python3', '-c', ask]);
    assert.deepEqual(
      refusals.map(({ call, count }) => [call, count]),
      [['io_uring_setup', 1]],
    );
    // Node 26 asks for it at its start, and for nothing else that is refused.
    const others = (await stage.exec(stage.project(), ['node', '-e', '1'])).refusals.filter(
      ({ call }) => call !== 'io_uring_setup',
    );
    assert.deepEqual(others, []);
  });
});
