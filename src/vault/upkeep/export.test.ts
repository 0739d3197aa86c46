/** A fork that is written out: to a directory or file that nobody had, whole, and nothing beside it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { it } from 'node:test';
import { freshVault, lookAt } from '../forks/vault-fixture.js';
import { exportFork } from './export.js';

const { at, write, withFork, command, access } = freshVault();

async function work() {
  write('project/own', 'mine');
  write('project/gone', 'mine');
  utimesSync(at('project/own'), 1000, 1000);
  await command((directory) => {
    rmSync(join(directory, 'gone'));
    mkdirSync(join(directory, 'dir'));
    writeFileSync(join(directory, 'dir/made'), 'inside', { mode: 0o750 });
    chmodSync(join(directory, 'dir'), 0o500);
    symlinkSync('own', join(directory, 'link'));
    writeFileSync(join(directory, 'one'), 'mine');
    linkSync(join(directory, 'one'), join(directory, 'again'));
  });
  return { again: 'mine', dir: '/', 'dir/made': 'inside', link: '-> own', one: 'mine', own: 'mine' };
}

it('a directory has all that the fork shows, with modes, times and links', async () => {
  const expected = await work();
  const layers = readdirSync(access().paths.layers);
  assert.deepEqual(await withFork((fork) => exportFork(fork, at('out'))), []);
  assert.deepEqual(lookAt(at('out')), expected);
  const about = (path: string) => statSync(at('out', path));
  assert.deepEqual(
    [about('dir').mode & 0o777, about('dir/made').mode & 0o777, about('own').mtimeMs],
    [0o500, 0o750, 1_000_000],
  );
  assert.equal(about('one').ino, about('again').ino);
  assert.deepEqual(readdirSync(access().paths.layers), layers);
  mkdirSync(at('empty'));
  await withFork((fork) => exportFork(fork, at('empty')));
  assert.deepEqual(lookAt(at('empty')), expected);
  chmodSync(at('out/dir'), 0o700);
  chmodSync(at('empty/dir'), 0o700);
});

it('a file has the same, is the person’s alone to make, and is gone where it was not finished', async () => {
  const expected = await work();
  const layers = readdirSync(access().paths.layers);
  await withFork((fork) => exportFork(fork, at('out.tar')));
  mkdirSync(at('unpacked'));
  execFileSync('tar', ['--extract', '--file', at('out.tar'), '--directory', at('unpacked')]);
  assert.deepEqual([lookAt(at('unpacked')), readdirSync(access().paths.layers)], [expected, layers]);
  const bytes = readFileSync(at('out.tar'));
  await assert.rejects(
    withFork((fork) => exportFork(fork, at('out.tar'))),
    { code: 'EEXIST' },
  );
  assert.ok(readFileSync(at('out.tar')).equals(bytes));
  await assert.rejects(
    withFork((fork) => exportFork(fork, at('none/out.tar'))),
    { code: 'ENOENT' },
  );
  await withFork(async (fork) => {
    const broken = { ...fork, meta: { ...fork.meta, deltas: [...fork.meta.deltas, 'broken'] } };
    mkdirSync(fork.paths.layer('broken'));
    writeFileSync(fork.paths.tree('broken', 'workspace'), 'no tree');
    await assert.rejects(exportFork(broken, at('half.tar')));
    rmSync(fork.paths.layer('broken'), { recursive: true });
  });
  assert.deepEqual([existsSync(at('half.tar')), readdirSync(access().paths.layers)], [false, layers]);
  chmodSync(at('unpacked/dir'), 0o700);
});

it('nothing goes into what somebody has, and a socket is named and left out', async () => {
  write('project/own', 'mine');
  mkdirSync(at('project/dir'));
  const server = createServer().listen(at('project/dir/socket'));
  await new Promise((resolve) => server.once('listening', resolve));
  write('full/theirs', 'x');
  write('file', 'x');
  await command(() => undefined);
  await withFork(async (fork) => {
    await assert.rejects(exportFork(fork, at('full')), { code: 'EEXIST' });
    await assert.rejects(exportFork(fork, at('file')), (error: { code: string }) =>
      /^E(?:EXIST|NOTDIR)$/.test(error.code),
    );
    symlinkSync(at('project'), at('link'));
    await assert.rejects(exportFork(fork, at('link')));
    assert.deepEqual(await exportFork(fork, at('out')), []);
  });
  server.close();
  assert.deepEqual([lookAt(at('full')), lookAt(at('out'))], [{ theirs: 'x' }, { dir: '/', own: 'mine' }]);
});
