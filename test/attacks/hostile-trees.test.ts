/**
 * Trees made to blind, mislead or break whatever walks them outside of the jail: through every step of a fork's
 * history. Each is first shown to be there, and to do its harm to anyone who walks by paths, copies what it finds, or
 * prints what it is called.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { liveTree } from '../support/layers.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forUsersInTurn, isRoot, spawnIdentity } from '../support/users.js';

const isSoak = process.env['CTX_SOAK'] === '1';
const patience = { timeoutSeconds: isSoak ? 3600 : 300 };
const onlyRoot = isRoot ? false : 'only root can plant this in a layer';

/** Freezes, forks, merges and goes back: whatever the tree holds, each has to come out the other end. */
async function wholeHistory(stage: Stage, project: string, look: string): Promise<void> {
  const verb = (...words: string[]) => stage.json(project, words, 0, patience);
  const before = await stage.inside(project, look, 0, patience);
  await verb('checkpoint', 'save', 'made');
  await stage.inside(project, 'echo more > more', 0, patience);
  await verb('fork', 'create', 'copy');
  await verb('flatten');
  await verb('rollback', 'made');
  assert.equal(await stage.inside(project, look, 0, patience), before);
  await verb('gc');
  const words = ['exec', '--fork', 'copy', '--', 'sh', '-c', `rm more; ${look}`];
  const copy = await stage.ctx(project, words, patience);
  assert.deepEqual([copy.code, copy.stdout], [0, before], copy.stderr);
  // A store is looked at as a whole, and some of these tests plant things into its layers by hand, which fsck says rightly.
  const looked = JSON.parse((await stage.ctx(project, ['fsck', '--json'], patience)).stdout) as {
    faults: { what: string }[];
  };
  assert.deepEqual(
    looked.faults.filter(({ what }) => !what.includes('its digest differs')),
    [],
  );
}

/** What anyone who trusts a layer would have in the person's place: a plain copy of it. */
function naiveCopy(stage: Stage, layer: string): string {
  const target = stage.makeDirectory(`naive-${Math.random()}`);
  execFileSync('cp', ['-a', `${layer}/.`, target]);
  return target;
}

const attributes = (path: string) =>
  spawnSync('getfattr', ['-d', '-h', '-m', '-', '--absolute-names', path], { encoding: 'utf8' }).stdout;
const pathsOf = (value: unknown) => (value as { path: string }[]).map(({ path }) => path).sort();

