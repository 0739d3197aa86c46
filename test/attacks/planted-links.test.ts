/**
 * What is trusted never follows what an agent planted. Report, diff, apply and drop work on trees that an agent wrote:
 * whatever is there, nothing outside of the directory is read into it or changed.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trashIsEmptied } from '../support/leftovers.js';
import { snapshot } from '../support/snapshot.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

forEachUser((user) => {
  const stage = useWarmStage(user);

  /** A directory outside that must stay as it is. */
  const outside = () => {
    const path = stage.project('mkdir inner; echo precious > precious; echo inner > inner/file; chmod 600 precious');
    return { path, before: snapshot(path) };
  };

  test('a helper that goes by paths is led outside by the same trees', () => {
    const { path } = outside();
    const fork = stage.project(
      `mkdir inner; echo agent > inner/file; ln -s ${path}/precious taken; ln -s ${path} up; mkdir a; echo x > a/x`,
    );
    // As a diff, an apply and a drop would be written in a hurry.
    assert.equal(stage.shell(fork, 'cat taken'), 'precious\n');
    const person = stage.project(`ln -s ${path}/inner inner`);
    stage.shell(fork, `cp inner/file ${person}/inner/file; find -L up -name precious -delete`);
    assert.equal(stage.shell(path, 'cat inner/file; ls'), 'agent\ninner\n');
  });

  test('a directory swapped for a link to the outside is applied as a link', async () => {
    const { path, before } = outside();
    const project = stage.project('mkdir -p inner deep/inner; echo own > inner/file; echo own > deep/inner/file');
    await stage.inside(
      project,
      `rm -r inner deep/inner; ln -s ${path}/inner inner; ln -s ${path}/inner deep/inner; ln -s ${path}/precious taken`,
    );
    await stage.json(project, ['diff']);
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    const after = snapshot(project);
    for (const name of ['./inner', './deep/inner', './taken']) assert.match(after[name] ?? '', /^link /, name);
    assert.deepEqual(snapshot(path), before);
    await stage.inside(project, 'rm inner deep/inner taken; mkdir inner; echo back > inner/file');
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.deepEqual(snapshot(path), before);
    assert.equal(stage.shell(project, 'cat inner/file'), 'back\n');
  });

  test('apply does not write through a link that the person has there now', async () => {
    const { path, before } = outside();
    const project = stage.project('mkdir inner; echo own > inner/file');
    await stage.inside(project, 'echo agent > inner/file; echo agent > inner/new; rm -f inner/precious');
    stage.shell(project, `rm -r inner; ln -s ${path}/inner inner`);
    for (const words of [['apply'], ['apply', '--conflicts', 'theirs']]) {
      const { code } = await stage.ctx(project, words);
      assert.ok(code !== null);
      assert.deepEqual(snapshot(path), before, words.join(' '));
    }
  });

  test('apply does not remove through a link that the person has there now', async () => {
    const { path, before } = outside();
    const project = stage.project('mkdir inner; echo own > inner/file');
    await stage.inside(project, 'rm -r inner');
    stage.shell(project, `rm -r inner; ln -s ${path}/inner inner`);
    await stage.ctx(project, ['apply', '--conflicts', 'theirs']);
    assert.deepEqual(snapshot(path), before);
  });

  test('links in the private home lead nowhere: the next jail starts, or says why not', async () => {
    const { path, before } = outside();
    stage.shell(path, 'echo "[user]" > ~/.gitconfig');
    const project = stage.project();
    await stage.inside(
      project,
      `rm -rf ~/.config ~/.cache; ln -s ${path} ~/.config; ln -s ${path} ~/.cache; ln -s ${path} ~/.cargo`,
    );
    const next = await stage.ctx(project, ['exec', '--', 'sh', '-c', 'echo x > ~/.config/x; echo ran']);
    // Another test may have given the person a ~/.config that has to be mounted there: then it is the refusal.
    if (next.stdout !== 'ran\n') assert.match(next.stderr, /link where something must be mounted/);
    assert.deepEqual(snapshot(path), before);
    await stage.json(project, ['drop']);
    assert.deepEqual(snapshot(path), before);
    assert.equal(await stage.inside(project, 'ls -d ~/.cache ~/.cargo 2>/dev/null; true'), '');
  });

  test('a command cannot lock the person out by what stands at the place of a mount', async () => {
    stage.shell(stage.home, 'mkdir -p .config/git; echo "[user]" > .config/git/config; echo "[user]" > .gitconfig');
    const project = stage.project();
    await stage.inside(project, 'rm -rf ~/.config 2>/dev/null; ls -A ~ >/dev/null');
    await stage.json(project, ['drop']);
    // A link where the next jail has to mount something: refused or replaced, but the way out stays open.
    await stage.inside(project, 'mv ~/.config ~/moved 2>/dev/null; ln -s /etc ~/.config 2>/dev/null; true');
    const { code } = await stage.ctx(project, ['exec', '--', 'true']);
    assert.ok(code !== null);
    await stage.json(project, ['drop']);
    assert.equal(await stage.inside(project, 'echo ran'), 'ran\n');
  });

  test('drop deletes links, not what they lead to, and trees of any mode', async () => {
    const { path, before } = outside();
    const project = stage.project();
    await stage.inside(
      project,
      `ln -s ${path} link; mkdir -p a/b/c; ln -s ${path}/inner a/b/c/link; chmod 000 a/b a; ln -s ${path} ~/link`,
    );
    assert.equal((await stage.json(project, ['drop']))['dropped'], 5);
    assert.deepEqual(snapshot(path), before);
    // What lies in a closed home has to be moved out of it: the directory is opened, and nothing that a link in it leads to.
    await stage.inside(project, `ln -s ${path}/inner/file ~/link; mkdir ~/a; chmod 0 ~/a; cd /; chmod 100 ~`);
    await stage.json(project, ['drop']);
    assert.deepEqual(snapshot(path), before);
    assert.equal(await stage.inside(project, 'echo x > ~/made; cat ~/made'), 'x\n');
    await trashIsEmptied(stage.store);
  });

  test('a file that may not be read is reported, kept and applied all the same', async () => {
    const project = stage.project();
    const envelope = await stage.exec(project, [
      'sh',
      '-c',
      'mkdir closed; echo x > closed/file; chmod 000 closed/file closed',
    ]);
    assert.deepEqual(
      envelope.changes.map(({ path }) => path),
      ['closed', 'closed/file'],
    );
    assert.equal(((await stage.json(project, ['diff']))['changes'] as unknown[]).length, 2);
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'chmod 700 closed; chmod 600 closed/file; cat closed/file'), 'x\n');
  });

  test('a whiteout or an overlay mark made by hand is no way to hide or to bring back a file', async () => {
    const project = stage.project('echo keep > keep; mkdir d; echo d > d/file');
    const script =
      'mknod keep2 c 0 0; setfattr -n user.overlay.opaque -v y d; setfattr -n user.overlay.whiteout -v y keep; cat keep d/file';
    const seen = await stage.exec(project, ['sh', '-c', script]);
    assert.equal(seen.stdout?.text, 'keep\nd\n');
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, 'cat keep d/file'), 'keep\nd\n');
  });
});
