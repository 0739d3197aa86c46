/** What becomes of a command before it runs: allowed, denied, or left to a person, as the defaults and the operator's rules have it. */
import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { Decision } from '../../src/proxy/approval/decision.js';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { inKeptJail } from '../support/kept-jail.js';
import type { Running } from '../support/process.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

interface Waiting {
  readonly id: string;
  readonly argv: readonly string[];
  readonly status: string;
}

async function approvals(stage: Stage, project: string, ...options: readonly string[]): Promise<readonly Waiting[]> {
  const { stdout, stderr } = await stage.ctx(project, ['approvals', 'list', '--json', ...options]);
  return (parseJson(stdout, stderr) as { approvals: readonly Waiting[] }).approvals;
}

/** The request that waits for a command which has `word` among its words, once the command has said that it waits. */
async function waitingFor(stage: Stage, project: string, word: string, running: Running): Promise<Waiting> {
  await running.printed('ctx approvals grant');
  const found = (await approvals(stage, project)).find(({ argv }) => argv.includes(word));
  assert.ok(found, `no request for ${word}`);
  return found;
}

forEitherUser((user) => {
  const stage = useWarmStage(user);
  before(() => rmSync(stage.rules));

  async function refused(project: string, words: readonly string[]): Promise<Decision & { code: number | null }> {
    const { code, stdout, stderr } = await stage.ctx(project, ['exec', '--json', '--wait', ...words]);
    const { decision } = parseJson(stdout, stderr) as { decision: Decision };
    return { ...decision, code };
  }

  test('a command that looks, and one that changes, run and say what was decided', async () => {
    const project = stage.project('echo a > a');
    const looked = await stage.exec(project, ['cat', 'a']);
    assert.equal(looked.stdout?.text, 'a\n');
    assert.deepEqual(looked.decision, {
      action: 'allow',
      categories: ['read_only'],
      reason: 'cat is read_only',
      rule: 'default',
    });
    const removed = await stage.exec(project, ['sh', '-c', 'cd . && rm a']);
    assert.equal(removed.decision.action, 'allow_with_checkpoint');
    assert.deepEqual(removed.decision.categories, ['destructive']);
    assert.equal(removed.approval, null);
  });

  test('a command that reaches for the host is denied, makes nothing, and is in the record', async () => {
    const project = stage.project();
    const { action, code, categories, reason } = await refused(project, ['--', 'sh', '-c', 'nice sudo ls']);
    assert.deepEqual([action, code, categories], ['deny', 13, ['host_escape_risk']]);
    assert.match(reason, /nothing in a jail can gain any; run it yourself, outside/);
    const { stderr } = await stage.ctx(project, ['exec', '--', 'docker', 'run', 'x']);
    assert.match(stderr, /docker speaks to a daemon that acts on the host as root/);
    assert.match(stderr, /ctx rules add allow_with_checkpoint --class host_escape_risk/);
    const { stdout } = await stage.ctx(project, ['exec', '--', 'ls', '-A']);
    assert.equal(stdout, '');
  });

  test('a person’s networked command runs without a network, and is told so where it failed', async () => {
    const project = stage.project('git init -q .');
    const { exitCode, decision, warnings } = await stage.exec(project, ['git', 'ls-remote', 'https://example.org/x']);
    assert.notEqual(exitCode, 0);
    assert.equal(decision.action, 'allow_with_checkpoint');
    assert.ok(
      warnings.some((text) => text.includes('no network is granted, so it cannot connect; --net HOST grants one')),
    );
    const local = await stage.exec(project, ['git', 'ls-remote', '.']);
    assert.deepEqual([local.exitCode, local.warnings], [0, []]);
  });

  test('a text for the shell runs, is read first, and knows no other command', async () => {
    const project = stage.project('mkdir sub; echo b > sub/b');
    const shell = await stage.ctx(project, ['exec', '--cwd', 'sub', '--shell', 'cat b && echo "$0" | tr a-z A-Z']);
    assert.deepEqual([shell.code, shell.stdout], [0, 'b\nBASH\n']);
    assert.equal((await refused(project, ['--shell', 'ls; sudo ls'])).action, 'deny');
    assert.equal((await stage.ctx(project, ['exec', '--shell', 'ls', '--', 'ls'])).code, 2);
  });

  test('a workspace that is shown read-only is', async () => {
    const project = stage.project('echo a > a; mkdir d');
    const script = 'cat a; echo x > a; echo x > d/x; rm a; echo ok > /tmp/x && cat /tmp/x';
    const { stdout, code } = await stage.ctx(project, ['exec', '--readonly', '--', 'sh', '-c', script]);
    assert.deepEqual([code, stdout], [0, 'a\nok\n']);
    assert.equal((await stage.ctx(project, ['diff', '--names'])).stdout, '');
  });

  test('a rule denies, and another lets run; both are only the operator’s', async () => {
    const project = stage.project('git init -q .');
    const elsewhere = { CTX_DATA: stage.makeDirectory('rules-store') };
    const ctx = (words: readonly string[]) => stage.ctx(project, words, { env: elsewhere });
    const added = await ctx(['rules', 'add', '--json', 'deny', '--', 'git', 'gc']);
    const { rule } = parseJson(added.stdout, added.stderr) as { rule: { id: string } };
    const denied = await ctx(['exec', '--', 'sh', '-c', 'git -C . gc --quiet']);
    assert.equal(denied.code, 13);
    assert.match(denied.stderr, new RegExp(`ctx rules list shows rule ${rule.id}`));
    assert.equal((await ctx(['rules', 'test', '--', 'git', 'gc'])).code, 13);
    assert.match((await ctx(['rules', 'list'])).stdout, /deny +\* +git gc/);
    assert.equal((await ctx(['rules', 'add', 'allow', '--', 'git', 'gc', '--quiet'])).code, 0);
    assert.equal((await ctx(['exec', '--', 'git', 'gc', '--quiet'])).code, 0);
    assert.equal((await ctx(['rules', 'rm', rule.id])).code, 0);
    assert.equal((await ctx(['rules', 'rm', rule.id])).code, 1);
    assert.equal((await ctx(['rules', 'add', 'permit', '--', 'ls'])).code, 2);
    writeFileSync(join(elsewhere.CTX_DATA, 'ctx', 'rules.json'), '{"version":1,"rules":[{"action":"allow"}]}');
    const damaged = await ctx(['exec', '--', 'ls']);
    assert.equal(damaged.code, 2);
    assert.match(damaged.stderr, /expected an agent's name/);
  });

  test('an agent’s command waits for an approval, and runs when it is granted, once', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'fetcher'])).code, 0);
    const words = [
      'exec',
      '--agent',
      'fetcher',
      '--report',
      'never',
      '--',
      'sh',
      '-c',
      'true || curl granted; echo ran',
    ];
    const running = stage.startCtx(project, words);
    const { id } = await waitingFor(stage, project, 'true || curl granted; echo ran', running);
    await running.printed(`ctx approvals grant ${id}`);
    const shown = await stage.ctx(project, ['approvals', 'show', id]);
    assert.match(shown.stdout, /agent fetcher asks for approval/);
    assert.match(shown.stdout, /networked: curl is networked; agent fetcher is granted no network/);
    assert.equal((await stage.ctx(project, ['approvals', 'grant', id])).code, 0);
    const { code, stdout } = await running.finished;
    assert.deepEqual([code, stdout], [0, 'ran\n']);
    assert.equal((await approvals(stage, project, '--all')).find((each) => each.id === id)?.status, 'used');
    assert.equal((await stage.ctx(project, ['approvals', 'grant', id])).code, 1);
    const again = await stage.ctx(project, [...words.slice(0, 1), '--approval-wait', '300ms', ...words.slice(1)]);
    assert.equal(again.code, 13);
    assert.match(again.stderr, /no answer came in time/);
  });

  test('an approval can come with a network, and gives no more of it than was said', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'netted'])).code, 0);
    const before = (await stage.json(project, ['surface', '--agent', 'netted']))['digest'];
    const words = ['exec', '--json', '--agent', 'netted', '--', 'curl', '-sS', 'https://other.example.org/'];
    const running = stage.startCtx(project, words);
    const { id } = await waitingFor(stage, project, 'https://other.example.org/', running);
    const asRule = await stage.ctx(project, ['approvals', 'grant', id, '--for', 'rule', '--net', 'example.org']);
    assert.equal(asRule.code, 2);
    assert.equal((await stage.ctx(project, ['approvals', 'grant', id, '--net', 'not a host'])).code, 2);
    assert.equal((await stage.ctx(project, ['approvals', 'grant', id, '--net', 'example.org'])).code, 0);
    const { stdout, stderr } = await running.finished;
    const { connections, authority, approval, warnings } = parseJson(stdout, stderr) as Envelope;
    assert.deepEqual(
      connections.map(({ host, verdict }) => [host, verdict]),
      [['other.example.org', 'refused']],
    );
    assert.equal(approval, id);
    assert.notEqual(authority, before);
    assert.deepEqual(warnings, []);
  });

  test('a denied command does not run, and says who said so and why', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'denied'])).code, 0);
    const running = stage.startCtx(project, ['exec', '--agent', 'denied', '--', 'sh', '-c', 'touch ran; curl denied']);
    const { id } = await waitingFor(stage, project, 'touch ran; curl denied', running);
    assert.equal((await stage.ctx(project, ['approvals', 'deny', id, '--why', 'use \u001b[31mthe mirror'])).code, 0);
    const { code, stderr } = await running.finished;
    assert.equal(code, 13);
    assert.match(stderr, new RegExp(`uid ${user.uid} denied it: use \\\\e\\[31mthe mirror`));
    assert.equal((await stage.ctx(project, ['diff', '--names'])).stdout, '');
  });

  test('a request ends with the process that asked: nobody else runs by its answer', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'restarted'])).code, 0);
    const words = ['--agent', 'restarted', '--report', 'never', '--', 'sh', '-c', 'true || curl restarted; echo ran'];
    const running = stage.startCtx(project, ['exec', ...words]);
    const { id } = await waitingFor(stage, project, 'true || curl restarted; echo ran', running);
    running.child.kill('SIGKILL');
    await running.finished;
    const granted = await stage.ctx(project, ['approvals', 'grant', id]);
    assert.equal(granted.code, 1);
    assert.match(granted.stderr, /is expired/);
    assert.equal((await stage.ctx(project, ['exec', '--approval-wait', '200ms', ...words])).code, 13);
  });

  test('a grant for the session is for these words, this environment and this fork', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'bound'])).code, 0);
    const words = ['--agent', 'bound', '--report', 'never', '--', 'sh', '-c', 'true || curl bound; echo ran'];
    const running = stage.startCtx(project, ['exec', '--env', 'A=b', ...words]);
    const { id } = await waitingFor(stage, project, 'true || curl bound; echo ran', running);
    assert.match((await stage.ctx(project, ['approvals', 'show', id])).stdout, /^ {2}environment: A=b$/m);
    assert.equal((await stage.ctx(project, ['approvals', 'grant', id, '--for', 'session'])).code, 0);
    assert.equal((await running.finished).stdout, 'ran\n');
    const again = (more: readonly string[]) =>
      stage.ctx(project, ['exec', '--wait', '--approval-wait', '200ms', ...more, ...words]);
    assert.equal((await again(['--env', 'A=b'])).stdout, 'ran\n');
    assert.equal((await stage.ctx(project, ['fork', 'create', 'other'])).code, 0);
    for (const more of [
      ['--env', 'A=c'],
      ['--env', 'A=b', '--fork', 'other'],
      ['--env', 'A=b', '--readonly'],
    ]) {
      assert.equal((await again(more)).code, 13, more.join(' '));
    }
  });

  test('a fork that changes while the approval is waited for is not what was approved', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'stale'])).code, 0);
    const script = 'touch ran; true || curl stale';
    const running = stage.startCtx(project, ['exec', '--agent', 'stale', '--', 'sh', '-c', script]);
    const { id } = await waitingFor(stage, project, script, running);
    assert.equal((await stage.ctx(project, ['exec', '--', 'touch', 'planted'])).code, 0);
    assert.equal((await stage.ctx(project, ['approvals', 'grant', id])).code, 0);
    const { code, stderr } = await running.finished;
    assert.equal(code, 1);
    assert.match(stderr, /the fork changed after the approval was asked for/);
    assert.equal((await stage.ctx(project, ['diff', '--names'])).stdout.includes('ran'), false);
  });

  test('a grant for the session, or as a rule, is not asked for again', async () => {
    const project = stage.project();
    for (const scope of ['session', 'rule']) {
      assert.equal((await stage.ctx(project, ['agent', 'new', scope])).code, 0);
      const words = ['exec', '--agent', scope, '--report', 'never', '--', 'curl', '--version', scope];
      const running = stage.startCtx(project, words);
      const { id } = await waitingFor(stage, project, scope, running);
      assert.equal((await stage.ctx(project, ['approvals', 'grant', id, '--for', scope])).code, 0);
      assert.match((await running.finished).stdout, /^curl /);
      assert.equal((await stage.ctx(project, ['exec', '--wait', '--', 'touch', `changed-${scope}`])).code, 0);
      assert.match((await stage.ctx(project, words)).stdout, /^curl /);
    }
    assert.match(
      (await stage.ctx(project, ['rules', 'list'])).stdout,
      /allow_with_checkpoint +rule +curl --version rule/,
    );
  });

  test('rules that are added and removed at once are all added and removed', async () => {
    const project = stage.project();
    const names = Array.from({ length: 12 }, (_, index) => `program-${index}`);
    const add = (name: string) => stage.ctx(project, ['rules', 'add', 'deny', '--json', '--', name]);
    const ids = (await Promise.all(names.map(add))).map(
      ({ stdout, stderr }) => (parseJson(stdout, stderr) as { rule: { id: string } }).rule.id,
    );
    const listed = (await stage.ctx(project, ['rules', 'list'])).stdout;
    for (const name of names) assert.match(listed, new RegExp(`${name}$`, 'm'));
    const more = await Promise.all([
      ...ids.map((id) => stage.ctx(project, ['rules', 'rm', id])),
      ...names.map((name) => add(`${name}-more`)),
    ]);
    assert.deepEqual(new Set(more.map(({ code }) => code)), new Set([0]));
    const left = (await stage.ctx(project, ['rules', 'list'])).stdout;
    for (const name of names) {
      assert.match(left, new RegExp(`${name}-more$`, 'm'));
      assert.doesNotMatch(left, new RegExp(`${name}$`, 'm'));
    }
  });

  test('a command of a kept jail waits, says so, and can be interrupted', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'kept'])).code, 0);
    stage.shell(project, `'${stage.program}' jail start --agent kept < /dev/null > /dev/null 2>&1`);
    try {
      const words = ['jail', 'exec', '--', 'sh', '-c', 'true || curl kept; echo ran'];
      const running = stage.startCtx(project, words);
      const { id } = await waitingFor(stage, project, 'true || curl kept; echo ran', running);
      await running.printed(`ctx approvals grant ${id}`);
      assert.equal((await stage.ctx(project, ['approvals', 'grant', id])).code, 0);
      assert.equal((await running.finished).stdout, 'ran\n');
      const second = stage.startCtx(project, words);
      const asked = await waitingFor(stage, project, 'true || curl kept; echo ran', second);
      second.child.kill('SIGINT');
      assert.notEqual((await second.finished).code, 0);
      assert.equal((await stage.ctx(project, ['approvals', 'grant', asked.id])).code, 1);
    } finally {
      await stage.ctx(project, ['jail', 'stop']);
    }
  });

  test('an approval of a kept jail’s command can come with a network: for that command alone, on the same fork', async () => {
    const project = stage.project('echo original > file');
    assert.equal((await stage.ctx(project, ['agent', 'new', 'widened'])).code, 0);
    const options = ['--agent', 'widened'];
    await inKeptJail(
      stage,
      async () => {
        const namespace = async () =>
          (await stage.ctx(project, ['jail', 'exec', '--', 'readlink', '/proc/self/ns/pid'])).stdout;
        const kept = await namespace();
        const script = 'cat > given; readlink /proc/self/ns/pid; curl -sS https://other.example.org/; sleep 1000 &';
        const words = ['jail', 'exec', '--report', 'always', '--', 'sh', '-c', script];
        const running = stage.startCtx(project, words, { input: 'input' });
        const { id } = await waitingFor(stage, project, script, running);
        assert.equal((await stage.ctx(project, ['approvals', 'grant', id, '--net', 'example.org'])).code, 0);
        const { code, stdout, stderr } = await running.finished;
        assert.equal(code, 0, stderr);
        assert.match(stderr, /refused.*other\.example\.org/, 'it has a network, and of that no more than was said');
        assert.match(stderr, /ran in a jail of its own/);
        assert.notEqual(stdout, kept);
        // The kept jail goes on, without that network, on what the command wrote.
        assert.equal(await namespace(), kept);
        const next = await stage.ctx(project, [
          'jail',
          'exec',
          '--',
          'sh',
          '-c',
          'cat given; echo; env | grep -i proxy',
        ]);
        assert.equal(next.stdout, 'input\n');
      },
      { project, options },
    );
  });

  test('it is refused while something runs in the kept jail’s background, with what to do', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'patient'])).code, 0);
    await inKeptJail(
      stage,
      async () => {
        const inside = (script: string) => stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', script]);
        await inside('sleep 1000 &');
        const script = 'true || curl patient; echo ran';
        const running = stage.startCtx(project, ['jail', 'exec', '--', 'sh', '-c', script]);
        const { id } = await waitingFor(stage, project, script, running);
        assert.equal((await stage.ctx(project, ['approvals', 'grant', id, '--net', 'example.org'])).code, 0);
        assert.match((await running.finished).stderr, /could change what was approved.*ESTALE/);
      },
      { project, options: ['--agent', 'patient'] },
    );
  });

  test('whoever goes away takes the request along', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'gone'])).code, 0);
    const running = stage.startCtx(project, ['exec', '--agent', 'gone', '--', 'curl', 'gone']);
    const { id } = await waitingFor(stage, project, 'gone', running);
    running.child.kill('SIGINT');
    assert.equal((await running.finished).code, 130);
    assert.equal((await stage.ctx(project, ['approvals', 'grant', id])).code, 1);
  });

  test('at a terminal the question is asked there, with nothing of the command’s own in control', async () => {
    const project = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'seated'])).code, 0);
    const evil = 'true || curl seated; printf "%s" ran; : \u001b[2J\u202e';
    const argument = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
    const line = [stage.program, 'exec', '--agent', 'seated', '--report', 'never', '--', 'sh', '-c', evil]
      .map(argument)
      .join(' ');
    for (const [said, code, ran] of [
      ['n', 13, false],
      ['y', 0, true],
    ] as const) {
      // The typist waits until the question is there, and stays to the end: the terminal shows its going, too. What is seen is kept
      // elsewhere: an edit here would make the answer stale.
      const typist = `until grep -q 'Run it' ../seen-terminal; do sleep 0.05; done; echo ${said}; until test -e ../ended; do sleep 0.05; done`;
      const seated = `${line}; code=$?; : > ../ended; exit $code`;
      const script = `: > ../seen-terminal; rm -f ../ended; { ${typist}; } | script -qefc ${argument(seated)} ../seen-terminal`;
      const { code: ended, stdout } = await stage.start(project, ['sh', '-c', script]).finished;
      assert.equal(ended, code, stdout);
      assert.match(stdout, /agent seated asks for approval/);
      assert.equal(stdout.includes('\u001b[2J'), false);
      assert.equal(/ran\s*$/.test(stdout), ran, JSON.stringify(stdout));
    }
  });

  test('nothing in a jail can see a request, answer it, or add a rule', async () => {
    const project = stage.project();
    const other = stage.project();
    assert.equal((await stage.ctx(project, ['agent', 'new', 'inside'])).code, 0);
    const running = stage.startCtx(project, ['exec', '--agent', 'inside', '--', 'curl', 'inside']);
    const { id } = await waitingFor(stage, project, 'inside', running);
    const directory = join(stage.store, 'approval', id);
    assert.ok(existsSync(join(directory, 'asked.json')));
    // The attack works for the process that has the store, and the store is not there for the process that is jailed, even if it is asked for.
    const answer = JSON.stringify({
      version: 1,
      granted: true,
      scope: 'once',
      at: Date.now(),
      by: 'me',
      why: '',
      network: [],
    });
    const forged = `mkdir -p ${directory} && echo '${answer}' > ${directory}/answer.json; ls ${stage.store} | wc -l`;
    for (const options of [[], ['--write', stage.store], ['--write', stage.directory], ['--read', stage.store]]) {
      await stage.ctx(other, ['exec', '--wait', ...options, '--', 'sh', '-c', forged]);
      assert.equal(existsSync(join(directory, 'answer.json')), false, options.join(' '));
    }
    const program = await stage.ctx(other, ['exec', '--wait', '--', stage.program, 'approvals', 'grant', id]);
    assert.notEqual(program.code, 0);
    assert.equal(existsSync(join(directory, 'answer.json')), false);
    writeFileSync(join(directory, 'answer.json'), answer);
    const { stderr } = await running.finished;
    assert.match(stderr, /Could not resolve host: inside/);
  });

  test('every decision is in the record, before its effect', async () => {
    const project = stage.project();
    await stage.ctx(project, ['exec', '--', 'umount', 'x']);
    await stage.exec(project, ['touch', 'x']);
    const { stdout } = await stage.ctx(project, ['audit', 'query', '--json']);
    const records = stdout.split('\n').filter((line) => line.includes(project));
    const denied = records.find((line) => line.includes('"umount"'));
    const begun = records.find((line) => line.includes('"touch"'));
    assert.match(denied ?? '', /"action":"deny".*"status":"denied"/);
    assert.match(begun ?? '', /"action":"allow_with_checkpoint".*"status":"begin"/);
  });
});
