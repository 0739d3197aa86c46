/** `ctx vault create --no-copy`: forks that are on the person's directory itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trashIsEmptied } from '../support/leftovers.js';
import { until } from '../support/process.js';
import { snapshot } from '../support/snapshot.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const sample = 'mkdir -p d/e; echo a > a; echo f > d/f; echo g > d/e/g; ln -s a link; chmod 755 .';
const edits = 'echo b > a; rm -r d; echo file > d; mkdir new; echo n > new/n';

async function create(stage: Stage, project: string): Promise<void> {
  const { code, stdout, stderr } = await stage.ctx(project, ['vault', 'create', '--no-copy', '--json']);
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.equal((parseJson(stdout) as { vault: { copied: boolean } }).vault.copied, false);
}

forEachUser((user) => {
  const stage = useWarmStage(user);

  if (user.uid === 0) {
    test('root is told that only a copy carries shifted owners, and nothing is made', async () => {
      const project = stage.project(sample);
      const { code, stderr } = await stage.ctx(project, ['vault', 'create', '--no-copy']);
      assert.notEqual(code, 0);
      assert.match(stderr, /\(ENOTSUP\)\n {2}try: leave out --no-copy, or give the directory to a user of its own/);
      const theirs = stage.project(`${sample}; chown 1234:1235 .`);
      const told = await stage.ctx(theirs, ['vault', 'create', '--live']);
      assert.equal(told.code, 69);
      assert.match(told.stderr, /try: run ctx as its owner: setpriv --reuid 1234 --regid 1235/);
      assert.equal(await stage.inside(project, 'cat a'), 'a\n');
    });
    return;
  }

  test('a command works on a fork all the same: untouched until apply, undone by rollback', async () => {
    const project = stage.project(sample);
    const before = snapshot(project, { times: false });
    await create(stage, project);
    const first = await stage.exec(project, ['sh', '-c', edits]);
    assert.deepEqual([first.exitCode, first.warnings], [0, []]);
    assert.deepEqual(snapshot(project, { times: false }), before);
    await stage.json(project, ['rollback']);
    assert.equal(await stage.inside(project, 'cat a d/f d/e/g'), 'a\nf\ng\n');
    await stage.inside(project, edits);
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    const twin = stage.project(`${sample}; ${edits}`);
    assert.deepEqual(snapshot(project, { times: false }), snapshot(twin, { times: false }));
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
    const after = await stage.exec(project, ['cat', 'a', 'd', 'new/n']);
    assert.deepEqual([after.stdout?.text, after.warnings], ['b\nfile\nn\n', []]);
    assert.equal((await stage.ctx(project, ['apply', '--undo'])).code, 0);
    assert.deepEqual(snapshot(project, { times: false }), before);
    for (const words of [['flatten'], ['gc'], ['fsck']]) assert.equal((await stage.ctx(project, words)).code, 0);
    assert.deepEqual(snapshot(project, { times: false }), before);
  });

  test('what the person changes between and during commands is in the warnings, and a clash stops apply', async () => {
    const project = stage.project(sample);
    await create(stage, project);
    await stage.inside(project, 'echo fork > a');
    stage.shell(project, 'echo mine > a; echo new > own');
    const between = await stage.exec(project, ['cat', 'a', 'own']);
    assert.equal(between.stdout?.text, 'fork\nnew\n');
    assert.match(between.warnings.join(), /not copied, changed since it was last looked at: .*a, own/);
    assert.deepEqual(between.clashes, ['a']);
    // A name that was asked for is remembered as missing: each is asked for once.
    const script =
      'echo up > marker; for i in $(seq 600); do if test -e go-$i; then exit 0; fi; sleep 0.1; done; exit 9';
    const running = stage.startCtx(project, ['exec', '--json', '--', 'sh', '-c', script]);
    await until(() => stage.shell(stage.store, 'find vault -name marker 2>/dev/null || true') !== '', 'it runs');
    stage.shell(project, 'seq -f go-%g 600 | xargs touch');
    const during = parseJson((await running.finished).stdout) as { exitCode: number; warnings: string[] };
    assert.equal(during.exitCode, 0);
    assert.match(during.warnings.join(), /changed while the command ran: .*go-1, .* and \d+ more/);
    const refused = await stage.json(project, ['apply'], 1);
    assert.deepEqual(refused['conflicts'], ['a']);
    assert.equal(stage.shell(project, 'cat a'), 'mine\n');
  });

  test('deleting the vault deletes a link, not the directory', async () => {
    const project = stage.project(sample);
    const before = snapshot(project, { times: false });
    await create(stage, project);
    await stage.inside(project, edits);
    assert.equal((await stage.ctx(project, ['vault', 'delete', project])).code, 0);
    assert.deepEqual(snapshot(project, { times: false }), before);
    await trashIsEmptied(stage.store);
  });

  test('a kept jail stands on it too', async () => {
    const project = stage.project(sample);
    await create(stage, project);
    assert.equal((await stage.ctx(project, ['jail', 'start'])).code, 0);
    try {
      for (const round of ['1', '2']) {
        const { stdout, stderr } = await stage.ctx(project, ['exec', '--', 'sh', '-c', `cat a d/f; echo ${round} > a`]);
        assert.equal(stdout, `${round === '1' ? 'a' : '1'}\nf\n`, stderr);
      }
      assert.equal(stage.shell(project, 'cat a'), 'a\n');
    } finally {
      await stage.ctx(project, ['jail', 'stop']);
    }
  });
});
