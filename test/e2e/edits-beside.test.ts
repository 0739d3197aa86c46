/** What the person edits while commands run is in the fork, as it would be in one directory, and is no change of the commands. */
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { inKeptJail } from '../support/kept-jail.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { asOneUser, forUsersInTurn } from '../support/users.js';

const untilStopped = 'until test -e stop; do sleep 0.02; done';

function helpersOf(stage: Stage) {
  /** Beside what runs: its output, and its report. */
  const join = async (project: string, script: string, ...options: string[]) => {
    const words = ['exec', '--json', '--timeout', '90s', ...options, '--', 'sh', '-c', script];
    const { stdout, stderr } = await stage.ctx(project, words);
    const envelope = parseJson(stdout, stderr) as Envelope;
    assert.equal(envelope.exitCode, 0, envelope.stderr?.text);
    return { ...envelope, text: envelope.stdout?.text };
  };
  const pending = async (project: string) => (await stage.ctx(project, ['diff', '--names'])).stdout;
  const start = (project: string, script: string, ...options: string[]) =>
    stage.startCtx(project, ['exec', '--json', '--stream', '--timeout', '90s', ...options, '--', 'sh', '-c', script]);
  return { join, pending, start };
}

const pathsOf = ({ changes }: Pick<Envelope, 'changes'>) => changes.map(({ path }) => path).sort();

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);
  const { join, pending, start } = helpersOf(stage);

  turn.test(
    'a command that joins sees them, whatever they do to the tree, and neither report takes them for changes',
    async () => {
      const project = stage.project(
        'echo 1 > a; echo gone > g; mkdir d; echo in > d/in; echo x > m; mkdir full; echo f > full/f',
      );
      const server = stage.startCtx(project, [
        'exec',
        '--json',
        '--',
        'sh',
        '-c',
        `echo own > own; ${untilStopped}; cat a`,
      ]);
      await join(project, 'until test -e own; do sleep 0.02; done');
      stage.shell(
        project,
        'echo 2 > a; rm g; rm -r d; echo file > d; chmod 755 m; mkdir -p n/e/w; echo 3 > n/e/w/f; ln -s a l; rm -r full',
      );
      const first = await join(project, 'cat a d n/e/w/f l; ls; test -x m; echo 1 > mine');
      assert.equal(first.text, '2\nfile\n3\n2\na\nd\nl\nm\nn\nown\n');
      assert.deepEqual(pathsOf(first), ['mine']);
      assert.equal(await pending(project), '  A mine  2 B\n  A own  4 B\n');
      // Back to what it was, and once more: each time it is what the person has.
      for (const text of ['1', '4']) {
        stage.shell(project, `echo ${text} > a`);
        assert.equal((await join(project, 'cat a')).text, `${text}\n`);
      }
      await join(project, 'touch stop');
      const { stdout } = await server.finished;
      const report = parseJson(stdout) as Envelope;
      assert.equal(report.stdout?.text, '4\n');
      // Whichever of them was first to look.
      const entered = [...first.entered, ...report.entered];
      assert.ok(entered.includes('a') && entered.includes('g'), entered.join(' '));
      assert.deepEqual(pathsOf(report), ['mine', 'own', 'stop']);
      assert.equal((await stage.exec(project, ['cat', 'a'])).stdout?.text, '4\n');
      assert.equal(await pending(project), '  A mine  2 B\n  A own  4 B\n  A stop  0 B\n');
      assert.equal((await stage.ctx(project, ['rollback'])).code, 0);
      assert.equal(await pending(project), '', 'the commands are undone together, the edits are not');
      assert.equal(await stage.inside(project, 'cat a d; ls'), '4\nfile\na\nd\nl\nm\nn\n');
      assert.match((await stage.ctx(project, ['fsck'])).stdout, /0 faults/);
    },
  );

  turn.test(
    'where both changed a path the fork keeps its own, which no watcher sees touched, and apply asks',
    async () => {
      const project = stage.project('echo 1 > a; echo 1 > b; echo 1 > c');
      const watches = `const { writeFileSync, watch } = require('node:fs');
      for (const name of ['a', 'c']) writeFileSync(name, 'agent\\n');
      const watcher = watch('.', (_kind, name) => {
        console.log('saw ' + name);
        if (name === 'stop') watcher.close();
      });
      console.log('up');`;
      const server = stage.startCtx(project, ['exec', '--report', 'never', '--', 'node', '-e', watches]);
      await server.printed('up');
      stage.shell(project, 'echo person > a; echo person > b; rm c');
      const joined = await join(project, 'cat a b c; touch stop');
      assert.equal(joined.text, 'agent\nperson\nagent\n');
      assert.deepEqual(joined.clashes, ['a', 'c']);
      const seen = (await server.finished).stdout;
      assert.match(seen, /^saw b$/m);
      assert.doesNotMatch(seen, /^saw [ac]$/m, 'another file in its place, or none, for a moment');
      assert.match((await stage.ctx(project, ['status'])).stdout, /conflict {2}both you and the fork changed a\n/);
      assert.match((await stage.ctx(project, ['apply'])).stderr, /conflict/);
      assert.equal((await stage.ctx(project, ['apply', '--conflicts', 'ours'])).code, 0);
      assert.equal(stage.shell(project, 'cat a b; ls'), 'person\nperson\na\nb\nstop\n');
    },
  );

  turn.test('where the first of a group is stopped, the next one looks for them', async () => {
    const project = stage.project('echo 1 > a');
    const first = start(project, 'echo up; sleep 90');
    await first.printed('up');
    const second = start(project, 'echo up; until grep -q 2 a; do sleep 0.05; done');
    await second.printed('up');
    process.kill(first.pid, 'SIGSTOP');
    stage.shell(project, 'echo 2 > a');
    assert.match((await second.finished).stdout, /"exitCode":0.*"entered":\["a"\]/);
    process.kill(first.pid, 'SIGCONT');
    process.kill(first.pid, 'SIGTERM');
    await first.finished;
  });

  turn.test('what another fork applies enters, too', async () => {
    const project = stage.project('echo 1 > a');
    assert.equal((await stage.exec(project, ['sh', '-c', 'echo 2 > a'])).exitCode, 0);
    await stage.json(project, ['fork', 'create', 'clean', '--from', 'origin']);
    const server = start(project, 'echo up; until grep -q 2 a; do sleep 0.05; done', '--fork', 'clean');
    await server.printed('up');
    assert.equal((await stage.ctx(project, ['apply'])).code, 0);
    assert.match((await server.finished).stdout, /"exitCode":0.*"entered":\["a"\]/);
  });

  turn.test('a command that runs by itself sees them after a moment; --alone keeps them away', async () => {
    const project = stage.project('echo 1 > a; echo 1 > b');
    const follows = [
      'exec',
      '--json',
      '--timeout',
      '90s',
      '--',
      'sh',
      '-c',
      'echo > up; until grep -q 2 a; do sleep 0.05; done',
    ];
    const server = stage.startCtx(project, follows);
    await join(project, 'until test -e up; do sleep 0.02; done');
    stage.shell(project, 'echo 2 > a');
    const report = parseJson((await server.finished).stdout) as Envelope;
    assert.deepEqual([report.exitCode, report.entered, pathsOf(report)], [0, ['a'], ['up']]);
    const script = 'echo up; sleep 4; cat b';
    const alone = stage.startCtx(project, ['exec', '--alone', '--report', 'never', '--', 'sh', '-c', script]);
    await alone.printed('up');
    stage.shell(project, 'echo 2 > b');
    assert.equal((await alone.finished).stdout, 'up\n1\n');
  });

  turn.test('names that a command exchanges for links while they enter lead nowhere', async () => {
    const project = stage.project('mkdir d; echo 0 > d/f; mkdir ../outside; echo safe > ../outside/f');
    const outside = `${dirname(project)}/outside`;
    const swap = `while ! test -e stop; do mv d e; ln -s ${outside} d; rm d; mv e d; done`;
    const server = stage.startCtx(project, ['exec', '--json', '--', 'sh', '-c', `echo > up; ${swap}`]);
    await join(project, 'until test -e up; do sleep 0.02; done');
    for (let number = 1; number <= 12; number++) {
      stage.shell(project, `echo ${number} > d/f; echo ${number} > d/g${number}`);
      await join(project, 'true');
    }
    await join(project, 'touch stop');
    await server.finished;
    assert.equal(stage.shell(outside, 'ls; cat f'), 'f\nsafe\n');
    assert.equal(stage.shell(project, 'cat d/f; ls d | wc -l'), '12\n13\n');
  });

  turn.test('a command of a kept jail sees them after a moment, and so does what it left running', () =>
    inKeptJail(
      stage,
      async ({ project }) => {
        const inJail = (script: string) =>
          stage.ctx(project, ['jail', 'exec', '--json', '--timeout', '90s', '--', 'sh', '-c', script]);
        const following = inJail(
          '(until grep -q 3 a; do sleep 0.05; done; cat a > seen) >/dev/null 2>&1 & until grep -q 2 a; do sleep 0.05; done',
        );
        // Not what it begins with.
        await sleep(1000);
        stage.shell(project, 'echo 2 > a');
        const report = parseJson((await following).stdout) as Envelope;
        assert.deepEqual([report.exitCode, report.entered, pathsOf(report)], [0, ['a'], []]);
        stage.shell(project, 'echo 3 > a');
        for (let time = 0; time < 300 && (await pending(project)) === ''; time++) await sleep(100);
        assert.equal(await pending(project), '  A seen  2 B\n');
      },
      { script: 'echo 1 > a' },
    ),
  );

  turn.test('a kept jail in which something runs takes them in with its next command', () =>
    inKeptJail(
      stage,
      async ({ project }) => {
        const inJail = async (script: string) => {
          const { code, stdout, stderr } = await stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', script]);
          assert.equal(code, 0, stderr);
          return stdout;
        };
        await inJail(`(${untilStopped}; cat a > seen) >/dev/null 2>&1 &`);
        stage.shell(project, 'echo 2 > a');
        // It looks at the directory now and then, not before each command.
        let seen = '';
        for (let time = 0; time < 100 && seen !== '2\n'; time++) {
          seen = await inJail('cat a');
          await sleep(100);
        }
        assert.equal(seen, '2\n');
        await inJail('touch stop; until test -s seen; do sleep 0.02; done');
        assert.equal(await pending(project), '  A seen  2 B\n  A stop  0 B\n');
      },
      { script: 'echo 1 > a' },
    ),
  );
});

