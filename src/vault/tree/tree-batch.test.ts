/** Files of an apply that wait for the disk together: more than one batch, new and replaced, in many directories. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { cannotKillAt, compileKillAt, notKilled } from '../../../test/support/kill-at.js';
import type { TreeStep } from './tree.js';
import { freshPlace, program, tree } from './tree-fixture.js';

describe('files that are put together', () => {
  const { at, write } = freshPlace();

  /** New and replaced files, and what was kept of the replaced ones. */
  function makeTrees(directories: number, files: number): TreeStep[] {
    const plan: TreeStep[] = [];
    for (const name of ['upper', 'kept', 'origin']) mkdirSync(at(name));
    for (let directory = 0; directory < directories; directory += 1) {
      plan.push({ action: 'put', path: `d${directory}` });
      for (let file = 0; file < files; file += 1) {
        const path = `d${directory}/f${file}`;
        write(`upper/${path}`, `new ${path}`);
        plan.push({ action: 'put', path });
        if (file % 3 !== 0) continue;
        for (const side of ['kept', 'origin']) write(`${side}/${path}`, `old ${path}`);
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

  it('all come, whole, each told, and nothing else is left', async () => {
    const plan = makeTrees(6, 60);
    const done: string[] = [];
    const { clashes } = await put(plan, done);
    assert.deepEqual(clashes, []);
    const paths = plan.map(({ path }) => path);
    assert.deepEqual(done.sort(), [...paths].sort());
    assert.deepEqual(names(), [...paths].sort());
    for (const path of paths.filter((each) => each.includes('/')))
      assert.equal(readFileSync(at('origin', path), 'utf8'), `new ${path}`);
  });

  it('leave alone what the person saved meanwhile, in the middle of a batch', async () => {
    const plan = makeTrees(3, 30);
    writeFileSync(at('origin/d1/f3'), 'saved over a file that is replaced');
    mkdirSync(at('origin/d2'), { recursive: true });
    writeFileSync(at('origin/d2/f4'), 'saved where a new file comes');
    chmodSync(at('origin/d1/f6'), 0o600);
    const { clashes } = await put(plan);
    assert.deepEqual([...clashes].sort(), ['d1/f3', 'd1/f6', 'd2/f4'], 'a mode is theirs, too');
    assert.equal(statSync(at('origin/d1/f6')).mode & 0o777, 0o600);
    assert.match(readFileSync(at('origin/d1/f3'), 'utf8'), /^saved/);
    assert.match(readFileSync(at('origin/d2/f4'), 'utf8'), /^saved/);
    assert.equal(readFileSync(at('origin/d2/f5'), 'utf8'), 'new d2/f5');
    assert.ok(!names().some((name) => name.includes('.ctx-')));
  });

  it('come with few descriptors, too', async () => {
    const plan = makeTrees(2, 60);
    const input = plan.map(({ action, path }) => `${action}\0${path}\0`).join('');
    const words = ['apply', '--upper', at('upper'), '--to', at('origin'), '--layer', at('kept')];
    execFileSync('bash', ['-c', 'ulimit -n 40; exec "$0" "$@"', program, ...words], { input });
    assert.equal(names().length, plan.length);
    assert.ok(statSync(at('origin/d1/f59')).nlink === 1);
  });

  it('leave nothing half made behind where the program is killed', async () => {
    const plan = makeTrees(4, 80);
    const words = ['apply', '--upper', at('upper'), '--to', at('origin'), '--layer', at('kept'), '--durable'];
    const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.on('error', () => undefined);
    child.stdout.once('data', () => child.kill('SIGKILL'));
    child.stdin.end(plan.map(({ action, path }) => `${action}\0${path}\0`).join(''));
    await new Promise((resolve) => child.once('close', resolve));
    for (const path of names().filter((each) => each.includes('/') && !each.includes('.ctx-')))
      assert.match(readFileSync(at('origin', path), 'utf8'), new RegExp(`^(new|old) ${path}$`));
    assert.ok(!names().some((name) => name.endsWith('.new')));
    await put(plan);
    assert.deepEqual(
      plan.filter(({ path }) => path.includes('/') && readFileSync(at('origin', path), 'utf8') !== `new ${path}`),
      [],
    );
  });
});

describe('a directory that is put', () => {
  const { at, write } = freshPlace();

  it('has its mode at whatever step the program is killed: another would be an edit of the person’s', async (context) => {
    const killAt = compileKillAt(at('.'));
    if (killAt === undefined) return context.skip(cannotKillAt);
    for (const name of ['upper', 'kept']) mkdirSync(at(name));
    write('upper/few/file', 'new');
    chmodSync(at('upper/few'), 0o775);
    const input = ['put', 'few', 'put', 'few/file', ''].join('\0');
    for (let step = 1, status: number | null = 0; status !== notKilled; step++) {
      const origin = at(`origin-${step}`);
      mkdirSync(origin);
      const words = ['apply', '--upper', at('upper'), '--to', origin, '--layer', at('kept'), '--durable'];
      status = spawnSync(killAt, [String(step), origin, program, ...words], { input }).status;
      assert.ok(step > 1 || status === 0, 'it is killed');
      if (existsSync(join(origin, 'few'))) assert.equal(statSync(join(origin, 'few')).mode & 0o777, 0o775, `${step}`);
    }
  });
});
