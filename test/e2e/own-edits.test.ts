/** The person works on while the fork exists: their edits enter it, and where both changed the same path nothing is lost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshot } from '../support/snapshot.js';
import { useWarmStage } from '../support/stage.js';
import { asOneUser, forEitherUser } from '../support/users.js';

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('edits between commands are seen by the next command', async () => {
    const project = stage.project('echo a > a; echo b > b; mkdir d; echo old > d/old; chmod 644 b');
    await stage.inside(project, 'echo fork > forked');
    stage.shell(project, 'echo A > a; rm b; echo c > c; mkdir e; echo e > e/e; mv d/old d/new; ln -s a l; chmod 600 c');
    const next = await stage.exec(project, ['sh', '-c', 'cat a c e/e d/new forked l; ls; stat -c %a c']);
    assert.equal(next.stdout?.text, 'A\nc\ne\nold\nfork\nA\na\nc\nd\ne\nforked\nl\n600\n');
    assert.deepEqual([...next.entered].sort(), ['a', 'b', 'c', 'd/new', 'd/old', 'e', 'e/e', 'l']);
    assert.deepEqual(next.clashes, []);
    assert.deepEqual(next.changes, []);
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'ls; cat forked'), 'a\nc\nd\ne\nforked\nl\nfork\n');
  });

  test('a clash is reported, and apply refuses and writes nothing at all', async () => {
    const project = stage.project('echo base > both; echo base > other');
    await stage.inside(project, 'echo fork > both; echo fork > other; echo fork > new');
    stage.shell(project, 'echo person > both');
    const before = snapshot(project);
    const next = await stage.exec(project, ['cat', 'both']);
    assert.equal(next.stdout?.text, 'fork\n');
    assert.deepEqual([next.entered, next.clashes], [['both'], ['both']]);
    const refused = await stage.ctx(project, ['apply']);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /both you and the fork changed 1 path; nothing was written.*\n {2}both\n {2}try: --conflicts ours/,
    );
    const answer = await stage.json(project, ['apply'], 1);
    assert.deepEqual([answer['done'], answer['applied'], answer['conflicts']], [false, [], ['both']]);
    assert.deepEqual(snapshot(project), before);
    assert.deepEqual((await stage.json(project, ['diff']))['clashes'], ['both']);
  });

  test('a clash that the person made since the last command is seen by apply itself', async () => {
    const project = stage.project('echo base > both');
    await stage.inside(project, 'echo fork > both; echo fork > new');
    stage.shell(project, 'echo person > both');
    const before = snapshot(project);
    await stage.json(project, ['apply'], 1);
    assert.deepEqual(snapshot(project), before);
  });

  test('--conflicts ours keeps what the person wrote and takes the rest', async () => {
    const project = stage.project('echo base > both');
    await stage.inside(project, 'echo fork > both; echo fork > new');
    stage.shell(project, 'echo person > both');
    assert.equal((await stage.json(project, ['apply', '--conflicts', 'ours']))['done'], true);
    assert.equal(stage.shell(project, 'cat both new'), 'person\nfork\n');
    assert.equal(await stage.inside(project, 'cat both new'), 'person\nfork\n');
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
  });

  test("--conflicts theirs takes the fork's version", async () => {
    const project = stage.project('echo base > both');
    await stage.inside(project, 'echo fork > both; echo fork > new');
    stage.shell(project, 'echo person > both');
    assert.equal((await stage.json(project, ['apply', '--conflicts', 'theirs']))['done'], true);
    assert.equal(stage.shell(project, 'cat both new'), 'fork\nfork\n');
    assert.equal(await stage.inside(project, 'cat both'), 'fork\n');
  });

  test('the same edit on both sides is no conflict', async () => {
    const project = stage.project('echo base > both; echo x > gone');
    await stage.inside(project, 'echo same > both; rm gone; mkdir d; echo d > d/f');
    stage.shell(project, 'echo same > both; rm gone; mkdir d; echo d > d/f');
    const applied = await stage.json(project, ['apply']);
    assert.deepEqual([applied['done'], applied['conflicts']], [true, []]);
  });

  test('what a command only touched, or wrote again as it was, neither hides nor undoes an edit', async () => {
    const project = stage.project(
      'for f in touched again gone moded; do echo base > $f; done; mkdir d d/e; echo base > d/e/f',
    );
    await stage.inside(project, 'touch touched gone moded d/e/f; cat again > copy; cat copy > again; rm copy');
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
    stage.shell(project, 'echo person > touched; echo person > again; rm gone; chmod 600 moded; rm -r d');
    const next = await stage.exec(project, ['sh', '-c', 'cat touched again; stat -c %a moded; ls']);
    assert.equal(next.stdout?.text, 'person\nperson\n600\nagain\nmoded\ntouched\n');
    assert.deepEqual([next.changes, next.clashes], [[], []]);
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(
      stage.shell(project, 'cat touched again; stat -c %a moded; ls'),
      'person\nperson\n600\nagain\nmoded\ntouched\n',
    );
  });

  test('a file of the person in a directory that a command made anew is never deleted silently', async () => {
    const project = stage.project('mkdir d; echo base > d/f');
    await stage.inside(project, 'cp -a d copy; rm -r d; cp -a copy d; rm -r copy');
    stage.shell(project, 'echo person > d/new');
    await stage.ctx(project, ['exec', '--', 'true']);
    await stage.ctx(project, ['apply']);
    assert.equal(stage.shell(project, 'cat d/new d/f'), 'person\nbase\n');
  });

  test('a path that both deleted and the person made anew is never deleted silently', async () => {
    const project = stage.project('echo base > f; echo other > other');
    await stage.inside(project, 'rm f');
    stage.shell(project, 'rm f');
    await stage.inside(project, 'true');
    stage.shell(project, 'echo person > f');
    await stage.inside(project, 'echo more >> other');
    await stage.ctx(project, ['apply']);
    assert.equal(stage.shell(project, 'cat f'), 'person\n');
  });

  test('after the same edit on both sides, work goes on without a conflict', async () => {
    const project = stage.project('echo base > both; echo base > gone');
    await stage.inside(project, 'echo same > both; rm gone');
    stage.shell(project, 'echo same > both; rm gone');
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    await stage.inside(project, 'echo later > both; echo later > gone');
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'cat both gone'), 'later\nlater\n');
  });

  test('deleted by one and changed by the other is a conflict, both ways', async () => {
    const project = stage.project('echo base > a; echo base > b; mkdir d; echo base > d/f');
    await stage.inside(project, 'rm a; echo fork > b; rm -r d');
    stage.shell(project, 'echo person > a; rm b; echo person > d/f');
    const before = snapshot(project);
    const answer = await stage.json(project, ['apply'], 1);
    assert.ok(
      ['a', 'b', 'd/f'].every((path) => (answer['conflicts'] as string[]).includes(path)),
      JSON.stringify(answer),
    );
    assert.deepEqual(snapshot(project), before);
    await stage.json(project, ['apply', '--conflicts', 'ours']);
    assert.equal(stage.shell(project, 'cat a d/f; ls'), 'person\nperson\na\nd\n');
  });

  test('a directory of one where the other has a file is a conflict', async () => {
    const project = stage.project('echo base > x; mkdir y; echo base > y/f');
    await stage.inside(project, 'rm x; mkdir x; echo fork > x/f; echo fork > y/f');
    stage.shell(project, 'echo person > x; rm -r y; echo person > y');
    const before = snapshot(project);
    await stage.json(project, ['apply'], 1);
    assert.deepEqual(snapshot(project), before);
    await stage.json(project, ['apply', '--conflicts', 'theirs']);
    assert.equal(stage.shell(project, 'cat x/f y/f'), 'fork\nfork\n');
  });

  test('another mode of a directory is no conflict with what is below it; two other modes are one, of the directory alone', async () => {
    const project = stage.project('mkdir -m 755 d e; echo 0 > d/f; echo 0 > e/f');
    await stage.inside(project, 'echo fork > d/f; chmod 750 e; echo fork > e/f');
    stage.shell(project, 'chmod 700 d; chmod 700 e; echo person > e/own');
    const { clashes } = await stage.exec(project, ['true']);
    assert.deepEqual(clashes, ['e']);
    assert.deepEqual((await stage.json(project, ['apply'], 1))['conflicts'], ['e']);
    await stage.json(project, ['apply', '--ours', 'e']);
    assert.equal(stage.shell(project, 'stat -c %a d e; cat d/f e/f e/own'), '700\n700\nfork\nfork\nperson\n');
  });

  test('renamed by both to different names: both names stay', async () => {
    const project = stage.project('echo base > name');
    await stage.inside(project, 'mv name of-fork');
    stage.shell(project, 'mv name of-person');
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'ls; cat of-fork of-person'), 'of-fork\nof-person\nbase\nbase\n');
  });

  test('a clash is none any more when both have the same: by a rollback of the path, an edit, or a command', async () => {
    const project = stage.project('echo 0 > a; echo 0 > b; echo 0 > c; echo 0 > d');
    await stage.inside(project, 'for f in a b c d; do echo fork > $f; done');
    stage.shell(project, 'for f in a b c d; do echo person > $f; done');
    assert.deepEqual((await stage.exec(project, ['true'])).clashes, ['a', 'b', 'c', 'd']);
    const clashes = async () => (await stage.json(project, ['status']))['clashes'];
    await stage.json(project, ['rollback', '1', 'a']);
    assert.deepEqual(await clashes(), ['b', 'c', 'd']);
    stage.shell(project, 'echo fork > b');
    await stage.inside(project, 'echo person > c');
    assert.deepEqual(await clashes(), ['d']);
    assert.deepEqual((await stage.exec(project, ['sh', '-c', 'echo both > a'])).clashes, ['d']);
    assert.deepEqual((await stage.json(project, ['apply'], 1))['conflicts'], ['d']);
    await stage.json(project, ['apply', '--theirs', 'd']);
    assert.equal(stage.shell(project, 'cat a b c d'), 'both\nfork\nperson\nfork\n');
  });

  test('after drop the clash is forgotten and the person’s version is what commands see', async () => {
    const project = stage.project('echo base > both');
    await stage.inside(project, 'echo fork > both');
    stage.shell(project, 'echo person > both');
    assert.deepEqual((await stage.exec(project, ['true'])).clashes, ['both']);
    await stage.json(project, ['drop']);
    const next = await stage.exec(project, ['cat', 'both']);
    assert.deepEqual([next.stdout?.text, next.clashes], ['person\n', []]);
  });

  test('an edit of the same size within the same tick of the clock is not missed', async () => {
    const project = stage.project('echo 1 > counter');
    for (let count = 2; count < 4; count++) {
      stage.shell(project, `cp -p counter before; echo ${count} > counter; touch -r before counter`);
      assert.equal(await stage.inside(project, 'cat counter'), `${count}\n`);
    }
  });
});

asOneUser((user) => {
  const stage = useWarmStage(user);

  test('many rounds of edits and applies stay exact, and layers do not pile up without end', async () => {
    const project = stage.project('echo 0 > mine; echo 0 > forks');
    await stage.inside(project, 'true');
    for (let round = 1; round <= 9; round++) {
      stage.shell(project, `echo ${round} > mine`);
      const { entered } = await stage.exec(project, [
        'sh',
        '-c',
        `test "$(cat mine)" = ${round} && echo ${round} > forks`,
      ]);
      assert.deepEqual(entered, ['mine']);
      assert.equal((await stage.json(project, ['apply']))['done'], true);
      assert.equal(stage.shell(project, 'cat mine forks'), `${round}\n${round}\n`);
    }
    const status = await stage.json(project, ['status']);
    assert.ok((status['layers'] as number) <= 16, JSON.stringify(status));
  });
});