asOneUser((user) => {
  const stage = useWarmStage(user);
  const { join } = helpersOf(stage);

  test('many of them wait until all commands have ended, and layers that are mounted stay through a collection', async () => {
    const project = stage.project('echo 1 > a; echo old > untouched');
    const server = stage.startCtx(project, ['exec', '--', 'sh', '-c', `echo up; ${untilStopped}; cat a untouched`], {
      timeoutSeconds: 900,
    });
    await server.printed('up');
    stage.shell(project, 'echo 2 > a');
    assert.equal((await join(project, 'cat a')).text, '2\n');
    assert.equal((await stage.ctx(project, ['fork', 'create', 'other'])).code, 0);
    for (let number = 0; number < 18; number++) {
      stage.shell(project, `echo ${number} > a`);
      assert.equal((await stage.ctx(project, ['exec', '--fork', 'other', '--', 'cat', 'a'])).stdout, `${number}\n`);
    }
    assert.equal((await stage.ctx(project, ['gc'])).code, 0);
    assert.equal((await join(project, 'cat a untouched')).text, '17\nold\n');
    // Moved there at once: the server looks meanwhile.
    stage.shell(project, 'mkdir ../many; (cd ../many; for i in $(seq 2100); do : > $i; done); mv ../many .');
    const late = await join(project, 'ls; touch stop');
    assert.equal(late.text, 'a\nuntouched\n');
    assert.match(
      late.warnings.join('\n'),
      /2101 of your own edits will be picked up when all running commands have ended/,
    );
    assert.match((await server.finished).stdout, /17\nold\n/);
    assert.equal(await stage.inside(project, 'ls many | wc -l'), '2100\n');
  });
});
