/** A person who is at work on the files that an undo, or an apply onto another directory, is about to write: theirs stay, the rest is done. */
import assert from 'node:assert/strict';
import { chownSync, closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser, isRoot } from '../support/users.js';

/** As by a program that has not done with it: the process that replaced the file would lose what it writes next. */
async function whileOpen<T>(file: string, act: () => Promise<T>): Promise<T> {
  const descriptor = openSync(file, 'a');
  try {
    return await act();
  } finally {
    closeSync(descriptor);
  }
}

const stepsOf = (value: unknown) => (value as { action: string; path: string }[]).map(({ path }) => path).sort();

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('an undo that meets a save takes back all the rest, says what it left, and is over', async () => {
    const project = stage.project('for name in a b c; do echo old > $name; done; mkdir d; echo d > d/d');
    await stage.inside(project, 'for name in a b c; do echo new > $name; done; rm -r d; mkdir made; echo m > made/m');
    await stage.json(project, ['apply']);
    const file = join(project, 'b');
    const undone = await whileOpen(file, () => stage.json(project, ['apply', '--undo'], 1));
    assert.deepEqual([undone['done'], undone['left'], undone['conflicts']], [true, ['b'], []]);
    assert.deepEqual(stepsOf(undone['undone']), ['a', 'c', 'd', 'd/d', 'made', 'made/m']);
    assert.equal(stage.shell(project, 'cat a b c d/d; ls'), 'old\nnew\nold\nd\na\nb\nc\nd\n');
    // It is over: there is nothing more to undo, and all of the fork is pending again.
    assert.notEqual((await stage.ctx(project, ['apply', '--undo'])).code, 0);
    // Both have the same of what was left, so that what you save next is an edit like any other.
    stage.shell(project, 'echo mine > b');
    const applied = await stage.json(project, ['apply']);
    assert.deepEqual(stepsOf(applied['applied']), ['a', 'c', 'd', 'd/d', 'made', 'made/m']);
    assert.equal(stage.shell(project, 'cat a b c made/m; ls'), 'new\nmine\nnew\nm\na\nb\nc\nmade\n');
  });

  test('an undo with --conflicts ours leaves what you changed since, and what you put beside it', async () => {
    const project = stage.project('for name in a b c; do echo old > $name; done; mkdir kept; echo k > kept/k');
    await stage.inside(project, 'for name in a b c; do echo new > $name; done; mkdir made; echo m > made/m; rm kept/k');
    await stage.json(project, ['apply']);
    stage.shell(project, 'echo mine > b; echo mine > made/mine; rmdir kept');
    const { code, stderr } = await stage.ctx(project, ['apply', '--undo']);
    assert.equal(code, 1);
    assert.match(stderr, /you changed 3 paths since; nothing was written \(EBUSY\)[\s\S]*--undo --conflicts ours/);
    const undone = await stage.json(project, ['apply', '--undo', '--conflicts', 'ours']);
    assert.deepEqual([undone['done'], [...(undone['left'] as string[])].sort()], [true, ['b', 'kept/k', 'made/mine']]);
    assert.equal(stage.shell(project, 'cat a b c; find made'), 'old\nmine\nold\nmade\nmade/mine\n');
    assert.equal(await stage.inside(project, 'cat a b made/m made/mine'), 'new\nnew\nm\nmine\n');
    assert.deepEqual((await stage.json(project, ['apply'], 1))['conflicts'], ['b']);
    await stage.json(project, ['apply', '--conflicts', 'ours']);
    assert.equal(stage.shell(project, 'cat a b made/m made/mine; ls'), 'new\nmine\nm\nmine\na\nb\nc\nmade\n');
  });

  test('an undo that failed in the middle goes on although you have changed a path since', {
    skip: user.uid === 0 || !isRoot ? 'needs a directory that belongs to somebody else' : false,
  }, async () => {
    const project = stage.project('mkdir m; for name in a m/b z; do echo one > $name; done');
    await stage.inside(project, 'for name in a m/b z; do echo two > $name; done');
    await stage.json(project, ['apply']);
    const give = (owner: number) => chownSync(join(project, 'm'), owner, owner);
    give(0);
    assert.notEqual((await stage.ctx(project, ['apply', '--undo'])).code, 0);
    give(user.uid);
    assert.equal(stage.shell(project, 'cat a m/b z'), 'one\ntwo\ntwo\n');
    stage.shell(project, 'echo mine > z');
    const undone = await stage.json(project, ['apply', '--undo'], 1);
    assert.deepEqual([undone['done'], undone['left']], [true, ['z']]);
    assert.equal(stage.shell(project, 'cat a m/b z'), 'one\none\nmine\n');
    assert.deepEqual((await stage.json(project, ['apply'], 1))['conflicts'], ['z']);
  });

  test('an apply onto another directory leaves what is saved there meanwhile, and writes the rest', async () => {
    const project = stage.project('for name in a b c; do echo old > $name; done');
    await stage.inside(project, 'for name in a b; do echo new > $name; done; rm c; echo d > d');
    const other = stage.project('for name in a b c; do echo old > $name; done');
    const write = () => stage.json(project, ['apply', '--to', other], 1);
    const met = await whileOpen(join(other, 'b'), write);
    assert.deepEqual([met['done'], met['conflicts']], [false, ['b']]);
    assert.deepEqual(stepsOf(met['applied']), ['a', 'c', 'd']);
    assert.equal(stage.shell(other, 'cat a b d; ls -A'), 'new\nold\nd\na\nb\nd\n');
    const again = await stage.json(project, ['apply', '--to', other]);
    assert.deepEqual([again['done'], stepsOf(again['applied'])], [true, ['b']]);
  });
});
