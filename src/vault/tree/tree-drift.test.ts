/** What a scan says, by a model: random trees before and after, whose names sort in every way. */
import assert from 'node:assert/strict';
import { lutimesSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom, testSeed } from '../../../test/support/random.js';
import { freshPlace, tree } from './tree-fixture.js';

const { at } = freshPlace();

/** A slash sorts before every other byte: some are lower, and one name begins like another. */
const names = ['a', 'a!', 'a-', 'a.b', 'a0', 'ab', 'b', '\u0001', '~'];
type Tree = ReadonlyMap<string, 'directory' | 'file' | 'link'>;

const inWalkOrder = (one: string, other: string) => (one.replaceAll('/', '\0') < other.replaceAll('/', '\0') ? -1 : 1);

describe('a scan after another', () => {
  it('tells every entry that came, went or became something else, once, in the order of a walk', async () => {
    const random = randomFrom(testSeed);
    const choose = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const draw = (): Tree => {
      const found = new Map<string, 'directory' | 'file' | 'link'>();
      for (let count = Math.floor(random() * 25); count > 0; count -= 1) {
        const above = choose(['', ...[...found].flatMap(([path, kind]) => (kind === 'directory' ? [`${path}/`] : []))]);
        const path = `${above}${choose(names)}`;
        if (!found.has(path)) found.set(path, choose(['directory', 'directory', 'file', 'link']));
      }
      return found;
    };
    const make = (top: string, entries: Tree) => {
      mkdirSync(top);
      for (const [path, kind] of entries) {
        mkdirSync(dirname(`${top}/${path}`), { recursive: true });
        if (kind === 'directory') mkdirSync(`${top}/${path}`);
        if (kind === 'file') writeFileSync(`${top}/${path}`, 'text');
        if (kind === 'link') symlinkSync('text', `${top}/${path}`);
        if (kind !== 'directory') lutimesSync(`${top}/${path}`, 1, 1);
      }
    };
    const trees = Array.from({ length: 24 }, draw);
    for (const [index, entries] of trees.entries()) make(at(`o${index}`), entries);
    await sleep(30); // Times of a moment ago are looked at again, which is slow.
    for (const [index] of trees.entries()) await tree.scan({ root: at(`o${index}`), signatures: at(`s${index}`) });
    for (const [index, after] of trees.entries()) {
      const before = trees[index - 1] ?? new Map();
      const against = at(`s${index - 1}`);
      const told = await tree.scan({ root: at(`o${index}`), signatures: at('s'), against });
      const paths = [...new Set([...before.keys(), ...after.keys()])].sort(inWalkOrder);
      const expected = paths.flatMap((path) => {
        const [was, is] = [before.get(path), after.get(path)];
        if (was === undefined) return [{ path, what: 'added' }];
        if (is === undefined) return [{ path, what: 'removed' }];
        // Another file in the place of one is a change, though it looks the same.
        return was === 'directory' && is === 'directory' ? [] : [{ path, what: 'changed' }];
      });
      assert.deepEqual(told, expected, `${[...before.keys()]} becomes ${[...after.keys()]}`);
      assert.deepEqual(await tree.scan({ root: at(`o${index}`), signatures: at('s'), against: at(`s${index}`) }), []);
    }
  });
});
