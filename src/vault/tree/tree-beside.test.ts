/** Directories that an apply makes beside their places: each comes as a whole, or not at all. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { isStopped } from '../../../test/support/process.js';
import { refusing } from '../../../test/support/refuse-bits.js';
import type { TreeStep } from './tree.js';
import { freshPlace, program, tree } from './tree-fixture.js';

describe('a directory that is new as a whole', () => {
  const { at, write } = freshPlace();

  function makeTrees(files: number, directories = ['new/d']): TreeStep[] {
    for (const name of ['upper', 'kept', 'origin']) mkdirSync(at(name));
    const plan: TreeStep[] = [];
    for (const directory of directories) {
      for (const above of directory.split('/').map((_, index, names) => names.slice(0, index + 1).join('/')))
        if (!plan.some(({ path }) => path === above)) plan.push({ action: 'put', path: above });
      for (let file = 0; file < files; file += 1) {
        const path = `${directory}/f${String(file).padStart(5, '0')}`;
        write(`upper/${path}`, `content of ${path}`);
        plan.push({ action: 'put', path });
      }
    }
    return plan;
  }

  const put = (plan: readonly TreeStep[], done: string[] = []) =>
    tree.apply({
      uppers: [at('upper')],
      root: at('origin'),
      expected: [at('kept')],
      plan,
      forward: 'now',
      durable: true,
      onDone: (path) => done.push(path),
    });

  const names = () => readdirSync(at('origin'), { recursive: true, encoding: 'utf8' }).sort();
  const beside = () => readdirSync(at('origin')).filter((name) => /^\.ctx-[0-9a-f]{16}\.new$/.test(name));
  const pathsOf = (plan: readonly TreeStep[]) => plan.map(({ path }) => path).sort();

  /** Stopped while the directory is being made; begun anew where it was made before the signal came. */
  async function stoppedInside(
    plan: readonly TreeStep[],
  ): Promise<{ child: ChildProcess; ended: Promise<unknown>; said: string[] }> {
    const words = ['apply', '--upper', at('upper'), '--to', at('origin'), '--layer', at('kept'), '--durable'];
    for (;;) {
      const child = spawn(program, [...words, '--forward'], { stdio: ['pipe', 'pipe', 'inherit'] });
      const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
      const said: string[] = [];
      child.stdout.setEncoding('utf8').on('data', (text: string) => said.push(text));
      child.stdin.end(plan.map(({ action, path }) => `${action}\0${path}\0`).join(''));
      while (beside().length === 0 && !existsSync(at('origin/new'))) await new Promise(setImmediate);
      child.kill('SIGSTOP');
      while (child.exitCode === null && !isStopped(child.pid)) await new Promise(setImmediate);
      // With something left to make: what is whole comes, whatever it is told.
      const [made] = beside().map((name) => readdirSync(at(`origin/${name}`), { recursive: true }).length);
      if (made !== undefined && made < plan.length - 2) return { child, ended, said };
      child.kill('SIGKILL');
      await ended;
      rmSync(at('origin'), { recursive: true });
      mkdirSync(at('origin'));
    }
  }

  // Between the two, files wait for their names, too: a descriptor for each, and for its directory.
  for (const most of [60, 300])
    it(`is one of many that come with ${most} descriptors`, () => {
      const directories = Array.from({ length: most }, (_, index) => `new${index}`);
      const plan = makeTrees(8, directories);
      for (const directory of directories.slice(0, most / 2)) {
        for (const side of ['kept', 'origin']) mkdirSync(at(side, `a${directory}`));
        write(`upper/a${directory}/f`, 'beside what is there');
        plan.unshift({ action: 'put', path: `a${directory}/f` });
      }
      const input = plan.map(({ action, path }) => `${action}\0${path}\0`).join('');
      const words = ['apply', '--upper', at('upper'), '--to', at('origin'), '--layer', at('kept'), '--durable'];
      execFileSync('bash', ['-c', `ulimit -n ${most}; exec "$0" "$@"`, program, ...words], { input });
      assert.deepEqual(beside(), []);
      assert.equal(names().length, plan.length + most / 2);
    });

  it('has no name where the disk does not have it, and nothing is replaced by what that does not have', () => {
    const calls = ['fsync', 'fdatasync', 'syncfs', 'sync_file_range'];
    const words = ['apply', '--upper', at('upper'), '--to', at('origin'), '--layer', at('kept'), '--durable'];
    // As a whole; as few files; in the place of one that is there.
    for (const [files, before] of [
      [20, undefined],
      [3, undefined],
      [3, 'new/f00001'],
    ] as const) {
      const plan = makeTrees(files, ['new']);
      if (before !== undefined) for (const side of ['kept', 'origin']) write(`${side}/${before}`, 'old');
      const input = plan.map(({ action, path }) => `${action}\0${path}\0`).join('');
      const failing = refusing(
        at(),
        calls.map((call) => [call, 0, '0', constants.errno.EIO]),
      );
      const [file = '', ...rest] = [...failing, program, ...words];
      const { status, stderr } = spawnSync(file, rest, { input, encoding: 'utf8' });
      assert.equal(status, 1, stderr);
      assert.match(stderr, /^EIO\0/);
      const there = names().filter((path) => statSync(at('origin', path)).isFile());
      assert.deepEqual(there, before === undefined ? [] : [before]);
      if (before !== undefined) assert.equal(readFileSync(at('origin', before), 'utf8'), 'old');
      for (const name of ['upper', 'kept', 'origin']) rmSync(at(name), { recursive: true });
    }
  });

  it('comes with its modes, links and times, and every entry is told', async () => {
    const plan = makeTrees(20, ['new', 'new/sub', 'other']);
    symlinkSync('f00001', at('upper/new/link'));
    linkSync(at('upper/new/f00003'), at('upper/new/sub/same'));
    linkSync(at('upper/new/f00003'), at('upper/other/same'));
    for (const path of ['new/link', 'new/sub/same'])
      plan.splice(
        plan.findIndex((step) => step.path === 'other'),
        0,
        { action: 'put', path },
      );
    plan.push({ action: 'put', path: 'other/same' });
    chmodSync(at('upper/new/f00002'), 0o754);
    chmodSync(at('upper/new/sub'), 0o750);
    utimesSync(at('upper/new/f00004'), 1_000, 1_000);
    const done: string[] = [];
    const { clashes, after } = await put(plan, done);
    assert.deepEqual(clashes, []);
    assert.deepEqual(done.sort(), pathsOf(plan));
    assert.deepEqual(names(), pathsOf(plan));
    assert.equal(statSync(at('origin/new/f00002')).mode & 0o7777, 0o754);
    assert.equal(statSync(at('origin/new/sub')).mode & 0o7777, 0o750);
    assert.equal(readlinkSync(at('origin/new/link')), 'f00001');
    for (const path of ['new/sub/same', 'other/same'])
      assert.equal(statSync(at('origin', path)).ino, statSync(at('origin/new/f00003')).ino);
    const [old, young] = ['f00004', 'f00005'].map((name) => statSync(at('origin/new', name), { bigint: true }).mtimeNs);
    assert.ok((old ?? 0n) > (after ?? 0n) && (old ?? 0n) < (young ?? 0n));
  });

  it('is whole where the plan names it twice, and comes back to it later', async () => {
    const plan = makeTrees(20, ['new', 'other']);
    write('upper/new/late');
    const { clashes } = await put([...plan.slice(0, 10), ...plan, { action: 'put', path: 'new/late' }]);
    assert.deepEqual(clashes.length, 9);
    assert.deepEqual(names(), [...pathsOf(plan), 'new/late'].sort());
    assert.equal(readFileSync(at('origin/new/late'), 'utf8'), 'upper/new/late');
  });

  it('is put entry by entry where the plan names one of them twice in it', async () => {
    const plan = makeTrees(20, ['new', 'new/sub']);
    const twice = plan.findIndex(({ path }) => path === 'new/f00007');
    const done: string[] = [];
    const repeated = [...plan.slice(0, twice + 3), ...plan.slice(twice, twice + 1), ...plan.slice(twice + 3)];
    const { clashes } = await put(repeated, done);
    assert.deepEqual(clashes, ['new/f00007'], 'the second time');
    assert.deepEqual(done.sort(), pathsOf(plan));
    assert.deepEqual(names(), pathsOf(plan));
    for (const { path } of plan.slice(twice)) {
      if (/f\d+$/.test(path)) assert.equal(readFileSync(at('origin', path), 'utf8'), `content of ${path}`);
    }
    const times = plan.map(({ path }) => statSync(at('origin', path), { bigint: true }).mtimeNs);
    assert.ok(
      times.every((time) => time > statSync(at('upper/new'), { bigint: true }).ctimeNs),
      'all are as new as they are there',
    );
  });

  it('goes into one that the person makes meanwhile entry by entry, and what they saved there stays', async () => {
    const plan = makeTrees(1_000);
    const { child, ended, said } = await stoppedInside(plan);
    mkdirSync(at('origin/new/d'), { recursive: true });
    writeFileSync(at('origin/new/d/f00007'), 'saved meanwhile');
    writeFileSync(at('origin/new/d/mine'), 'mine');
    child.kill('SIGCONT');
    assert.equal(await ended, 0);
    const told = said.join('').split('\0');
    for (const { path } of plan) assert.equal(told.filter((each) => each === path).length, 1, `${path} is told once`);
    assert.equal(told[told.indexOf('new/d/f00007') + 1], 'clash');
    assert.deepEqual(names(), [...pathsOf(plan), 'new/d/mine'].sort());
    assert.equal(readFileSync(at('origin/new/d/f00007'), 'utf8'), 'saved meanwhile');
    assert.equal(readFileSync(at('origin/new/d/f00008'), 'utf8'), 'content of new/d/f00008');
  });

  it('leaves nothing where it is told to stop while it is made', async () => {
    const { child, ended } = await stoppedInside(makeTrees(1_000));
    child.kill('SIGTERM');
    child.kill('SIGCONT');
    assert.equal(await ended, 143);
    assert.deepEqual(names(), []);
  });

  it('is swept after a kill, and what another run makes is whole', async () => {
    const plan = makeTrees(1_000);
    for (const again of [false, true]) {
      const { child, ended } = await stoppedInside(plan);
      child.kill('SIGKILL');
      await ended;
      assert.equal(beside().length, 1);
      if (again) continue;
      const sweeps = plan.map(({ path }): TreeStep => ({ action: 'sweep', path }));
      await tree.apply({ uppers: [at('upper')], root: at('origin'), plan: sweeps, expected: [at('kept')] });
      assert.deepEqual(names(), []);
    }
    await put(plan);
    assert.deepEqual(names(), pathsOf(plan));
  });
});
