/** Trees made to blind, mislead or break whatever walks them outside of the jail: through every step of a fork's history. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Stage, useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

/** Entries of one directory. */
const many = process.env['CTX_SOAK'] === '1' ? 1_000_000 : 4_000;

async function ctx(
  stage: Stage,
  cwd: string,
  words: readonly string[],
  expected = 0,
): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await stage.ctx(cwd, [...words, '--json']);
  assert.equal(code, expected, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** Freezes, forks, merges and goes back: whatever the tree holds, each has to come out the other end. */
async function wholeHistory(stage: Stage, project: string, look: string): Promise<void> {
  const before = await stage.inside(project, look);
  await ctx(stage, project, ['checkpoint', 'save', 'made']);
  await stage.inside(project, 'echo more > more');
  await ctx(stage, project, ['fork', 'create', 'copy']);
  await ctx(stage, project, ['flatten']);
  await ctx(stage, project, ['rollback', 'made']);
  assert.equal(await stage.inside(project, look), before);
  await ctx(stage, project, ['gc']);
  const copy = await stage.ctx(project, ['exec', '--fork', 'copy', '--', 'sh', '-c', `rm more; ${look}`]);
  assert.deepEqual([copy.code, copy.stdout], [0, before], copy.stderr);
  assert.deepEqual((await ctx(stage, project, ['fsck']))['faults'], []);
}

forEachUser((user) => {
  const stage = useStage(user);

  test('modes that forbid everything blind nobody', async () => {
    const project = stage.project('mkdir -p d/e; echo x > d/e/f; echo g > g');
    const close = 'chmod 700 d d/e; echo y > d/e/new; chmod 000 d/e/f d/e/new d/e d g';
    await stage.inside(project, close);
    const open = 'chmod 700 d d/e; chmod 600 g d/e/f d/e/new; cat d/e/f d/e/new g; chmod 000 d/e/f d/e/new d/e d g';
    await wholeHistory(stage, project, open);
    assert.equal((await ctx(stage, project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'chmod 700 d d/e; chmod 600 d/e/new; cat d/e/new; stat -c %a g'), 'y\n0\n');
    stage.shell(project, 'chmod -R u+rwX .');
  });

  test('a top directory that is closed to its owner is undone like anything else', async () => {
    const project = stage.project('echo a > a; chmod 755 .');
    await stage.inside(project, 'echo b > a; chmod 000 .');
    const undone = await ctx(stage, project, ['rollback']);
    assert.deepEqual((undone['undone'] as { path: string }[]).map(({ path }) => path).sort(), ['.', 'a']);
    assert.equal(await stage.inside(project, 'cat a; stat -c %a .'), 'a\n755\n');
  });

  test('paths longer than the kernel takes at once, and names with control characters', async () => {
    const project = stage.project();
    const deep = `i=0; while [ $i -lt 60 ]; do mkdir ${'n'.repeat(100)}; cd ${'n'.repeat(100)}; i=$((i+1)); done; echo deep > file`;
    await stage.inside(project, `(${deep}); mkdir 'a\tb'; printf x > "$(printf 'a\\tb/\\033[31mred\\n')"`);
    await wholeHistory(stage, project, 'find . -name file | wc -l; ls | wc -l');
    const shown = await stage.ctx(project, ['diff', '--names']);
    assert.ok(!shown.stdout.includes('\u001b'), shown.stdout);
    assert.equal((await ctx(stage, project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'find . -name file | wc -l'), '1\n');
  });

  test('setuid bits, planted overlay marks and fifos gain nothing by a merge or an apply', async () => {
    const project = stage.project('mkdir d; echo shown > d/f');
    const plant = `cp /bin/true tool; chmod 6755 tool; mkfifo pipe; setfattr -n user.overlay.opaque -v y d 2>/dev/null
      setfattr -n user.overlay.whiteout -v y d/f 2>/dev/null; echo n > d/n`;
    await stage.inside(project, plant);
    await wholeHistory(stage, project, 'cat d/f d/n; stat -c %a tool; test -p pipe');
    assert.equal((await ctx(stage, project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'cat d/f d/n; stat -c %a tool; test -p pipe'), 'shown\nn\n755\n');
  });

  test('a directory of many thousands of entries is forked, merged, undone and applied', async () => {
    const project = stage.project(`mkdir many; cd many; seq ${many} | xargs touch`);
    const names = () => stage.shell(project, 'ls many | sort -n | md5sum');
    const before = names();
    const half = `cd many; seq 1 2 ${many} | xargs rm; seq ${many + 1} ${many + many / 2} | xargs touch`;
    await stage.inside(project, half);
    await wholeHistory(stage, project, 'ls many | wc -l');
    await ctx(stage, project, ['apply']);
    assert.equal(stage.shell(project, 'ls many | wc -l'), `${many}\n`);
    await ctx(stage, project, ['apply', '--undo']);
    assert.equal(names(), before);
  });

  test('planted marks, setuid, fifos, closed modes and odd names gain nothing by an apply to another directory', async () => {
    const made = 'mkdir d; echo shown > d/f; echo kept > d/k';
    const project = stage.project(made);
    const other = stage.project(made);
    const name = "$(printf 'a\\tb\\033[31mred\\n.')";
    const plant = `cp /bin/true tool; chmod 6755 tool; mkfifo pipe; echo odd > "${name}"; echo closed > closed; chmod 000 closed
      setfattr -n user.overlay.opaque -v y d 2>/dev/null; setfattr -n user.overlay.whiteout -v y d/f 2>/dev/null
      mknod device c 1 3 2>/dev/null; mknod white c 0 0 2>/dev/null; echo n > d/n`;
    await stage.inside(project, `${plant}; true`);
    const applied = await ctx(stage, project, ['apply', '--to', other]);
    assert.equal(applied['done'], true);
    const look = `cat d/f d/k d/n; stat -c %a tool closed; test -p pipe; test ! -e device; test ! -e white; cat "${name}"`;
    assert.equal(stage.shell(other, look), 'shown\nkept\nn\n755\n0\nodd\n');
    const marks = 'getfattr -R -h -m user.overlay . 2>/dev/null || true';
    assert.equal(stage.shell(other, marks), '');
    const shown = await stage.ctx(project, ['apply', '--dry-run', '--to', stage.project()]);
    assert.ok(!`${shown.stdout}${shown.stderr}`.includes('\u001b[31mred'), shown.stdout);
  });

  test('paths longer than the kernel takes at once reach another directory', async () => {
    const project = stage.project();
    const part = 'n'.repeat(100);
    await stage.inside(
      project,
      `i=0; while [ $i -lt 60 ]; do mkdir ${part}; cd ${part}; i=$((i+1)); done; echo deep > file`,
    );
    const other = stage.project();
    assert.equal((await ctx(stage, project, ['apply', '--to', other]))['done'], true);
    assert.equal(stage.shell(other, 'find . -name file | wc -l'), '1\n');
    assert.deepEqual((await ctx(stage, project, ['apply', '--to', other]))['applied'], []);
  });
});