const part = 'n'.repeat(100);
const depth = 60;
const deep = `i=0; while [ $i -lt ${depth} ]; do mkdir ${part}; cd ${part}; i=$((i+1)); done; echo deep > file`;

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);
  /** Entries of one directory: many enough once, and again as the second user. */
  const fewer = isRoot && user.uid !== 0 ? 1_000 : 3_000;
  const many = isSoak ? 1_000_000 : fewer;

  test('modes that forbid everything blind nobody', async () => {
    const project = stage.project('mkdir -p d/e; echo x > d/e/f; echo g > g');
    const close = 'chmod 700 d d/e; echo y > d/e/new; chmod 000 d/e/f d/e/new d/e d g';
    await stage.inside(project, close);
    const walked = spawnSync('find', [liveTree(stage, project)], { ...spawnIdentity(user), encoding: 'utf8' });
    // Root sees everything by its own right, and the rest of the test holds for it all the same.
    if (user.uid !== 0) assert.match(walked.stderr, /Permission denied/);
    const open = 'chmod 700 d d/e; chmod 600 g d/e/f d/e/new; cat d/e/f d/e/new g; chmod 000 d/e/f d/e/new d/e d g';
    await wholeHistory(stage, project, open);
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'chmod 700 d d/e; chmod 600 d/e/new; cat d/e/new; stat -c %a g'), 'y\n0\n');
    stage.shell(project, 'chmod -R u+rwX .');
  });

  test('a top directory that is closed to its owner is undone like anything else', async () => {
    const project = stage.project('echo a > a; chmod 755 .');
    await stage.inside(project, 'echo b > a; chmod 000 .');
    const undone = await stage.json(project, ['rollback']);
    assert.deepEqual((undone['undone'] as { path: string }[]).map(({ path }) => path).sort(), ['.', 'a']);
    assert.equal(await stage.inside(project, 'cat a; stat -c %a .'), 'a\n755\n');
  });

  turn.test('paths longer than the kernel takes at once, and names with control characters', async () => {
    const project = stage.project();
    await stage.inside(project, `(${deep}); mkdir 'a\tb'; printf x > "$(printf 'a\\tb/\\033[31mred\\n')"`);
    const path = join(liveTree(stage, project), ...Array<string>(depth).fill(part), 'file');
    assert.throws(() => lstatSync(path), { code: 'ENAMETOOLONG' });
    assert.ok(execFileSync('find', [join(liveTree(stage, project), 'a\tb'), '-print0']).includes('\u001b[31m'));
    await wholeHistory(stage, project, 'find . -name file | wc -l; ls | wc -l');
    for (const words of [['diff'], ['diff', '--names'], ['apply', '--dry-run']]) {
      const { stdout, stderr } = await stage.ctx(project, words);
      assert.ok(stdout.includes('[31mred'), stdout);
      assert.ok(!`${stdout}${stderr}`.includes('\u001b'), stdout);
    }
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'find . -name file | wc -l'), '1\n');
  });

  test('device nodes in a layer are named, open nothing inside, and never reach the person', {
    skip: onlyRoot,
  }, async () => {
    const project = stage.project('mkdir d; echo a > d/a');
    await stage.inside(project, 'echo b > d/b');
    const layer = liveTree(stage, project);
    execFileSync('mknod', ['-m', '666', join(layer, 'd/null'), 'c', '1', '3']);
    execFileSync('mknod', ['-m', '666', join(layer, 'd/loop'), 'b', '7', '0']);
    const naive = naiveCopy(stage, layer);
    assert.ok(statSync(join(naive, 'd/null')).isCharacterDevice() && statSync(join(naive, 'd/loop')).isBlockDevice());
    assert.equal(
      await stage.inside(project, 'ls d; (: < d/null) && echo opened; (: < d/loop) && echo opened; true'),
      'a\nb\nloop\nnull\n',
    );
    await wholeHistory(stage, project, 'ls d');
    const { changes } = await stage.json(project, ['diff']);
    const devices = (changes as { path: string; type: string }[]).filter(({ type }) => type === 'device');
    assert.deepEqual(pathsOf(devices), ['d/loop', 'd/null']);
    for (const words of [['apply', '--to', stage.project('mkdir d; echo a > d/a')], ['apply']]) {
      const applied = await stage.json(project, words);
      assert.deepEqual(pathsOf(applied['problems']), ['d/loop', 'd/null'], JSON.stringify(applied));
      assert.equal(stage.shell(words[2] ?? project, 'ls d'), 'a\nb\n');
    }
  });

  test('setuid bits, capabilities and fifos gain nothing by a merge or an apply', async () => {
    const project = stage.project('echo a > a');
    await stage.inside(project, 'cp /bin/true tool; chmod 6755 tool; mkfifo pipe; cp /bin/true able');
    const layer = liveTree(stage, project);
    if (isRoot) {
      // As the agent could not have it: of root itself, and with a capability.
      execFileSync('chown', ['0:0', join(layer, 'tool')]);
      execFileSync('chmod', ['6755', join(layer, 'tool')]);
      const value = '0x0100000200200000000000000000000000000000';
      execFileSync('setfattr', ['-n', 'security.capability', '-v', value, join(layer, 'able')]);
      const naive = naiveCopy(stage, layer);
      assert.match(attributes(join(naive, 'able')), /security\.capability/);
      assert.deepEqual([statSync(join(naive, 'tool')).mode & 0o7777, statSync(join(naive, 'tool')).uid], [0o6755, 0]);
    }
    assert.equal(statSync(join(layer, 'tool')).mode & 0o7777, 0o6755);
    await wholeHistory(stage, project, 'stat -c %a tool; test -p pipe');
    const { changes } = await stage.json(project, ['diff']);
    const shown = (changes as { path: string; mode: number }[]).find(({ path }) => path === 'tool');
    assert.equal((shown?.mode ?? 0) & 0o6000, 0o6000, 'the diff has to show it');
    assert.equal((await stage.json(project, ['apply', '--allow-sensitive']))['done'], true);
    assert.equal(stage.shell(project, 'stat -c "%a %u" tool able; test -p pipe'), `755 ${user.uid}\n755 ${user.uid}\n`);
    assert.doesNotMatch(attributes(join(project, 'able')), /security\.capability/);
  });

  test('overlay marks that an agent or a person leaves hide nothing and bring nothing back', async () => {
    // In a layer they would: the process that takes such a directory over as it is loses what is below.
    const layers = stage.project('mkdir -p top/e base/e view; echo hidden > base/e/f; echo mine > top/e/mine');
    const mount = 'mount -t overlay overlay -o userxattr,lowerdir=top:base view && ls view/e';
    const listed = () => stage.shell(layers, `unshare ${user.uid === 0 ? '-m' : '-Urm'} sh -c '${mount}'`);
    assert.equal(listed(), 'f\nmine\n');
    stage.shell(layers, 'setfattr -n user.overlay.opaque -v y top/e');
    assert.equal(listed(), 'mine\n');
    const project = stage.project('mkdir d e; echo shown > d/f; echo shown > e/f');
    const plant = 'setfattr -n user.overlay.opaque -v y d; setfattr -n user.overlay.whiteout -v y d/f; echo n > d/n';
    await stage.inside(project, `${plant}; true`);
    // The kernel keeps what is set inside under a name that means nothing to it, or refuses to set it.
    assert.doesNotMatch(attributes(join(liveTree(stage, project), 'd')), /^user\.overlay\.opaque/m);
    stage.shell(project, 'setfattr -n user.overlay.opaque -v y e; echo mine > e/mine');
    if (user.uid === 0) stage.shell(project, 'setfattr -n trusted.overlay.opaque -v y e');
    assert.match(attributes(join(project, 'e')), /user\.overlay\.opaque="y"/);
    await wholeHistory(stage, project, 'cat d/f d/n e/f e/mine');
    assert.equal(await stage.inside(project, 'cat d/f d/n e/f e/mine'), 'shown\nn\nshown\nmine\n');
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'cat d/f d/n'), 'shown\nn\n');
    assert.doesNotMatch(attributes(join(project, 'd')), /overlay/);
  });

  turn.test(`a directory of ${many} entries is forked, merged, undone and applied`, async () => {
    const project = stage.project(`mkdir many; cd many; seq ${many} | xargs touch`);
    const names = () => stage.shell(project, 'ls many | sort -n | md5sum');
    const before = names();
    const half = `cd many; seq 1 2 ${many} | xargs rm; seq ${many + 1} ${many + many / 2} | xargs touch`;
    await stage.inside(project, half, 0, patience);
    await wholeHistory(stage, project, 'ls many | wc -l');
    await stage.json(project, ['apply'], 0, patience);
    assert.equal(stage.shell(project, 'ls many | wc -l'), `${many}\n`);
    await stage.json(project, ['apply', '--undo'], 0, patience);
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
    const applied = await stage.json(project, ['apply', '--allow-sensitive', '--to', other]);
    assert.equal(applied['done'], true);
    const look = `cat d/f d/k d/n; stat -c %a tool closed; test -p pipe; test ! -e device; test ! -e white; cat "${name}"`;
    assert.equal(stage.shell(other, look), 'shown\nkept\nn\n755\n0\nodd\n');
    const marks = 'getfattr -R -h -m user.overlay . 2>/dev/null || true';
    assert.equal(stage.shell(other, marks), '');
    const shown = await stage.ctx(project, ['apply', '--dry-run', '--to', stage.project()]);
    assert.ok(!`${shown.stdout}${shown.stderr}`.includes('\u001b[31mred'), shown.stdout);
  });

  turn.test('paths longer than the kernel takes at once reach another directory', async () => {
    const project = stage.project();
    await stage.inside(project, deep);
    const other = stage.project();
    assert.equal((await stage.json(project, ['apply', '--to', other]))['done'], true);
    assert.equal(stage.shell(other, 'find . -name file | wc -l'), '1\n');
    assert.deepEqual((await stage.json(project, ['apply', '--to', other]))['applied'], []);
  });

  turn.test(
    'pipes, sockets and endless files in place of what is read of a project are waited for by nobody',
    async () => {
      const ways = {
        'a pipe for the list of repositories': 'mkdir .ctx; mkfifo .ctx/workspace.json',
        'a huge one': 'mkdir .ctx; truncate -s 1T .ctx/workspace.json',
        'a pipe for the repository': 'mkfifo .git',
      };
      for (const [name, script] of Object.entries(ways)) {
        const project = stage.project(script);
        const plain =
          'timeout 1 sh -c "cat .ctx/workspace.json .git 2> /dev/null | head -c 9000000000 > /dev/null" || test $? = 124';
        stage.shell(project, plain);
        const { code, stderr } = await stage.ctx(project, ['exec', '--', 'true'], { timeoutSeconds: 60 });
        assert.ok(code === 0 || /workspace\.json: expected/.test(stderr), `${name}: ${code} ${stderr}`);
      }
    },
  );
});
