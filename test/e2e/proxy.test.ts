/** The ways of asking for a command, what surrounds it, and many at once. CTX_SOAK=1 makes it large. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import type { InspectedRun } from '../../src/workspace/recorded-runs.js';
import { until } from '../support/process.js';
import { checkout } from '../support/program.js';
import { recordsOf } from '../support/record.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const isSoak = process.env['CTX_SOAK'] === '1';
const many = isSoak ? 100 : 8;

interface Line extends Envelope {
  readonly event?: string;
  readonly stream?: string;
  readonly text?: string;
  readonly base64?: string;
}

function linesOf(stdout: string): readonly Line[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

/** Each run changed its own file, and no other but those of commands it names as beside it, in its report and in the record. */
function assertAttributed(stage: Stage, envelopes: readonly Envelope[], ran: 'alone' | 'beside others'): void {
  const records = recordsOf(stage.store);
  for (const [number, { run, exitCode, changes, beside, besideCount, stderr }] of envelopes.entries()) {
    assert.equal(exitCode, 0, stderr?.text);
    if (ran === 'alone') assert.deepEqual(beside, []);
    const told = changes.map(({ kind, path }) => `${kind} ${path}`);
    const own = `added made-${number}`;
    assert.ok(told.includes(own), `${own}: ${told}`);
    // Of very many only the first are named, and how many they were.
    const isNamed = besideCount === beside.length;
    for (const other of isNamed ? told.filter((text) => text !== own) : []) {
      const path = other.replace(/^added /, '');
      assert.ok(
        beside.some((command) => command.endsWith(`> ${path}`) || command.endsWith(`> ${path}'`)),
        `${own}: ${other}, beside ${beside}`,
      );
    }
    const [begin, end, ...more] = records.filter(({ type, facts }) => type === 'exec' && facts?.['run'] === run);
    assert.deepEqual([begin?.status, end?.status, end?.facts?.['changes'], more], ['begin', 'ok', told, []]);
  }
  assert.equal(new Set(envelopes.map(({ run }) => run)).size, envelopes.length);
  assert.equal(new Set(envelopes.map(({ record }) => record?.seq)).size, envelopes.length);
}

