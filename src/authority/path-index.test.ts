/** Paths compared with a naive look at their components, for every pair of a small world. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pathBytes } from '../base/limits/objects.js';
import { componentsOf, contains, isNormalPath, rebase } from './absolute-path.js';
import { PathIndex } from './path-index.js';

const names = ['a', 'ab', 'b'];
const world = [
  '/',
  ...names.map((x) => `/${x}`),
  ...names.flatMap((x) => names.map((y) => `/${x}/${y}`)),
  ...names.flatMap((x) => names.map((y) => `/${x}/${y}/a`)),
];

const parts = (path: string) => path.split('/').filter((name) => name !== '');
const isInside = (directory: string, path: string) =>
  parts(directory).every((name, index) => parts(path)[index] === name);

describe('paths', () => {
  it('are inside of others by whole components', () => {
    for (const directory of world) {
      for (const path of world) {
        assert.equal(contains(directory, path), isInside(directory, path), `${path} in ${directory}`);
        if (!isInside(directory, path)) continue;
        for (const to of world) {
          const moved = `/${[...parts(to), ...parts(path).slice(parts(directory).length)].join('/')}`;
          assert.equal(rebase(path, directory, to), moved, `${path} from ${directory} to ${to}`);
        }
      }
      assert.deepEqual(componentsOf(directory), parts(directory));
    }
  });

  it('are normal, or nothing is said of them', () => {
    const normal = ['/', '/a', '/a/b', '/...', '/.a', '/a.', '/..a', '/a..', '/a b', '/\u{1f600}', '/a/.b/c'];
    for (const path of normal) assert.equal(isNormalPath(path), true, path);
    const abnormal = [
      '',
      'a',
      'a/b',
      './a',
      '//',
      '//a',
      '/a/',
      '/a//b',
      '/.',
      '/..',
      '/a/.',
      '/a/..',
      '/./a',
      '/../a',
    ];
    for (const path of [...abnormal, '/a/../b', '/a\0', '/a\0b', '/\ud800', '/\udc00a', '/\ud83d/\ude00'])
      assert.equal(isNormalPath(path), false, JSON.stringify(path));
  });

  it('have so many bytes, whatever they are written in', () => {
    for (const [letter, bytes] of [
      ['a', 1],
      ['ä', 2],
      ['漢', 3],
      ['\u{1f600}', 4],
    ] as const) {
      const most = `/${letter.repeat(Math.floor((pathBytes - 1) / bytes))}`;
      assert.equal(isNormalPath(most), true, letter);
      assert.equal(isNormalPath(most + letter), false, letter);
    }
  });
});

describe('an index of paths', () => {
  it('finds the deepest above, and all beneath, as a naive look does', () => {
    for (let chosen = 0; chosen < 60; chosen += 1) {
      const entries = world.filter((_, place) => ((chosen + 1) * (place + 3)) % 7 < 2);
      const index = new PathIndex(entries.map((path) => [path, path] as const));
      for (const path of world) {
        const above = entries.filter((entry) => isInside(entry, path)).sort((a, b) => b.length - a.length);
        assert.equal(index.deepest(path), above[0], path);
        const beneath = entries.filter((entry) => entry !== path && isInside(path, entry));
        assert.deepEqual(index.beneath(path).sort(), beneath.sort(), path);
      }
    }
  });

  it('has the later of two values at one path', () => {
    const index = new PathIndex([
      ['/a', 1],
      ['/a', 2],
      ['/a/b', 3],
    ]);
    assert.equal(index.deepest('/a/c'), 2);
    assert.equal(index.deepest('/a/b/c'), 3);
    assert.equal(index.deepest('/b'), undefined);
    assert.ok(Object.isFrozen(index));
  });
});
