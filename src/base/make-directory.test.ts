/** A directory that is to be there, and what is said where it cannot be. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { makeDirectory, makeDirectoryLike } from './make-directory.js';

it('is made with those above it, or the error is that of the disk', (context) => {
  const base = mkdtempSync(join(tmpdir(), 'ctx-directory-'));
  context.after(() => rmSync(base, { recursive: true }));
  const at = (...names: readonly string[]) => join(base, ...names);
  const modeOf = (path: string) => statSync(path).mode & 0o777;
  makeDirectory(at('own/one'));
  makeDirectory(at('all/one'), 0o755);
  assert.deepEqual(
    ['own', 'own/one', 'all', 'all/one'].map((name) => modeOf(at(name))),
    [0o700, 0o700, 0o755, 0o755],
  );
  makeDirectory(at('own/one'), 0o755);
  assert.equal(modeOf(at('own/one')), 0o700, 'one that is there stays as it is');
  symlinkSync('own', at('link'));
  makeDirectory(at('link'));
  writeFileSync(at('file'), '');
  symlinkSync('none', at('broken'));
  const long = 'x'.repeat(300);
  for (const [path, code] of [
    [at('file'), 'EEXIST'],
    [at('file/below'), 'ENOTDIR'],
    [at('new', long), 'ENAMETOOLONG'],
    [at('broken'), 'ENOENT'],
  ] as const)
    assert.throws(() => makeDirectory(path), { code }, path);
});

it('is as readable as the one that it is in, for nobody else to write, whatever the umask is', (context) => {
  const base = mkdtempSync(join(tmpdir(), 'ctx-directory-'));
  context.after(() => rmSync(base, { recursive: true }));
  const umask = process.umask(0o077);
  context.after(() => process.umask(umask));
  const made = [0o700, 0o750, 0o755, 0o777].map((mode) => {
    const parent = join(base, mode.toString(8));
    mkdirSync(parent);
    chmodSync(parent, mode);
    makeDirectoryLike(parent, join(parent, 'new'));
    makeDirectoryLike(base, join(parent, 'new'));
    return statSync(join(parent, 'new')).mode & 0o7777;
  });
  assert.deepEqual(made, [0o700, 0o750, 0o755, 0o755]);
});

const place = mkdtempSync(join(tmpdir(), 'ctx-directory-'));
after(() => rmdirSync(place));
/** What it says on a filesystem that may not be written. */
const said = spawnSync(
  'unshare',
  [
    '-Urm',
    'sh',
    '-c',
    `mount -t tmpfs -o ro none ${place} && exec "$0" --input-type=module --eval "$1"`,
    process.execPath,
    `import { makeDirectory } from ${JSON.stringify(new URL('make-directory.js', import.meta.url))};
    try { makeDirectory(${JSON.stringify(join(place, 'one/two'))}); } catch (error) { console.log(error.code); }`,
  ],
  { encoding: 'utf8' },
);
const skip = said.status === 0 ? false : `needs a user namespace that mounts: ${said.stderr}`;

it('says EROFS on a disk that may not be written any more, where recursive mkdir says ENOENT', { skip }, () => {
  assert.equal(said.stdout, 'EROFS\n');
});
