import assert from 'node:assert/strict';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { freshPlace, tree } from '../tree/tree-fixture.js';
import { endOf, forget, readGroup } from './group.js';
import { vaultPaths } from './layout.js';
import { padded } from './worker-file.js';

const { at } = freshPlace();
const worker = (name: string, since: string) =>
  padded(
    JSON.stringify({
      pid: process.pid,
      command: `run ${name}`,
      since,
      name,
      jail: null,
      roots: ['workspace'],
      owners: '',
      checkpoint: null,
      runs: [],
    }),
  );

it('who holds a file of the group is at work, whatever it says yet; who is named and holds none was killed', async () => {
  const paths = vaultPaths(at('store'), '0123456789abcdef').fork('main');
  assert.deepEqual(await readGroup(tree, paths), { live: [], dead: [] });
  mkdirSync(paths.group, { recursive: true });
  // What each says, whether it is held, and what it counts as.
  const files: Readonly<Record<string, readonly [text: string, held: boolean, expected: 'live' | 'dead' | 'none']>> = {
    0: [worker('0', '2026-01-03'), true, 'live'],
    1: [worker('1', '2026-01-01'), true, 'live'],
    2: [worker('2', '2026-01-02'), false, 'dead'],
    3: [padded(''), true, 'live'],
    4: [padded(''), false, 'none'],
    5: ['', true, 'live'],
    6: ['', false, 'none'],
    7: [worker('7', '2026-01-02').slice(0, 40), true, 'live'],
    8: [worker('8', '2026-01-02').slice(0, 40), false, 'none'],
    9: [padded('{"kept":1}'), false, 'none'],
  };
  const held: number[] = [];
  for (const [name, [text, isHeld]] of Object.entries(files)) {
    const path = join(paths.group, name);
    writeFileSync(path, text);
    if (!isHeld) continue;
    const descriptor = openSync(path, 'r+');
    held.push(descriptor);
    await tree.lock({ descriptor, wait: false });
  }
  const named = (expected: string) => Object.keys(files).filter((name) => files[name]?.[2] === expected);
  const group = await readGroup(tree, paths);
  assert.deepEqual(group.live.map(({ name }) => name).sort(), named('live'));
  assert.deepEqual(
    group.dead.map(({ name }) => name),
    named('dead'),
  );
  assert.deepEqual(
    group.live.filter(({ pid }) => pid > 0).map(({ name, command }) => `${name} ${command}`),
    ['1 run 1', '0 run 0'],
    'in the order in which they came',
  );
  for (const dead of group.dead) forget(paths, dead);
  for (const descriptor of held) closeSync(descriptor);
  const later = await readGroup(tree, paths);
  assert.deepEqual([later.live, later.dead.map(({ name }) => name).sort()], [[], ['0', '1']]);
});

it('those who look at the same time do not see each other', async () => {
  const paths = vaultPaths(at('store'), '1123456789abcdef').fork('main');
  mkdirSync(paths.group, { recursive: true });
  writeFileSync(join(paths.group, '0'), padded(''));
  writeFileSync(join(paths.group, '1'), worker('1', '2026-01-01'));
  const looks = await Promise.all(Array.from({ length: 4 }, () => readGroup(tree, paths)));
  for (const { live, dead } of looks) assert.deepEqual([live, dead.map(({ name }) => name)], [[], ['1']]);
  const [first] = looks[0]?.dead ?? [];
  assert.ok(first);
  await Promise.all([endOf(tree, paths, first), endOf(tree, paths, first)]);
});
