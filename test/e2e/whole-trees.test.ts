/**
 * Directories that are new, or gone, as a whole are one step of an apply (decision 0099). What the person does in one of them, before an
 * undo or while an apply is killed, is known by its path all the same. CTX_TEST_SEED repeats a run, CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom, testSeed } from '../support/random.js';
import { recordsOf } from '../support/record.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const rounds = process.env['CTX_SOAK'] === '1' ? 40 : 3;

const before = 'for d in $(seq 3); do mkdir -p old$d/in; for i in $(seq 20); do echo $i >old$d/in/$i; done; done';
const work = `for d in $(seq 3); do mkdir -p new$d/in; for i in $(seq 20); do echo $i >new$d/in/$i; done; ln -s in new$d/link; done
rm -r old1 old2`;
/** Of three new trees with 22 entries each, and of two that are gone with 21. */
const changes = 3 * 23 + 2 * 22;

/** Paths of the record of an apply, beside what it replaced. */
function appliedPaths(stage: Stage, project: string): readonly string[] {
  const vault = createHash('sha256').update(project).digest('hex').slice(0, 16);
  const layers = join(stage.store, 'vault', vault, 'layer');
  const files = readdirSync(layers).map((name) => join(layers, name, 'applied.json'));
  const text = readFileSync(files.find((path) => existsSync(path)) ?? '', 'utf8');
  return [...text.matchAll(/"path":"([^"]*)"/g)].map(([, path = '']) => path);
}

const contents = (stage: Stage, project: string) =>
  stage.shell(project, 'find . | sort; find . -type f | sort | xargs cat | cksum');

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('an apply tells of every path, keeps a tree as one, and is undone', async () => {
    const project = stage.project(before);
    const whole = contents(stage, project);
    await stage.inside(project, work);
    const applied = JSON.parse((await stage.ctx(project, ['apply', '--json'])).stdout);
    assert.equal(applied.applied.length, changes);
    assert.ok(applied.applied.some(({ path }: { path: string }) => path === 'new2/in/7'));
    assert.deepEqual(Object.keys(applied.applied[0]), ['action', 'path']);
    assert.deepEqual([...appliedPaths(stage, project)].sort(), ['new1/', 'new2/', 'new3/', 'old1/', 'old2/']);
    const record = recordsOf(stage.store).findLast(
      ({ type, facts }) => type === 'apply' && facts?.['origin'] === project,
    );
    assert.equal([record?.facts?.['steps']].flat().length, changes);
    assert.equal(readdirSync(join(project, 'new1/in')).length, 20);
    assert.equal(existsSync(join(project, 'old1')), false);
    const undone = await stage.ctx(project, ['apply', '--undo']);
    assert.equal(undone.stdout, `undone ${changes} steps, ${changes} pending again\n`);
    assert.equal(contents(stage, project), whole);
    assert.equal((await stage.ctx(project, ['apply'])).stdout, `applied ${changes} changes\n`);
  });

  test('an undo in whose way something stands inside a new tree names it, and leaves it where that is asked', async () => {
    const project = stage.project(before);
    await stage.inside(project, work);
    await stage.ctx(project, ['apply']);
    stage.shell(project, 'mkdir old1; for f in new2/in/stranger new3/in/7 old1/again; do echo mine >>$f; done');
    const refused = await stage.ctx(project, ['apply', '--undo']);
    assert.equal(refused.code, 1);
    for (const path of ['new2/in/stranger', 'new3/in/7']) assert.match(refused.stderr, new RegExp(`^  ${path}$`, 'm'));
    assert.equal(readdirSync(join(project, 'new1/in')).length, 20, 'nothing is written');
    const undone = await stage.ctx(project, ['apply', '--undo', '--conflicts', 'ours']);
    assert.equal(undone.code, 0, undone.stderr);
    assert.equal(existsSync(join(project, 'new1')), false);
    assert.deepEqual(readdirSync(join(project, 'new2/in')), ['stranger']);
    assert.deepEqual(readdirSync(join(project, 'new3/in')), ['7']);
    assert.equal(readFileSync(join(project, 'new3/in/7'), 'utf8'), '7\nmine\n');
    assert.equal(readFileSync(join(project, 'old1/again'), 'utf8'), 'mine\n');
    assert.equal(readdirSync(join(project, 'old2/in')).length, 20);
  });

  test('what is sensitive in a new tree is held back, and the rest comes', async () => {
    const project = stage.project('mkdir .git .git/objects .git/refs; echo ref: refs/heads/main >.git/HEAD');
    await stage.inside(
      project,
      `${work.split('\n')[0]}; echo x >new1/.envrc; echo x >new2/in/.bashrc; mkdir new3/.vscode; echo {} >new3/.vscode/tasks.json`,
    );
    const applied = await stage.ctx(project, ['apply', '--json']);
    const { heldBack, withheld } = JSON.parse(applied.stdout);
    assert.deepEqual([...withheld].sort(), ['new1/.envrc', 'new2/in/.bashrc', 'new3/.vscode/tasks.json']);
    for (const path of withheld) assert.equal(existsSync(join(project, path)), false, `${path} of ${heldBack}`);
    for (const tree of ['new1', 'new2', 'new3']) assert.ok(existsSync(join(project, tree, 'in/20')));
  });

  test('another fork that changed a path of such a tree clashes with it, and with nothing else', async () => {
    const project = stage.project(before);
    await stage.inside(project, work);
    assert.equal((await stage.ctx(project, ['fork', 'create', 'other'])).code, 0);
    await stage.ctx(project, ['drop']);
    await stage.inside(project, 'mkdir -p new1/in; echo other >new1/in/3; echo other >old1/in/5');
    assert.equal((await stage.ctx(project, ['apply', '--fork', 'other'])).code, 0);
    const refused = await stage.ctx(project, ['apply']);
    assert.equal(refused.code, 1);
    const named = refused.stderr.split('\n').filter((line) => /^ {2}(new|old)/.test(line));
    assert.ok(named.includes('  new1/in/3') && named.some((line) => line.startsWith('  old1')), refused.stderr);
    assert.ok(
      named.every((line) => /^ {2}(new1|old1)/.test(line)),
      refused.stderr,
    );
  });

  test(`kill -9 in the middle leaves every tree whole or not at all, and the same call goes on, CTX_TEST_SEED=${testSeed}`, async () => {
    const random = randomFrom(testSeed);
    const project = stage.project(before);
    const whole = contents(stage, project);
    await stage.inside(project, work);
    for (let round = 0; round < rounds; round++) {
      for (const words of [['apply'], ['apply', '--undo']]) {
        const running = stage.startCtx(project, words, { detached: true });
        await sleep(200 + random() * 600);
        try {
          process.kill(-running.pid, 'SIGKILL');
        } catch {
          // It had ended before.
        }
        await running.finished;
        for (const tree of ['new1', 'new2', 'new3'].filter(
          (name) => words.length === 1 && existsSync(join(project, name)),
        ))
          assert.equal(readdirSync(join(project, tree, 'in')).length, 20, tree);
        const again = await stage.ctx(project, words);
        assert.ok(again.code === 0 || /ENOENT/.test(again.stderr), again.stderr);
        if (words.length > 1) assert.equal(contents(stage, project), whole);
        else assert.equal(existsSync(join(project, 'new3/in/20')), true);
      }
    }
    rmSync(join(project, 'old3'), { recursive: true });
  });
});
