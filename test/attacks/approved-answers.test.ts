/**
 * An answer is for exactly what was shown, to the caller for it: other input, other askers and other answers do not
 * ride on it.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

interface Waiting {
  readonly id: string;
  readonly status: string;
  readonly directory: string;
}

forEitherUser((user) => {
  const stage = useWarmStage(user);
  before(() => {
    const rules = ['sh', 'true'].map((name) => ({
      action: 'require_approval',
      agent: '*',
      match: { command: [name] },
    }));
    writeFileSync(stage.rules, JSON.stringify({ version: 1, rules }));
  });

  const waiting = async (project: string): Promise<string> => {
    for (const end = Date.now() + 60_000; Date.now() < end; ) {
      const { approvals } = (await stage.json(project, ['approvals', 'list'])) as { approvals: readonly Waiting[] };
      const found = approvals.find(({ directory }) => directory === project);
      if (found !== undefined) return found.id;
      await sleep(50);
    }
    return assert.fail('nothing waits');
  };
  const answer = (project: string, ...words: readonly string[]) => stage.ctx(project, ['approvals', ...words]);

  test('a grant for the session is for the input that was shown', async () => {
    const project = stage.project('echo "echo a" > ../a; echo "echo b" > ../b');
    const reading = (file: string) => {
      const words = `'${stage.program}' exec --approval-wait 20s --report never -- sh < ../${file}`;
      return stage.start(project, ['sh', '-c', words]);
    };
    const first = reading('a');
    const id = await waiting(project);
    assert.match(
      (await answer(project, 'show', id)).stdout,
      /input: 7 bytes, sha256:[0-9a-f]{64}, beginning with: echo a/,
    );
    const asRule = await answer(project, 'grant', id, '--for', 'rule');
    assert.equal(asRule.code, 2, 'a rule would let other input through');
    assert.equal((await answer(project, 'grant', id, '--for', 'session')).code, 0);
    assert.equal((await first.finished).stdout, 'a\n');
    assert.equal((await reading('a').finished).stdout, 'a\n');
    const other = reading('b');
    await answer(project, 'deny', await waiting(project));
    assert.equal((await other.finished).code, 13);
  });

  test('input that changes while the question waits is not what was approved', async () => {
    const project = stage.project('echo "echo good" > ../input');
    const running = stage.start(project, ['sh', '-c', `'${stage.program}' exec -- sh < ../input`]);
    const id = await waiting(project);
    stage.shell(project, 'echo "echo evil" > ../input');
    assert.equal((await answer(project, 'grant', id)).code, 0);
    const { stdout, stderr } = await running.finished;
    assert.equal(stdout, '');
    assert.match(stderr, /the input changed .*ESTALE/);
  });

  test('input of a kept jail’s command is shown where it is a file, and what was shown is what is read', async () => {
    const project = stage.project('echo "echo good" > ../shown');
    assert.equal((await stage.ctx(project, ['jail', 'start'])).code, 0);
    try {
      const reading = (from: string) =>
        stage.start(project, ['sh', '-c', `'${stage.program}' exec --report never -- sh < ${from}`]);
      const first = reading('../shown');
      const id = await waiting(project);
      const { stdout } = await answer(project, 'show', id);
      assert.match(stdout, /input: 10 bytes, sha256:[0-9a-f]{64}, beginning with: echo good/);
      // In place: the client has this very file open.
      stage.shell(project, 'echo "echo evil" > ../shown');
      assert.equal((await answer(project, 'grant', id, '--for', 'session')).code, 0);
      assert.equal((await first.finished).stdout, 'good\n');
      const other = reading('../shown');
      await answer(project, 'deny', await waiting(project));
      assert.equal((await other.finished).code, 13, 'the grant is for the input that was shown');
      const nothing = reading('/dev/null');
      const last = await waiting(project);
      assert.doesNotMatch((await answer(project, 'show', last)).stdout, /input:/);
      await answer(project, 'grant', last);
      assert.equal((await nothing.finished).code, 0);
    } finally {
      await stage.ctx(project, ['jail', 'stop']);
    }
  });

  test('input that is not known is granted once, and the question says so', async () => {
    const project = stage.project();
    const running = stage.startCtx(project, ['exec', '--report', 'never', '--', 'sh'], { input: 'echo piped' });
    const id = await waiting(project);
    assert.match((await answer(project, 'show', id)).stdout, /input: not known yet .* once only/);
    for (const scope of ['session', 'rule']) {
      assert.match((await answer(project, 'grant', id, '--for', scope)).stderr, /granted once only/);
    }
    assert.equal((await answer(project, 'grant', id)).code, 0);
    assert.equal((await running.finished).stdout, 'piped\n');
  });

  test('of an answer as a rule and a denial at once one wins, and the rule is there only where it did', async () => {
    const project = stage.project();
    for (let round = 0; round < (process.env['CTX_SOAK'] === '1' ? 50 : 3); round += 1) {
      const name = `round-${round}`;
      const running = stage.startCtx(project, ['exec', '--report', 'never', '--', 'true', name]);
      const id = await waiting(project);
      const [granted] = await Promise.all([answer(project, 'grant', id, '--for', 'rule'), answer(project, 'deny', id)]);
      const ran = (await running.finished).code === 0;
      const rules = (await stage.ctx(project, ['rules', 'list'])).stdout;
      assert.deepEqual([granted.code === 0, rules.includes(`true ${name}`)], [ran, ran], rules);
    }
  });

  test('an answer whose giver was killed is finished by whoever reads it', async () => {
    const project = stage.project();
    const running = stage.startCtx(project, ['exec', '--report', 'never', '--', 'true', 'unfinished']);
    const id = await waiting(project);
    const given = { version: 1, granted: true, scope: 'rule', at: Date.now(), by: 'test', why: '', network: [] };
    const draft = join(stage.store, 'approval', id, 'answer.json');
    stage.shell(project, `printf '%s' '${JSON.stringify(given)}' > '${draft}.draft'; ln '${draft}.draft' '${draft}'`);
    assert.equal((await running.finished).code, 0);
    assert.match((await stage.ctx(project, ['rules', 'list'])).stdout, /true unfinished/);
    const grants = readFileSync(join(stage.store, 'approval', id, 'settled'));
    assert.equal(grants.length, 0);
  });
});
