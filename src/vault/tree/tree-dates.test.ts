/** The times that an apply gives: a model of every kind of step, in any mixture, and what has no time of its own. */
import assert from 'node:assert/strict';
import { linkSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { randomFrom, testSeed } from '../../../test/support/random.js';
import { snapshot } from '../../../test/support/snapshot.js';
import type { TreeStep } from './tree.js';
import { freshPlace, tree } from './tree-fixture.js';

const { at, write } = freshPlace();
const nanosecond = 1_000_000_000n;
const timeOf = (path: string) => lstatSync(path, { bigint: true }).mtimeNs;
const actions = ['put', 'keep', 'age', 'touch', 'weigh', 'remove'] as const;
const directories = ['', 'd/', 'd/e/'];

/** The later time of each of these, in their order: equal ones stay equal. */
function later(times: readonly bigint[], after: bigint): (time: bigint) => bigint {
  const sorted = [...new Set(times)].sort((one, other) => (one < other ? -1 : 1));
  return (time) => after + 1n + BigInt(sorted.indexOf(time));
}

describe('the times of what is applied', () => {
  it('are later ones in their order, kept, earlier ones or none, as each step says', async () => {
    const random = randomFrom(testSeed);
    const choose = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    for (let round = 0; round < 8; round += 1) {
      const [up, to] = [at(`up${round}`), at(`to${round}`)];
      const before = 5n * nanosecond;
      const plan: TreeStep[] = Array.from({ length: 12 }, (_, number) => ({
        action: choose(actions),
        path: `${choose(directories)}f${number}`,
      }));
      for (const { path } of plan) {
        write(`up${round}/${path}`);
        write(`to${round}/${path}`, 'before');
        const second = 1 + Math.floor(random() * 8);
        utimesSync(`${up}/${path}`, second, second);
        utimesSync(`${to}/${path}`, 100, 100);
      }
      for (const name of ['d/e', 'd', '.']) {
        mkdirSync(`${up}/${name}`, { recursive: true });
        mkdirSync(`${to}/${name}`, { recursive: true });
      }
      for (const name of ['d/e', 'd', '.']) utimesSync(`${up}/${name}`, 9, 9);
      // A directory has its time with what was put into it, or taken away.
      const changed = new Set(plan.flatMap(({ action, path }) => (/touch|weigh/.test(action) ? [] : [dirname(path)])));
      const counted = plan.flatMap(({ action, path }) => (action === 'remove' ? [] : [timeOf(`${up}/${path}`)]));
      for (const name of changed) counted.push(timeOf(`${up}/${name}`));
      const aged = plan.flatMap(({ action, path }) => (action === 'age' ? [timeOf(`${up}/${path}`)] : []));
      const late = aged.filter((time) => time >= before);
      const times = new Map(plan.map(({ path }) => [path, timeOf(`${up}/${path}`)]));
      const options = { uppers: [up], root: to, plan, before };
      const { after = 0n } = await tree.apply({ ...options, forward: 'now' });
      const [giveLater, giveEarlier] = [later(counted, after), later(late, before - 1n - BigInt(new Set(late).size))];
      const check = () => {
        for (const { action, path } of plan) {
          const [own, what] = [times.get(path) ?? 0n, `round ${round}: ${action} ${path} of ${JSON.stringify(plan)}`];
          if (action === 'remove') assert.throws(() => statSync(`${to}/${path}`), { code: 'ENOENT' }, what);
          else if (action === 'put' || action === 'touch') assert.equal(timeOf(`${to}/${path}`), giveLater(own), what);
          else if (action === 'keep') assert.equal(timeOf(`${to}/${path}`), own, what);
          else if (action === 'weigh') assert.equal(timeOf(`${to}/${path}`), 100n * nanosecond, what);
          else assert.equal(timeOf(`${to}/${path}`), own >= before ? giveEarlier(own) : own, what);
          const isPut = action === 'put' || action === 'keep' || action === 'age';
          if (action !== 'remove')
            assert.equal(readFileSync(`${to}/${path}`, 'utf8'), isPut ? `up${round}/${path}` : 'before');
        }
        for (const name of changed)
          assert.equal(timeOf(`${to}/${name}`), giveLater(9n * nanosecond), `round ${round}: ${name}`);
      };
      check();
      // Given again, they are the same.
      assert.equal((await tree.apply({ ...options, forward: after })).after, after);
      check();
    }
  });

  it('are older than what is written next, and newer than all that was there', async () => {
    write('up/f');
    write('to/older');
    await tree.apply({ uppers: [at('up')], root: at('to'), plan: [{ action: 'put', path: 'f' }], forward: 'now' });
    write('to/newer');
    const [older = 0n, given = 0n, newer = 0n] = ['older', 'f', 'newer'].map((name) => timeOf(at('to', name)));
    assert.ok(older < given && given < newer, `${older} ${given} ${newer}`);
  });

  it('are those of the fork in a directory that holds nothing else, of links and directories, too', async () => {
    for (const path of ['d/file', 'd/e/file', 'file']) write(`up/${path}`);
    symlinkSync('file', at('up/d/link'));
    linkSync(at('up/d/file'), at('up/second'));
    for (const [index, path] of ['d/file', 'd/e/file', 'file', 'd/e', 'd', '.'].entries())
      utimesSync(at('up', path), 1, 1000 + index);
    mkdirSync(at('to'));
    const paths = ['.', 'd', 'd/e', 'd/e/file', 'd/file', 'd/link', 'file', 'second'];
    const plan = paths.map((path) => ({ action: 'put', path }) as const);
    await tree.apply({ uppers: [at('up')], root: at('to'), plan, whole: true });
    assert.deepEqual(snapshot(at('to')), snapshot(at('up')));
    assert.equal(timeOf(at('to/d/link')), timeOf(at('up/d/link')));
    assert.equal(statSync(at('to/second')).ino, statSync(at('to/d/file')).ino);
  });
});

describe('a name that the directory has already', () => {
  const put = (plan: readonly TreeStep[]) =>
    tree.apply({
      uppers: [at('up')],
      root: at('to'),
      plan,
      forward: 'now',
      expected: [at('to-before')],
      durable: true,
    });

  it('is what further names of its file are given, if it is known and a file, and else they are apart', async () => {
    write('up/one', 'text');
    for (const name of ['two', 'three']) linkSync(at('up/one'), at('up', name));
    write('up/alone', 'text');
    write('to/one', 'text');
    write('to/alone', 'text');
    mkdirSync(at('to-before'));
    const inode = (name: string) => statSync(at('to', name)).ino;
    await put([
      { action: 'know', path: 'one' },
      { action: 'know', path: 'missing' },
      { action: 'know', path: 'alone' },
      { action: 'put', path: 'two' },
    ]);
    assert.equal(inode('two'), inode('one'));
    await put([{ action: 'put', path: 'three' }]);
    assert.notEqual(inode('three'), inode('one'));
    assert.equal(statSync(at('to/alone')).nlink, 1);
  });

  it('is not one that is a link or a directory by now', async () => {
    write('up/one', 'text');
    linkSync(at('up/one'), at('up/two'));
    mkdirSync(at('to-before'));
    mkdirSync(at('to'));
    for (const make of [() => symlinkSync('elsewhere', at('to/one')), () => mkdirSync(at('to/one'))]) {
      make();
      await put([
        { action: 'know', path: 'one' },
        { action: 'put', path: 'two' },
      ]);
      assert.equal(readFileSync(at('to/two'), 'utf8'), 'text');
      assert.equal(lstatSync(at('to/two')).nlink, 1);
      await tree.remove(at('to'));
      mkdirSync(at('to'));
    }
  });

  it('are in the order that files had before 1970 and beyond 2262, too', async () => {
    const [up, to] = [at('far-up'), at('far-to')];
    mkdirSync(to);
    const years = [1902, 1960, 1970, 2026, 2040, 2261, 2300] as const;
    for (const year of years) {
      write(`far-up/${year}`);
      // As a Date: Node takes a number below 0 for now.
      const time = new Date(Date.UTC(year, 1));
      utimesSync(`${up}/${year}`, time, time);
    }
    const plan = years.map((year) => ({ action: 'put' as const, path: String(year) }));
    const { after = 0n } = await tree.apply({ uppers: [up], root: to, plan, forward: 'now' });
    const found = years.map((year) => timeOf(`${to}/${year}`));
    assert.deepEqual(
      found,
      [...found].sort((one, other) => (one < other ? -1 : 1)),
    );
    assert.ok(found.every((time) => time > after && time <= after + 10n));
  });

  it('are given at once where the clock was set back since those that they come after', async () => {
    const [up, to] = [at('back-up'), at('back-to')];
    mkdirSync(to);
    write('back-up/f');
    const ahead = BigInt(Date.now() + 60 * 60_000) * 1_000_000n;
    const signal = AbortSignal.timeout(30_000);
    const plan: TreeStep[] = [{ action: 'put', path: 'f' }];
    await tree.apply({ uppers: [up], root: to, plan, forward: ahead, signal });
    assert.equal(timeOf(`${to}/f`), ahead + 1n);
  });
});
