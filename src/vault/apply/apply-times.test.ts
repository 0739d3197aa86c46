/** Which times what is written is given: by when products were made, what the person edited since, and what stays behind. */
import assert from 'node:assert/strict';
import { chmodSync, linkSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeEach, it } from 'node:test';
import { change } from '../tree/change-fixture.js';
import type { Step } from '../tree/tree.js';
import { freshPlace, tree } from '../tree/tree-fixture.js';
import { countingTimes, sameContentOf, timedPlan, touchedOf, type Writing } from './apply-times.js';

const { at, write } = freshPlace();
/** Long before and long after the tests: when a person edits now is between. */
const [past, future] = [1_000_000, 5_000_000_000];
/** A file of the fork, made at that time. */
const made = (path: string, time: number, text = path) => {
  mkdirSync(dirname(at('upper', path)), { recursive: true });
  writeFileSync(at('upper', path), text);
  utimesSync(at('upper', path), time, time);
};
const put = (...paths: string[]): readonly Step[] => paths.map((path) => ({ action: 'put', path }));
const planned = async (steps: readonly Step[], more: Partial<Writing> = {}) => {
  const sides = { root: at('home'), uppers: [at('upper')], lowers: [] };
  const { plan, before } = await timedPlan(tree, { ...sides, steps, touched: [], held: [], left: [], ...more });
  return [plan.map(({ action, path }) => `${action} ${path}`), before] as const;
};

beforeEach(() => {
  for (const name of ['home', 'upper', 'lower']) mkdirSync(at(name));
});

it('a product that was made before the person’s last edit of a source keeps its time, and one made later does not', async () => {
  write('home/source.c', 'mine');
  made('old.o', past);
  made('new.o', future);
  made('written.c', past);
  const steps = put('new.o', 'old.o', 'written.c');
  assert.deepEqual(await planned(steps), [['put new.o', 'age old.o', 'put written.c'], undefined]);
  assert.deepEqual(await planned([...steps, { action: 'remove', path: 'gone.o' }]), [
    ['put new.o', 'age old.o', 'put written.c', 'remove gone.o'],
    undefined,
  ]);
});

it('an edit counts where it is of a source that is not written', async () => {
  made('old.o', past);
  const isAged = async (more: Partial<Writing> = {}, steps = put('old.o')) =>
    (await planned(steps, more))[0].includes('age old.o');
  assert.equal(await isAged(), false, 'there is no source');
  for (const path of ['.git/config', 'build/x', 'other.o', 'deep/.git/index']) write(`home/${path}`);
  rmSync(at('home/.git'), { recursive: true });
  assert.equal(await isAged(), false, 'products and git’s own are none');
  mkdirSync(at('home/directory'));
  assert.equal(await isAged(), false, 'nor is a directory');
  write('home/source.c');
  assert.equal(await isAged(), true);
  assert.equal(await isAged({}, put('old.o', 'source.c')), false, 'it is written as well');
  assert.equal(await isAged({ touched: ['source.c'] }), false);
  write('home/tree/own.c');
  rmSync(at('home/source.c'));
  assert.equal(
    await isAged({}, [...put('old.o'), { action: 'put', path: 'tree', tree: { entries: 1, products: false } }]),
    false,
  );
  assert.equal(await isAged(), true);
});

it('a product is older than every source of which the person keeps another version', async () => {
  for (const [path, time] of [
    ['home/a.c', 2000],
    ['home/b.c', 1000],
    ['home/c.c', 500],
    ['home/x.o', 100],
  ] as const) {
    write(path);
    utimesSync(at(path), time, time);
  }
  made('new.o', future);
  made('d.c', future);
  const [plan, before] = await planned(put('d.c', 'new.o'), { left: ['a.c', 'b.c', 'x.o', 'none.c', '.git/index'] });
  assert.deepEqual([plan, before], [['put d.c', 'age new.o'], 1_000_000_000_000n]);
  assert.deepEqual(await planned(put('d.c', 'new.o'), { left: ['x.o', 'none.c'] }), [
    ['put d.c', 'put new.o'],
    undefined,
  ]);
  assert.deepEqual((await planned(put('d.c'), { left: ['a.c'] }))[1], undefined, 'no product is written');
});

it('products in whole trees, and those of which only the time is another, are counted as those that are written', async () => {
  write('home/source.c');
  made('dist/deep/old.js', past);
  made('dist/new.js', future);
  const whole = { action: 'put', path: 'dist', tree: { entries: 3, products: true } } as const;
  const [plan] = await planned([whole]);
  assert.deepEqual(plan, ['put dist', 'put dist/deep', 'age dist/deep/old.js', 'put dist/new.js']);
  assert.deepEqual((await planned([{ ...whole, tree: { ...whole.tree, products: false } }]))[0], ['put dist/']);
  made('old.o', past);
  made('text', past);
  assert.deepEqual((await planned([], { touched: ['old.o', 'text'], held: ['held'] }))[0], [
    'touch text',
    'weigh held',
  ]);
});

it('what is written without another content or time keeps its time, and so do further names of a file', async () => {
  for (const name of ['mode', 'content', 'time']) {
    write(`lower/${name}`, 'x');
    utimesSync(at('lower', name), past, past);
  }
  made('mode', past, 'x');
  chmodSync(at('upper/mode'), 0o600);
  made('content', past, 'y');
  made('time', future, 'x');
  const lowers = [at('lower')];
  const steps = put('content', 'mode', 'time');
  const same = new Set(['mode', 'time']);
  assert.deepEqual((await planned(steps, { lowers, sameContent: same }))[0], ['put content', 'keep mode', 'put time']);
  assert.deepEqual((await planned(steps, { lowers }))[0], ['put content', 'put mode', 'put time']);
  const listed = countingTimes(await tree.times({ uppers: [at('upper')], lowers, known: true }), same);
  assert.deepEqual((await planned(steps, { lowers, sameContent: same, listed }))[0], [
    'put content',
    'keep mode',
    'put time',
  ]);
  assert.deepEqual((await planned(steps, { lowers, sameContent: same, listed: [] }))[0], [
    'put content',
    'put mode',
    'put time',
  ]);
  rmSync(at('upper'), { recursive: true });
  mkdirSync(at('upper'));
  made('mode', past, 'x');
  linkSync(at('upper/mode'), at('upper/name'));
  assert.deepEqual((await planned(put('name'), { lowers }))[0], ['know mode', 'keep name']);
  utimesSync(at('upper/mode'), future, future);
  assert.deepEqual((await planned(put('name'), { lowers }))[0], ['know mode', 'put name']);
});

it('times count where the person has the file, too, or where it has several names', () => {
  const time = (path: string, state: 'same' | 'modified' | 'added', more = {}) =>
    ({ path, state, modified: 2n, before: 1n, links: undefined, ...more }) as never;
  const all = [
    time('same', 'same'),
    time('kept', 'same', { before: 2n }),
    time('other', 'modified'),
    time('new', 'added'),
    time('linked', 'added', { links: '7' }),
  ];
  assert.deepEqual(touchedOf(all), ['same']);
  assert.deepEqual(
    countingTimes(all, new Set(['other'])).map(({ path }) => path),
    ['same', 'kept', 'other', 'linked'],
  );
  const changes = [change('a', { content: false }), change('b', { content: true })];
  assert.deepEqual([...sameContentOf(changes)], ['a']);
});
