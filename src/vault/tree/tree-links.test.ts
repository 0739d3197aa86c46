/** What is kept of a file that a frozen layer has already is a further name of it: never of the person's own, and only while both are one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Change, TreeStep } from './tree.js';
import { freshPlace, program, tree } from './tree-fixture.js';

describe('a mirror with links', () => {
  const { at, write } = freshPlace();
  const isOne = (left: string, right: string) => statSync(at(left)).ino === statSync(at(right)).ino;
  const past = new Date('2020-01-01T00:00:00Z');

  /** A directory of the person's, and its copy in the store. */
  async function copied(names: readonly string[], change: () => void = () => undefined) {
    for (const name of names) {
      write(`origin/${name}`, name);
      utimesSync(at('origin', name), past, past);
    }
    await sleep(30); // A change a moment ago would not show in the times.
    await tree.copy({ root: at('origin'), destination: at('trunk'), signatures: at('signatures') });
    change();
    await sleep(30);
  }

  const keep = (paths: readonly string[], links = true) =>
    tree.mirror({ root: at('origin'), into: at('kept'), layers: [at('trunk')], paths, links });

  it('names the file of the layer, and never that of the directory', async () => {
    await copied(['d/same', 'd/other']);
    await keep(['d/same', 'd/other']);
    for (const name of ['d/same', 'd/other']) {
      assert.equal(isOne(`kept/${name}`, `trunk/${name}`), true);
      assert.equal(isOne(`kept/${name}`, `origin/${name}`), false);
    }
  });

  it('copies where it is not asked to', async () => {
    await copied(['same']);
    await keep(['same'], false);
    assert.equal(isOne('kept/same', 'trunk/same'), false);
  });

  it('copies what is not as the layer has it', async () => {
    await copied(['size', 'time', 'mode'], () => {
      writeFileSync(at('origin/size'), 'longer than it was');
      utimesSync(at('origin/size'), past, past);
      lutimesSync(at('origin/time'), past, new Date('2021-01-01T00:00:00Z'));
      chmodSync(at('origin/mode'), 0o600);
    });
    await keep(['size', 'time', 'mode']);
    for (const name of ['size', 'time', 'mode']) {
      assert.equal(isOne(`kept/${name}`, `trunk/${name}`), false, name);
      assert.equal(readFileSync(at('kept', name), 'utf8'), readFileSync(at('origin', name), 'utf8'));
      assert.equal(statSync(at('kept', name)).mode, statSync(at('origin', name)).mode);
    }
  });

  it('copies what was changed just now, though no time that a writer may set says so', async (t) => {
    const words = ['mirror', at('origin'), '--into', at('kept'), '--layer', at('trunk'), '--links'];
    // In one shell, which is there already when it writes.
    const script = 'printf JUST > "$1" && touch -d "@$2" "$1" && shift 2 && "$@" && date +%s%3N';
    const written = ['-c', script, 'sh', at('origin/just'), String(past.getTime() / 1000), program, ...words];
    await copied(['just']);
    for (let tried = 0; tried < 20; tried += 1) {
      const { status, stdout } = spawnSync('sh', written, { input: 'just\0', encoding: 'utf8' });
      assert.equal(status, 0);
      // A busy machine may have let so much time pass that it is not just now any more. What is copied is waited for as long.
      const inTime = Number(stdout) - statSync(at('origin/just')).ctimeMs < 19;
      const kept = readFileSync(at('kept/just'), 'utf8');
      await tree.remove(at('kept'));
      if (kept === 'JUST') return;
      assert.ok(!inTime, 'it counts as the file of the layer');
    }
    return t.skip('this machine is too busy to look at a file within 20 ms');
  });

  it('copies what has attributes that the layer may not have', async (t) => {
    await copied(['marked', 'plain']);
    const words = ['-c', 'import os, sys; os.setxattr(sys.argv[1], "user.mark", b"1")', at('origin/marked')];
    if (spawnSync('python3', words).status !== 0) return t.skip('no python3, or no user attributes here');
    await sleep(30);
    await keep(['marked', 'plain']);
    assert.equal(isOne('kept/marked', 'trunk/marked'), false);
    assert.equal(isOne('kept/plain', 'trunk/plain'), true);
  });

  it('does not name the file of a directory that is its own layer', async () => {
    await copied(['same']);
    await tree.mirror({ root: at('origin'), into: at('kept'), layers: [at('origin')], paths: ['same'], links: true });
    assert.equal(isOne('kept/same', 'origin/same'), false);
  });

  it('keeps apart what the person has taken apart since', async () => {
    write('origin/one', 'one');
    linkSync(at('origin/one'), at('origin/two'));
    utimesSync(at('origin/one'), past, past);
    await sleep(30);
    await tree.copy({ root: at('origin'), destination: at('trunk'), signatures: at('signatures') });
    assert.equal(isOne('trunk/one', 'trunk/two'), true);
    await tree.remove(at('origin'));
    for (const name of ['one', 'two']) {
      write(`origin/${name}`, 'one');
      utimesSync(at('origin', name), past, past);
    }
    await sleep(30);
    await keep(['one', 'two']);
    assert.equal(isOne('kept/one', 'kept/two'), false);
  });
});

