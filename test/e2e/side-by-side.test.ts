/** Commands side by side on one fork: the same files as in one directory, and jails of their own. */
import assert from 'node:assert/strict';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { envelopeOf, inKeptJail } from '../support/kept-jail.js';
import type { Running } from '../support/process.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const untilStopped = 'echo ready; until test -e stop; do sleep 0.02; done';

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);
  const start = (project: string, script: string, ...options: string[]): Running =>
    stage.startCtx(project, ['exec', '--json', '--timeout', '90s', ...options, '--', 'sh', '-c', script]);
  const envelope = async (running: Running): Promise<Envelope> => {
    const { stdout, stderr } = await running.finished;
    return parseJson(stdout, stderr) as Envelope;
  };
  const join = (project: string, script: string, ...options: string[]) => envelope(start(project, script, ...options));
  const refusal = async (project: string, words: readonly string[]) => (await stage.ctx(project, words)).stderr;
  /** `--json` shows output at the end only: a file of the fork says that it has begun. */
  const present = (project: string, file: string) => join(project, `until test -e ${file}; do sleep 0.02; done`);

  turn.test(
    'files, locks, pipes and sockets of the tree work between them; each is told what changed while it ran',
    async () => {
      const project = stage.project('echo base > a; echo 0 > counter');
      await stage.inside(project, 'mkfifo fifo');
      const listens = `node -e 'require("net").createServer((s) => s.end("hello\\n")).listen("socket")' & server=$!;`;
      const first = start(
        project,
        `${listens} (cat fifo > got; tail -n +1 -f log > seen & tail=$!; until grep -q end seen; do sleep 0.02; done; kill $tail) &
       reader=$!; touch log; exec 9> lock; flock 9; touch up; until test -e stop; do sleep 0.02; done; echo 1 > counter; flock -u 9
       wait $reader; kill $server; cat got seen`,
      );
      await present(project, 'up');
      const second = await join(
        project,
        `echo through > fifo; printf 'line\\nend\\n' >> log; until test -S socket; do sleep 0.02; done
       node -e 'require("net").connect("socket").pipe(process.stdout)'; flock -n lock true || echo locked; touch stop
       flock lock cat counter; echo more >> a`,
      );
      assert.equal(second.stdout?.text, 'hello\nlocked\n1\n', second.stderr?.text);
      const one = await envelope(first);
      assert.equal(one.stdout?.text, 'through\nline\nend\n', one.stderr?.text);
      assert.equal(one.exitCode, 0);
      assert.equal(one.beside.length, 2);
      assert.match(second.beside.join(), /mkfifo|cat fifo/);
      assert.ok(second.changes.some(({ path, kind }) => path === 'a' && kind === 'modified'));
      assert.ok(
        !second.changes.some(({ path }) => path === 'fifo' || path === 'up'),
        'what was there before is not its own',
      );
      const alone = await stage.exec(project, ['true']);
      assert.deepEqual([alone.beside, alone.changes], [[], []]);
    },
  );

  turn.test('all of a group is undone together, and that is said', async () => {
    const project = stage.project('echo base > a');
    await stage.inside(project, 'echo kept > kept');
    const first = start(project, `echo 1 > one; ${untilStopped}`);
    await present(project, 'one');
    await join(project, 'echo 2 > two; echo changed > a; touch stop');
    await envelope(first);
    const one = await stage.ctx(project, ['rollback', '2', 'one']);
    assert.match(
      one.stdout,
      /^rolled back to 2: 1 change undone, 4 pending\n {2}A one /,
      'a path of it is not all of it',
    );
    const { stdout } = await stage.ctx(project, ['rollback', '2']);
    assert.match(stdout, /3 changes undone, 1 pending\n {2}these ran at the same time and were undone together: /);
    assert.equal(await stage.inside(project, 'cat a; ls'), 'base\na\nkept\n');
  });

  turn.test(
    'the first may end before the last: the mount goes on, others still join, and then the fork is free',
    async () => {
      const project = stage.project();
      const first = start(project, 'touch first; until test -e second; do sleep 0.02; done');
      await present(project, 'first');
      const second = start(project, `touch second; ${untilStopped}; cat third`);
      assert.equal((await envelope(first)).exitCode, 0);
      assert.match(await refusal(project, ['apply']), /process \d+ is using it: sh -c touch second.*\(since 2.*EBUSY/);
      await join(project, 'ls; echo 3 > third; touch stop');
      assert.equal((await envelope(second)).stdout?.text, 'ready\n3\n');
      assert.equal((await stage.ctx(project, ['apply'])).code, 0);
      assert.equal(stage.shell(project, 'ls'), 'first\nsecond\nstop\nthird\n');
    },
  );

  turn.test(
    'one that is killed with its owner takes nobody along, and the record says that it was interrupted',
    async () => {
      const project = stage.project();
      const first = start(project, `touch first; ${untilStopped}`);
      await present(project, 'first');
      const second = start(project, 'touch second; sleep 1000');
      await present(project, 'second');
      second.child.kill('SIGKILL');
      await second.finished;
      assert.equal((await join(project, 'ls; touch stop')).stdout?.text, 'first\nsecond\n');
      assert.equal((await envelope(first)).exitCode, 0);
      await stage.inside(project, 'true');
      const runs = (await stage.json(project, ['inspect', 'main'])) as { runs: { facts: Record<string, unknown> }[] };
      assert.equal(runs.runs.filter(({ facts }) => facts['interrupted'] === true).length, 1);
    },
  );

  turn.test(
    '--alone wants the fork to itself, or waits for it; read-only and other directories are the joiner’s own',
    async () => {
      const project = stage.project('echo base > a');
      const other = stage.project('echo other > o');
      const first = start(project, `touch first; ${untilStopped}`);
      await present(project, 'first');
      assert.match(await refusal(project, ['exec', '--alone', '--', 'true']), /is using it.*EBUSY/);
      const waiting = start(project, 'cat b', '--alone', '--wait');
      const reading = await join(project, 'cat a; echo x > a || echo refused', '--readonly');
      assert.equal(reading.stdout?.text, 'base\nrefused\n');
      const writing = await join(project, `echo y > ${other}/o; cat ${other}/o; echo done > b`, '--write', other);
      assert.equal(writing.stdout?.text, 'y\n', writing.stderr?.text);
      assert.ok(writing.changes.some(({ path }) => path === `${other}/o`));
      assert.equal((await join(project, `cat ${other}/o || echo unseen; touch stop`)).stdout?.text, 'unseen\n');
      assert.equal((await envelope(first)).exitCode, 0);
      assert.equal((await envelope(waiting)).stdout?.text, 'done\n');
      assert.equal((await stage.ctx(project, ['apply'])).code, 0);
      assert.equal(stage.shell(other, 'cat o'), 'y\n');
    },
  );

  turn.test('many that start at once all run, and what each appends is there', async () => {
    const project = stage.project(': > log');
    await stage.inside(project, 'true');
    const count = 8;
    const all = Array.from({ length: count }, (_, number) =>
      join(project, `echo ${number} >> log; echo x > f${number}`),
    );
    for (const { exitCode, stderr } of await Promise.all(all)) assert.equal(exitCode, 0, stderr?.text);
    assert.equal(await stage.inside(project, 'sort -n log; ls f* | wc -l'), '0\n1\n2\n3\n4\n5\n6\n7\n8\n');
    assert.deepEqual((await stage.json(project, ['status']))['running'], []);
  });

  turn.test('in a kept jail the second command does not wait for the first; it joins others, and others join it', () =>
    inKeptJail(stage, async ({ project }) => {
      const first = stage.startCtx(project, ['exec', '--', 'sh', '-c', `echo 1 > one; ${untilStopped}; cat two three`]);
      await first.printed('ready');
      const second = await envelopeOf(stage, project, 'cat one; echo 2 > two');
      assert.equal(second.stdout?.text, '1\n');
      assert.match(second.beside.join(), /echo 1 > one/);
      const apart = await stage.ctx(project, ['jail', 'exec', '--readonly', '--', 'sh', '-c', 'cat two; echo > x']);
      assert.match(apart.stdout, /2\n/);
      assert.match(apart.stderr, /Read-only file system/);
      // With a grant that the kept jail has not: a jail of its own, without the kept one.
      const other = stage.project();
      assert.equal((await join(project, 'cat two; echo 3 > three', '--read', other)).stdout?.text, '2\n');
      await stage.ctx(project, ['exec', '--', 'touch', 'stop']);
      assert.equal((await first.finished).stdout, 'ready\n2\n3\n');
      // Now the other way round.
      const outside = start(
        project,
        'rm stop; touch outside; until test -e stop; do sleep 0.02; done; cat four',
        '--read',
        other,
      );
      const joined = await envelopeOf(
        stage,
        project,
        'until test -e outside; do sleep 0.02; done; echo 4 > four; touch stop',
      );
      assert.equal(joined.exitCode, 0, joined.stderr?.text);
      assert.equal((await envelope(outside)).stdout?.text, '4\n');
      // Both groups, the last one first; what ran in the kept jail is named, too.
      assert.match((await stage.ctx(project, ['rollback'])).stdout, /were undone together: .*echo 4 > four/);
      assert.match((await stage.ctx(project, ['rollback'])).stdout, /echo 1 > one.*; sh -c cat one; echo 2 > two; /);
    }),
  );
});
