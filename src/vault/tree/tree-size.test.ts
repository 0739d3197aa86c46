/** Lists of changes that an agent can make as long as it likes: what is listed is bounded, what is not is counted. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { countChanges, unlistedNotes } from './too-deep.js';
import { freshPlace, tree } from './tree-fixture.js';

describe('lists of changes', () => {
  const { at, write } = freshPlace();

  function makeSides() {
    for (const directory of ['a', 'b', 'c/deep'])
      for (let number = 0; number < 5; number += 1) write(`upper/${directory}/f${number}`);
    write('upper/top');
    mkdirSync(at('lower'));
    return { uppers: [at('upper')], lowers: [at('lower')] };
  }

  it('list directories as long as there is room, and count the others', async () => {
    const sides = makeSides();
    const all = await tree.diff(sides);
    const part = await tree.diff({ ...sides, entries: 10, tellsUnlisted: true });
    const unlisted = part.flatMap(({ path, unlisted }) => (unlisted === undefined ? [] : [[path, unlisted]]));
    assert.deepEqual(unlisted, [
      ['b', 5],
      ['c/deep', 5],
    ]);
    assert.equal(part.length, 4 + 5 + 1);
    assert.equal(countChanges(part), all.length);
    assert.equal(await tree.count(sides, 1_000), all.length);
    assert.equal(await tree.count(sides, 7), 7, 'nobody counts on');
    await assert.rejects(tree.diff({ ...sides, entries: 10 }), { code: 'E2BIG' });
  });

  it('count all of a top directory that has more than is listed', async () => {
    const sides = makeSides();
    const [top, ...rest] = await tree.diff({ ...sides, entries: 3, tellsUnlisted: true });
    assert.deepEqual([top?.path, top?.unlisted, rest.length], ['.', 20, 0]);
  });

  it('count a long path several times', async () => {
    const names = Array.from({ length: 4 }, (_, number) => `${'n'.repeat(249)}${number}`);
    for (const name of names) write(`upper/long/${name}`);
    mkdirSync(at('lower'), { recursive: true });
    const sides = { uppers: [at('upper')], lowers: [at('lower')], tellsUnlisted: true, under: ['long'] };
    assert.equal((await tree.diff({ ...sides, entries: 16 })).length, 5);
    assert.deepEqual(
      (await tree.diff({ ...sides, entries: 15 })).map(({ path, unlisted }) => [path, unlisted]),
      [['long', 4]],
    );
  });

  it('list what is asked about, and the directories above it', async () => {
    const sides = makeSides();
    const paths = async (under: readonly string[], entries?: number) =>
      (await tree.diff({ ...sides, under, entries, tellsUnlisted: true })).map(({ path }) => path);
    assert.deepEqual(await paths(['c/deep/f1', 'top']), ['c', 'c/deep', 'c/deep/f1', 'top']);
    assert.deepEqual(await paths(['c/dee', 'c/deep/f1/x', 'to', 'other']), ['c', 'c/deep', 'c/deep/f1']);
    assert.equal((await paths(['b'], 5)).length, 6, 'what is above takes no room');
  });

  it('say in a few lines what they leave out', () => {
    const changes = Array.from({ length: 9 }, (_, number) => ({ path: `d${number}`, unlisted: 10 }));
    const notes = unlistedNotes([{ path: 'other', unlisted: undefined }, ...changes]);
    assert.equal(notes.length, 7);
    assert.match(notes.join('\n'), /40 or more entries below 4 other directories are not listed/);
    assert.deepEqual(unlistedNotes([{ path: 'other', unlisted: undefined }]), []);
  });
});