describe('files with further names in other layers', () => {
  const { at, write } = freshPlace();

  it('are put together, and those of one file as one file', async () => {
    const plan: TreeStep[] = [];
    for (const name of ['upper', 'kept', 'origin']) mkdirSync(at(name));
    for (let file = 0; file < 40; file += 1) {
      const path = `d/f${file}`;
      write(`upper/${path}`, `new ${path}`);
      for (const side of ['kept', 'origin']) write(`${side}/${path}`, `old ${path}`);
      plan.push({ action: 'put', path });
    }
    mkdirSync(at('frozen'));
    for (let file = 0; file < 40; file += 1) linkSync(at(`upper/d/f${file}`), at(`frozen/f${file}`));
    linkSync(at('upper/d/f7'), at('upper/d/g'));
    linkSync(at('upper/d/f8'), at('upper/top'));
    const done: string[] = [];
    const { clashes } = await tree.apply({
      uppers: [at('upper')],
      root: at('origin'),
      expected: [at('kept')],
      plan: [...plan, { action: 'put', path: 'd/g' }, { action: 'put', path: 'top' }],
      forward: 'now',
      durable: true,
      onDone: (path) => done.push(path),
    });
    assert.deepEqual(clashes, []);
    assert.deepEqual(done.sort(), [...plan.map(({ path }) => path), 'd/g', 'top'].sort());
    for (const { path } of plan) assert.equal(readFileSync(at('origin', path), 'utf8'), `new ${path}`);
    assert.equal(statSync(at('origin/d/g')).ino, statSync(at('origin/d/f7')).ino);
    assert.equal(statSync(at('origin/top')).ino, statSync(at('origin/d/f8')).ino);
    assert.equal(statSync(at('origin/d/f9')).nlink, 1);
  });
});

describe('changes with their times', () => {
  const { at, write } = freshPlace();

  it('are what both lists are on their own', async () => {
    for (const name of ['same', 'touched', 'changed', 'mode', 'd/gone']) write(`lower/${name}`, name);
    for (const name of ['same', 'touched', 'mode']) {
      write(`upper/${name}`, name);
      const { atime, mtime } = statSync(at('lower', name));
      utimesSync(at('upper', name), atime, mtime);
    }
    const sides = { uppers: [at('upper')], lowers: [at('lower')] };
    const alone = async () => ({ changes: await tree.diff(sides), times: await tree.times({ ...sides, known: true }) });
    const both = async () => {
      const changes: Change[] = [];
      const times = await tree.diffWithTimes(sides, (change) => changes.push(change));
      return { changes, times };
    };
    assert.deepEqual(await both(), await alone());
    utimesSync(at('upper/touched'), 1, 1);
    chmodSync(at('upper/mode'), 0o600);
    write('upper/changed', 'longer than before');
    write('upper/new/one');
    linkSync(at('upper/new/one'), at('upper/new/two'));
    const { changes, times } = await both();
    // New names of a file of which none was there say nothing.
    const { times: all, ...rest } = await alone();
    assert.deepEqual({ changes, times }, { ...rest, times: all.filter(({ path }) => !path.startsWith('new/')) });
    assert.deepEqual(
      changes.map(({ path }) => path),
      ['changed', 'mode', 'new', 'new/one', 'new/two'],
    );
    assert.deepEqual(
      times.map(({ path }) => path).filter((path) => path !== 'same'),
      ['changed', 'mode', 'touched'],
    );
  });
});