forEitherUser(
  (user) => {
    const stage = useWarmStage(user);

    test('--stream tells output as it comes, and ends with what --json alone says; in a kept jail too', async () => {
      const project = stage.project();
      for (const inKeptJail of [false, true]) {
        if (inKeptJail) await stage.ctx(project, ['jail', 'start']);
        const options = ['exec', '--json', '--stream', '--timeout', '60s', '--', 'sh', '-c'];
        const running = stage.startCtx(project, [...options, 'echo one; sleep 1; printf "\\377" >&2; echo two']);
        await running.printed('one');
        assert.equal(running.child.exitCode, null, 'it is told before the end');
        const lines = linesOf((await running.finished).stdout);
        const told = lines.slice(0, -1);
        const text = told.filter(({ stream }) => stream === 'stdout').map((line) => line.text);
        assert.equal(text.join(''), 'one\ntwo\n');
        assert.deepEqual(
          told.filter(({ stream }) => stream === 'stderr').map(({ base64 }) => base64),
          ['/w=='],
        );
        const last = lines.at(-1);
        assert.deepEqual([last?.event, last?.exitCode, last?.stdout?.text], [undefined, 0, 'one\ntwo\n']);
        if (inKeptJail) await stage.ctx(project, ['jail', 'stop']);
      }
      assert.equal((await stage.ctx(project, ['exec', '--stream', '--', 'true'])).code, 2);
    });

    test('--live works on the directory itself, says so, and refuses what only a fork can do', async () => {
      const project = stage.project('chmod 777 .');
      const { stdout } = await stage.ctx(project, ['exec', '--live', '--json', '--shell', 'echo x > made']);
      const envelope = parseJson(stdout) as Envelope;
      assert.deepEqual([envelope.workspace.fork, envelope.live[0], envelope.exitCode], [null, project, 0]);
      assert.equal(readFileSync(join(project, 'made'), 'utf8'), 'x\n');
      const said = await stage.ctx(project, ['exec', '--live', '--report', 'always', '--', 'true']);
      assert.match(said.stderr, /cannot be undone/);
      for (const option of ['--fork=main', '--keep', '--readonly', '--wait']) {
        const { code, stderr } = await stage.ctx(project, ['exec', '--live', option, '--', 'true']);
        assert.deepEqual([code, /cannot be used together/.test(stderr)], [2, true], stderr);
      }
    });

    test('--keep with --cwd is of the workspace of that directory, and starts there', async () => {
      const project = stage.project('mkdir -p inner; git init -q .');
      const elsewhere = stage.project();
      try {
        for (const cwd of [`../${basename(project)}/inner`, join(project, 'inner')]) {
          const words = ['exec', '--keep', '--cwd', cwd, '--', 'sh', '-c', 'pwd; readlink /proc/self/ns/pid >> seen'];
          const { code, stdout, stderr } = await stage.ctx(elsewhere, words);
          assert.deepEqual([code, stdout], [0, `${join(project, 'inner')}\n`], stderr);
        }
        const { stdout } = await stage.ctx(project, ['exec', '--', 'sort', '-u', 'inner/seen']);
        assert.equal(stdout.split('\n').length, 2, 'one jail');
        assert.match((await stage.ctx(elsewhere, ['jail', 'stop'])).stderr, /there is no kept jail here/);
      } finally {
        await stage.ctx(project, ['jail', 'stop']);
      }
    });

    test('--keep leaves a kept jail with the same grants, in which the next command finds what the first left', async () => {
      const project = stage.project();
      const first = [
        'exec',
        '--keep',
        '--read',
        '/usr/share',
        '--',
        'sh',
        '-c',
        'sleep 300 & echo $! > /tmp/pid; exit 3',
      ];
      const { code, stdout, stderr } = await stage.ctx(project, first);
      try {
        assert.deepEqual([code, stdout], [3, ''], stderr);
        const next = [
          'exec',
          '--keep',
          '--read',
          '/usr/share',
          '--',
          'sh',
          '-c',
          'kill -0 $(cat /tmp/pid) && echo lives',
        ];
        assert.equal((await stage.ctx(project, next)).stdout, 'lives\n');
        assert.equal((await stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', 'kill $(cat /tmp/pid)'])).code, 0);
      } finally {
        assert.equal((await stage.ctx(project, ['jail', 'stop'])).code, 0);
      }
    });

    test('prepare imports and indexes without a command; inspect says what runs did', async () => {
      const project = stage.project('echo a > a');
      const prepared = await stage.json(project, ['prepare']);
      assert.equal(prepared['imported'], true);
      assert.equal((await stage.ctx(project, ['inspect'])).code, 1);
      stage.shell(project, 'echo edited > a');
      assert.deepEqual((await stage.json(project, ['prepare']))['entered'], ['a']);

      const envelope = await stage.exec(project, ['sh', '-c', 'echo b > b; exit 4']);
      const last = (await stage.json(project, ['inspect'])) as unknown as InspectedRun;
      assert.deepEqual([last.run, last.state, last.record.end], [envelope.run, 'ended', envelope.record]);
      const { argv, exitCode, changes, decision, checkpoint } = last.facts;
      assert.deepEqual([argv, exitCode, changes], [['sh', '-c', 'echo b > b; exit 4'], 4, ['added b']]);
      assert.deepEqual([decision, checkpoint], [envelope.decision, envelope.checkpoint]);
      await stage.exec(project, ['true']);
      const { runs } = (await stage.json(project, ['inspect', 'main'])) as unknown as { runs: InspectedRun[] };
      assert.equal(runs.length, 2);
      const named = (await stage.json(project, ['inspect', envelope.run])) as unknown as InspectedRun;
      assert.deepEqual(named, last);
      assert.match((await stage.ctx(project, ['inspect', envelope.run])).stdout, /^ending +exit 4$/m);
      assert.equal((await stage.ctx(project, ['inspect', 'nothing-of-this-name'])).code, 1);

      await stage.ctx(project, ['rules', 'add', 'deny', '--', 'touch', 'denied-here']);
      assert.equal((await stage.ctx(project, ['exec', '--', 'touch', 'denied-here'])).code, 13);
      const denied = (await stage.json(project, ['inspect'])) as unknown as InspectedRun;
      assert.deepEqual([denied.state, denied.facts['argv']], ['denied', ['touch', 'denied-here']]);
      const shown = (await stage.ctx(project, ['inspect', denied.run])).stdout;
      assert.match(shown, /^decision +deny by [0-9a-f]+: /m);
      assert.match(shown, /^ending +denied \(EACCES\): /m);
      await stage.exec(project, ['true']);
      assert.equal((await stage.json(project, ['inspect']))['state'], 'ended');
    });

    test(`${many} commands at once, each on its own fork of one vault: every change is its own run's`, async () => {
      const project = stage.project('echo a > a');
      await stage.json(project, ['prepare']);
      for (let number = 0; number < many; number += 1) await stage.ctx(project, ['fork', 'create', `f${number}`]);
      const calls = Array.from({ length: many }, async (_, number) => {
        const words = [
          'exec',
          '--json',
          '--fork',
          `f${number}`,
          '--',
          'sh',
          '-c',
          `cat a; echo ${number} > made-${number}`,
        ];
        const { stdout, stderr } = await stage.ctx(project, words, { timeoutSeconds: 240 });
        return parseJson(stdout, stderr) as Envelope;
      });
      assertAttributed(stage, await Promise.all(calls), 'alone');
      assert.equal(existsSync(join(project, 'made-0')), false);
    });

    test(`${many} commands at once on one fork wait for each other: every change is its own run's`, async () => {
      const project = stage.project();
      const calls = Array.from({ length: many }, async (_, number) => {
        const words = ['exec', '--json', '--wait', '--', 'sh', '-c', `echo ${number} > made-${number}`];
        const { stdout, stderr } = await stage.ctx(project, words, { timeoutSeconds: 240 });
        return parseJson(stdout, stderr) as Envelope;
      });
      assertAttributed(stage, await Promise.all(calls), 'alone');
      assert.equal((await stage.inside(project, 'ls')).split('\n').length - 1, many);
    });

    test('a hundred commands at once in one kept jail: every change is its own run’s, or of one that is named as beside it', async () => {
      const project = stage.project();
      assert.equal((await stage.ctx(project, ['jail', 'start'])).code, 0);
      try {
        const calls = Array.from({ length: 100 }, async (_, number) => {
          const words = ['exec', '--json', '--', 'sh', '-c', `echo ${number} > made-${number}`];
          const { stdout, stderr } = await stage.ctx(project, words, { timeoutSeconds: 240 });
          return parseJson(stdout, stderr) as Envelope;
        });
        const envelopes = await Promise.all(calls);
        assertAttributed(stage, envelopes, 'beside others');
        assert.equal(new Set(envelopes.map(({ keptJail }) => keptJail)).size, 1);
      } finally {
        await stage.ctx(project, ['jail', 'stop']);
      }
    });

    test('a hundred commands at once of one program, each on its own fork of one vault', async (context) => {
      if (dirname(dirname(stage.program)) !== checkout) return context.skip('this user cannot enter the checkout');
      const project = stage.project('echo a > a');
      const script = join(stage.directory, 'hundred.mjs');
      const library = pathToFileURL(join(checkout, 'dist', 'js', 'src', 'index.js')).href;
      writeFileSync(
        script,
        `import { open } from '${library}';
         const first = await open();
         await first.prepare();
         const names = Array.from({ length: 100 }, (_, number) => 'f' + number);
         for (const name of names) await first.createFork(name);
         const envelopes = await Promise.all(names.map(async (fork, number) => {
           const workspace = await open({ fork });
           const envelope = await workspace.exec({ shell: 'cat a; echo x > made-' + number });
           await workspace.close();
           return envelope;
         }));
         await first.close();
         console.log(JSON.stringify(envelopes));`,
      );
      const running = stage.start(project, [process.execPath, script], { timeoutSeconds: 300 });
      const { stdout, stderr } = await running.finished;
      assertAttributed(stage, parseJson(stdout, stderr) as readonly Envelope[], 'alone');
    });

    test('much output costs no more memory than the report holds', async () => {
      const project = stage.project();
      // Some tens of megabytes stay until they are collected, however much there is.
      const size = 200_000_000;
      /** The most memory that ctx had, in kilobytes, with so much output. */
      const peak = async (bytes: number) => {
        const running = stage.startCtx(project, ['exec', '--json', '--', 'sh', '-c', `yes | head -c ${bytes}`]);
        let most = 0;
        const look = () => {
          try {
            const status = readFileSync(`/proc/${running.pid}/status`, 'utf8');
            most = Math.max(most, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0));
          } catch {
            return true; // it has ended
          }
          return running.child.exitCode !== null;
        };
        await until(look, 'it ends', 120);
        const envelope = parseJson((await running.finished).stdout) as Envelope;
        assert.deepEqual([envelope.stdout?.bytes, envelope.stdout?.file?.bytes], [bytes, bytes]);
        return most;
      };
      const [little, much] = [await peak(9_000_000), await peak(size)];
      assert.ok(much - little < (size - 9_000_000) / 2_000, `${little} kB with 9 MB, ${much} kB with ${size / 1e6} MB`);
      if (isSoak) process.stderr.write(`memory: ${little} kB, ${much} kB\n`);
    });
  },
  { concurrency: 1 },
);
