/** Moments of a fork, and forks of forks: whatever a command did can be undone, and ideas can be tried side by side. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { trashIsEmptied } from '../support/leftovers.js';
import { snapshot } from '../support/snapshot.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { asOneUser, forEitherUser } from '../support/users.js';

async function insideFork(stage: Stage, cwd: string, fork: string, script: string): Promise<string> {
  const { code, stdout, stderr } = await stage.ctx(cwd, ['exec', '--fork', fork, '--wait', '--', 'sh', '-c', script]);
  assert.equal(code, 0, `${script}\n${stdout}${stderr}`);
  return stdout;
}

async function refusal(stage: Stage, cwd: string, words: readonly string[], code: number): Promise<string> {
  const done = await stage.ctx(cwd, words);
  assert.equal(done.code, code, `ctx ${words.join(' ')}\n${done.stdout}${done.stderr}`);
  return done.stderr;
}

const pathsOf = (value: unknown) => (value as { path: string }[]).map(({ path }) => path);

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('rollback undoes the last command, then the one before it, until nothing is left to undo', async () => {
    const project = stage.project('echo base > a; mkdir d; echo d > d/f');
    await stage.inside(project, 'echo one > a; echo one > one');
    await stage.inside(project, 'rm -r d; mkdir d; echo two > d/two; ln -s a link; chmod 600 a');
    await stage.inside(project, 'cat a');
    const first = await stage.json(project, ['rollback']);
    assert.deepEqual(pathsOf(first['undone']).sort(), ['a', 'd/f', 'd/two', 'link']);
    assert.equal(await stage.inside(project, 'cat a d/f; ls; stat -c %a a'), 'one\nd\na\nd\none\n644\n');
    await stage.json(project, ['rollback']);
    assert.equal(await stage.inside(project, 'cat a; ls'), 'base\na\nd\n');
    assert.match(await refusal(stage, project, ['rollback'], 1), /nothing to undo/);
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
  });

  test('a rollback is undone by the number of the checkpoint it left', async () => {
    const project = stage.project('echo base > a');
    await stage.inside(project, 'echo one > a');
    await stage.json(project, ['rollback']);
    const { checkpoints } = (await stage.json(project, ['checkpoint', 'list'])) as {
      checkpoints: { id: number; reason: string; undone?: boolean }[];
    };
    const left = checkpoints.find(({ reason }) => reason.startsWith('rollback'));
    assert.equal(left?.undone, true);
    await stage.json(project, ['rollback', String(left?.id)]);
    assert.equal(await stage.inside(project, 'cat a'), 'one\n');
  });

  test('the moment that a rollback went to is one that a later rollback can go to', async () => {
    const project = stage.project('echo base > a');
    for (const text of ['one', 'two', 'three']) await stage.inside(project, `echo ${text} > a`);
    const ids = async () =>
      (
        (await stage.json(project, ['checkpoint', 'list'])) as unknown as {
          checkpoints: { id: number; undone?: boolean }[];
        }
      ).checkpoints;
    const [, second] = await ids();
    await stage.json(project, ['rollback', String(second?.id)]);
    assert.equal(await stage.inside(project, 'cat a'), 'one\n');
    const undone = (await ids()).filter((each) => each.undone === true).map(({ id }) => id);
    assert.ok(undone.every((id) => id > (second?.id ?? 0)) && undone.length > 0, JSON.stringify(undone));
    await stage.inside(project, 'echo four > a');
    await stage.json(project, ['rollback']);
    assert.equal(await stage.inside(project, 'cat a'), 'one\n');
    await stage.json(project, ['rollback']);
    assert.equal(await stage.inside(project, 'cat a'), 'base\n');
  });

  test('a saved checkpoint is found by its name, shows what changed since, and can be restored and deleted', async () => {
    const project = stage.project('echo base > a');
    await stage.inside(project, 'echo one > a');
    await stage.json(project, ['checkpoint', 'save', 'good']);
    await stage.inside(project, 'echo two > a; echo two > b');
    await stage.inside(project, 'rm a');
    const since = await stage.json(project, ['diff', '--since', 'good']);
    assert.deepEqual(pathsOf(since['changes']), ['a', 'b']);
    const info = await stage.json(project, ['checkpoint', 'info', 'good']);
    assert.deepEqual(pathsOf(info['changes']), ['a', 'b']);
    const text = await stage.ctx(project, ['diff', '--since', 'good']);
    assert.match(text.stdout, /--- a\/a\n\+\+\+ \/dev\/null\n@@ -1,1 \+0,0 @@\n-one\n/);
    await stage.json(project, ['checkpoint', 'restore', 'good']);
    assert.equal(await stage.inside(project, 'cat a; ls'), 'one\na\n');
    assert.match(await refusal(stage, project, ['checkpoint', 'save', 'good'], 1), /already.*\(EEXIST\)/);
    await stage.json(project, ['checkpoint', 'delete', 'good']);
    assert.match(await refusal(stage, project, ['rollback', 'good'], 1), /no checkpoint 'good'.*\(ENOENT\)/);
  });

  test('rollback never goes forward, to a checkpoint that was saved after where the fork stands', async () => {
    const project = stage.project('echo base > a');
    await stage.inside(project, 'echo one > a');
    await stage.json(project, ['checkpoint', 'save', 'good']);
    await stage.inside(project, 'echo two > a');
    await stage.json(project, ['rollback', '1']);
    assert.match(await refusal(stage, project, ['rollback'], 1), /nothing to undo/);
    await stage.json(project, ['rollback', 'good']);
    assert.equal(await stage.inside(project, 'cat a'), 'one\n');
    await stage.json(project, ['rollback']);
    assert.equal(await stage.inside(project, 'cat a'), 'base\n');
  });

  test('single paths go back, everything else stays', async () => {
    const project = stage.project('mkdir -p d/e; echo base > a; echo base > d/f; echo base > d/e/g; echo base > gone');
    await stage.inside(project, 'echo one > a');
    await stage.json(project, ['checkpoint', 'save', 'one']);
    await stage.inside(project, 'echo two > a; rm -r d; echo file > d; rm gone; mkdir made; echo x > made/x');
    await stage.json(project, ['rollback', 'one', 'd', 'gone', 'made']);
    assert.equal(await stage.inside(project, 'cat a d/f d/e/g gone; ls'), 'two\nbase\nbase\nbase\na\nd\ngone\n');
    await stage.json(project, ['rollback']);
    assert.equal(await stage.inside(project, 'cat d; ls'), 'file\na\nd\nmade\n');
  });

  test('all paths go back by the name of the directory itself; what the person edited since stays', async () => {
    const project = stage.project('mkdir d; echo base > a; echo base > d/f; echo base > mine; chmod 755 .');
    await stage.inside(project, 'echo one > a; touch mine');
    await stage.json(project, ['checkpoint', 'save', 'one']);
    stage.shell(project, 'echo edited > mine');
    await stage.inside(project, 'echo two > a; rm -r d; mkdir made; chmod 700 .');
    await stage.json(project, ['rollback', 'one', '.']);
    const look = 'cat a d/f mine; ls; stat -c %a .';
    assert.equal(await stage.inside(project, look), 'one\nbase\nedited\na\nd\nmine\n755\n');
  });

  test('forks of forks to any depth see their parent as it was, and none sees another’s changes', async () => {
    const project = stage.project('echo base > a');
    await stage.inside(project, 'echo main > main');
    const depth = 4;
    for (let level = 0; level < depth; level++) {
      const from = level === 0 ? 'main' : `level-${level - 1}`;
      await stage.json(project, ['fork', 'create', `level-${level}`, '--from', from]);
      await insideFork(stage, project, `level-${level}`, `echo ${level} > a; echo ${level} > level-${level}`);
    }
    await stage.inside(project, 'echo later > main');
    for (let level = 0; level < depth; level++) {
      const seen = await insideFork(stage, project, `level-${level}`, 'cat a main; ls');
      const files = ['a', ...Array.from({ length: level + 1 }, (_, each) => `level-${each}`), 'main'];
      assert.equal(seen, `${level}\nmain\n${files.join('\n')}\n`);
    }
    assert.equal(await stage.inside(project, 'cat a main; ls'), 'base\nlater\na\nmain\n');
    await stage.json(project, ['fork', 'delete', 'level-1']);
    assert.equal(await insideFork(stage, project, 'level-3', 'cat level-1'), '1\n');
    const forks = (await stage.json(project, ['fork', 'list']))['forks'] as { name: string }[];
    assert.deepEqual(
      forks.map(({ name }) => name),
      ['level-0', 'level-2', 'level-3', 'main'],
    );
  });

  test('the first thing in a directory may be a fork of it', async () => {
    const project = stage.project('echo base > a');
    await stage.json(project, ['fork', 'create', 'x']);
    assert.equal(await insideFork(stage, project, 'x', 'cat a; echo x > a'), 'base\n');
    assert.equal(await stage.inside(project, 'cat a'), 'base\n');
  });

  test('a fork of a checkpoint, and one of the directory without changes', async () => {
    const project = stage.project('echo base > a');
    await stage.inside(project, 'echo one > a');
    await stage.json(project, ['checkpoint', 'save', 'one']);
    await stage.inside(project, 'echo two > a');
    await stage.json(project, ['fork', 'create', 'past', '--from', 'main@one']);
    await stage.json(project, ['fork', 'create', 'clean', '--from', 'origin']);
    assert.equal(await insideFork(stage, project, 'past', 'cat a'), 'one\n');
    assert.equal(await insideFork(stage, project, 'clean', 'cat a'), 'base\n');
    await stage.json(project, ['fork', 'use', 'clean']);
    assert.equal(await stage.inside(project, 'cat a; echo clean > c'), 'base\n');
    assert.equal(await insideFork(stage, project, 'main', 'ls'), 'a\n');
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, 'cat a c'), 'base\nclean\n');
  });

  test('forks of one vault run at the same time, and a fork can be made of one in use', async () => {
    const project = stage.project('echo base > a');
    await stage.inside(project, 'true');
    await stage.json(project, ['fork', 'create', 'other']);
    const wait = 'echo here > live; echo ready; until test -e stop; do sleep 0.02; done';
    const running = stage.startCtx(project, ['exec', '--timeout', '30s', '--', 'sh', '-c', wait]);
    await running.printed('ready');
    assert.equal(await insideFork(stage, project, 'other', 'cat a; ls'), 'base\na\n');
    assert.match(await refusal(stage, project, ['exec', '--alone', '--', 'true'], 69), /is using it: sh -c.*\(EBUSY\)/);
    await stage.json(project, ['fork', 'create', 'of-running']);
    assert.equal(await insideFork(stage, project, 'of-running', 'cat live; touch stop; ls'), 'here\na\nlive\nstop\n');
    running.child.kill('SIGTERM');
    assert.notEqual((await running.finished).code, 0);
    assert.equal(await stage.inside(project, 'ls'), 'a\nlive\n');
  });

  test('the person’s edits enter every fork at its next command, below several frozen layers', async () => {
    const project = stage.project('echo base > a; echo base > b; echo base > c');
    await stage.inside(project, 'echo one > one; touch a');
    await stage.inside(project, 'echo two > two; cat b > again; cat again > b; rm again');
    await stage.json(project, ['fork', 'create', 'other']);
    await insideFork(stage, project, 'other', 'echo other > c');
    stage.shell(project, 'echo person > a; echo person > b; echo person > c');
    const main = await stage.exec(project, ['cat', 'a', 'b', 'c', 'one', 'two']);
    assert.equal(main.stdout?.text, 'person\nperson\nperson\none\ntwo\n');
    assert.deepEqual([main.entered, main.clashes], [['a', 'b', 'c'], []]);
    const { stdout } = await stage.ctx(project, ['exec', '--fork', 'other', '--json', '--', 'cat', 'a', 'b', 'c']);
    const other = JSON.parse(stdout) as typeof main;
    assert.equal(other.stdout?.text, 'person\nperson\nother\n');
    assert.deepEqual([other.entered, other.clashes], [['a', 'b', 'c'], ['c']]);
    await stage.json(project, ['rollback']);
    assert.equal(await stage.inside(project, 'cat a b c; ls'), 'person\nperson\nperson\na\nb\nc\none\n');
  });

  test('what one fork applies enters the others, and clashes where they changed it too', async () => {
    const project = stage.project('echo base > a; echo base > b');
    await stage.inside(project, 'echo main > a; echo main > new');
    await stage.json(project, ['fork', 'create', 'other', '--from', 'origin']);
    await insideFork(stage, project, 'other', 'echo other > a; echo other > b');
    await stage.json(project, ['apply']);
    const { stdout } = await stage.ctx(project, ['exec', '--fork', 'other', '--json', '--', 'cat', 'a', 'b', 'new']);
    const other = JSON.parse(stdout) as { stdout: { text: string }; clashes: string[] };
    assert.equal(other.stdout.text, 'other\nother\nmain\n');
    assert.deepEqual(other.clashes, ['a']);
    await refusal(stage, project, ['apply', '--fork', 'other'], 1);
    await stage.json(project, ['apply', '--fork', 'other', '--theirs', 'a']);
    assert.equal(stage.shell(project, 'cat a b new'), 'other\nother\nmain\n');
    assert.equal(await stage.inside(project, 'cat a b'), 'other\nother\n');
  });
});

asOneUser((user) => {
  const stage = useWarmStage(user);

  test('many commands stay few layers, every checkpoint leads where it says, and nothing is left behind', async () => {
    const project = stage.project('echo 0 > n');
    for (let round = 1; round <= 20; round++)
      await stage.inside(project, `echo ${round} > n; echo ${round} > f${round}`);
    const status = await stage.json(project, ['status']);
    assert.ok((status['layers'] as number) <= 18, JSON.stringify(status));
    const { checkpoints } = (await stage.json(project, ['checkpoint', 'list'])) as { checkpoints: { id: number }[] };
    assert.equal(checkpoints.length, 20);
    for (const at of [3, 18]) {
      await stage.json(project, ['rollback', String(checkpoints[at]?.id)]);
      assert.equal(await stage.inside(project, 'cat n; ls | wc -l'), `${at}\n${at + 1}\n`);
    }
    const before = snapshot(project);
    await stage.json(project, ['drop']);
    assert.deepEqual(snapshot(project), before);
    const layers = join(stage.store, 'vault', String(status['vault']), 'layer');
    assert.equal(readdirSync(layers).length, 2);
    await trashIsEmptied(stage.store);
  });

  test('names that are none, and what is not there, are refused with the way out', async () => {
    const project = stage.project();
    assert.match(
      await refusal(stage, project, ['fork', 'create', 'x', '--from', 'y'], 1),
      /no vault yet.*\n.*ctx exec/,
    );
    await stage.inside(project, 'true');
    assert.match(await refusal(stage, project, ['fork', 'create', '../x'], 2), /expected a name/);
    assert.match(await refusal(stage, project, ['fork', 'create', 'x', '--from', 'none'], 1), /'none'.*\(ENOENT\)/);
    assert.match(await refusal(stage, project, ['fork', 'delete', 'main'], 2), /ctx drop/);
    assert.match(await refusal(stage, project, ['exec', '--fork', 'none', '--', 'true'], 1), /no fork 'none'/);
    await stage.json(project, ['vault', 'create', 'called']);
    assert.equal((await stage.json(project, ['fork', 'create', 'of-vault', '--from', 'called']))['from'], null);
    assert.match(
      await refusal(stage, project, ['fork', 'create', 'origin'], 2),
      /another name than that of your directory/,
    );
    assert.match(await refusal(stage, project, ['checkpoint', 'save', '12'], 2), /is not a number/);
    await stage.inside(project, 'echo x > x');
    const { checkpoints: before } = await stage.json(project, ['checkpoint', 'list']);
    for (const words of [['diff'], ['diff', '--names'], ['apply'], ['apply', '--ours'], ['rollback', '1']]) {
      assert.match(
        await refusal(stage, project, [...words, '/etc'], 2),
        /expected a path of the workspace.*\(EINVAL\)/,
      );
    }
    assert.deepEqual((await stage.json(project, ['checkpoint', 'list']))['checkpoints'], before);
  });
});
