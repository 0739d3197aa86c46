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

/** Of everything below a directory: kind, mode, owner, time, attributes, and which names are one file. */
function allOf(directory: string): unknown {
  const code = `
import json, os, sys
found, first = {}, {}
for folder, directories, files in os.walk(sys.argv[1]):
    for name in ['.'] + files + [each for each in directories if os.path.islink(os.path.join(folder, each))]:
        path = os.path.join(folder, name)
        about, shown = os.lstat(path), os.path.relpath(path, sys.argv[1])
        attributes = {each: os.getxattr(path, each, follow_symlinks=False).hex() for each in sorted(os.listxattr(path, follow_symlinks=False)) if each.startswith('user.')}
        found[shown] = [oct(about.st_mode), about.st_uid, about.st_gid, about.st_mtime_ns, attributes]
        first.setdefault(about.st_ino, []).append(shown)
print(json.dumps([found, sorted(sorted(each) for each in first.values())]))`;
  return JSON.parse(execFileSync('python3', ['-c', code, directory], { encoding: 'utf8' }));
}

it('a file unpacks to what a directory is: modes, owners, times, attributes and links', async () => {
  await work();
  await command((directory) => {
    const code = 'import os, sys\nfor path in sys.argv[1:]: os.setxattr(path, "user.kept", path.encode())';
    mkdirSync(join(directory, 'fresh'));
    execFileSync('python3', ['-c', code, ...['own', 'one', 'fresh'].map((name) => join(directory, name))]);
    utimesSync(join(directory, 'fresh'), 2000, 2000.123_456);
  });
  await withFork(async (fork) => {
    await exportFork(fork, at('out'));
    await exportFork(fork, at('out.tar'));
  });
  mkdirSync(at('unpacked'));
  const tar = ['--extract', '--xattrs', '--same-permissions', '--numeric-owner', '--file', at('out.tar')];
  execFileSync('tar', [...tar, '--directory', at('unpacked')]);
  const [expected, found] = [allOf(at('out')), allOf(at('unpacked'))];
  for (const name of ['out', 'unpacked']) chmodSync(at(name, 'dir'), 0o700);
  assert.match(JSON.stringify(expected), /user\.kept/);
  assert.deepEqual(found, expected);
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
