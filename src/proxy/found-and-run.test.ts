/** What is said of a path beforehand is what a command finds there: in forks and outside, by every kind of way to it. */
import assert from 'node:assert/strict';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { execute } from './execute.js';
import { resolveAuthority } from './grants/authority-of.js';
import { type FoundInView, foundInView } from './grants/found-in-view.js';
import { accesses, type PathAccess, pathVerdict } from './grants/path-verdict.js';
import { type Place, placeOf } from './host.js';
import { testHost } from './host-fixture.js';
import type { ExecRequest } from './run/exec-request.js';
import { onFork } from './run/open-fork-target.js';

const { host, project } = testHost();

type Given = Pick<ExecRequest, 'reads' | 'writes' | 'liveWrites' | 'readonly' | 'fork'>;

interface Asked {
  readonly place: Place;
  readonly found: FoundInView;
  readonly says: (access: PathAccess, used?: number) => string;
}

async function ask(cwd: string, path: string, { readonly = false, fork, ...given }: Given = {}): Promise<Asked> {
  const place = placeOf(host, cwd);
  const resolved = await resolveAuthority(host, { place, ...given });
  const found = await foundInView(host, place, resolved, path, fork);
  const says = (access: PathAccess) => {
    const verdict = pathVerdict({ host, place, resolved, readonly, now: 0, used: 0 }, access, found);
    return verdict.allowed ? 'yes' : `no ${verdict.code}`;
  };
  return { place, found, says };
}

function run(cwd: string, script: string, given: Given = {}) {
  const own = {
    cwd,
    environmentAdditions: [],
    weakened: [],
    streams: 'capture',
    stdin: 'nothing',
    wait: false,
  } as const;
  return execute(host, { argv: ['sh', '-c', script], ...own, ...given }, onFork);
}

/** What a shell inside says of paths: whether it may read, write or make, and run what is there. */
async function tried(cwd: string, paths: readonly string[], given: Given = {}): Promise<readonly string[]> {
  const quoted = paths.map((path) => `'${path}'`).join(' ');
  const report = await run(
    cwd,
    `for p in ${quoted}; do
      [ -r "$p" ] && r=yes || r=no
      if [ -e "$p" ]; then [ -w "$p" ] && w=yes || w=no
      elif ( : > "$p" ) 2> /dev/null; then w=yes; rm "$(readlink -f "$p")"
      else w=no; fi
      [ -f "$p" ] && [ -x "$p" ] && x=yes || x=no
      echo "$p: $r $w $x"
    done`,
    given,
  );
  return (report.stdout?.text ?? '').split('\n').slice(0, -1);
}

/** The same, said beforehand. */
async function said(cwd: string, paths: readonly string[], given: Given = {}): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const path of paths) {
    const { says } = await ask(cwd, path, given);
    lines.push(`${path}: ${accesses.map((access) => says(access).replace(/ .*/, '')).join(' ')}`);
  }
  return lines;
}

function world(): string {
  const cwd = project({
    file: '',
    'sub/file': '',
    'sub/program': '',
    'closed/file': '',
    'unlisted/file': '',
    'odd name': '',
  });
  chmodSync(join(cwd, 'sub/program'), 0o755);
  chmodSync(join(cwd, 'file'), 0o400);
  for (const [name, target] of [
    ['to-file', 'sub/file'],
    ['to-sub', 'sub'],
    ['to-link', 'to-sub/../sub'],
    ['absolute', join(cwd, 'sub/program')],
    ['outside', '/etc/shadow'],
    ['nowhere', 'missing'],
    ['deep-nowhere', 'missing/deep'],
    ['round', 'round'],
    ['up', '..'],
    ['sub/back', '../file'],
  ] as const) {
    symlinkSync(target, join(cwd, name));
  }
  chmodSync(join(cwd, 'unlisted'), 0o311);
  chmodSync(join(cwd, 'closed'), 0o600);
  return cwd;
}

const relative = [
  ...[
    'file',
    'sub',
    'sub/',
    'sub/file',
    'sub/program',
    'sub/file/',
    'sub/file/x',
    'file/',
    'sub/.',
    'sub/..',
    'odd name',
  ],
  ...['to-file', 'to-sub/program', 'to-sub/', 'to-link/file', 'to-file/', 'absolute', 'outside', 'nowhere', 'nowhere/'],
  ...['deep-nowhere', 'sub/back', 'to-sub/back', 'to-sub/../file', 'sub/../missing'],
  ...[
    'missing',
    'missing/x',
    'missing/',
    'sub/new',
    'unlisted/file',
    'unlisted/new',
    'unlisted',
    'closed',
    'closed/file',
  ],
  ...['closed/new', '.', './file', 'sub//file', 'sub/back/'],
];
const system = [
  '/',
  '/etc',
  '/etc/passwd',
  '/etc/shadow',
  '/usr/bin/env',
  '/usr/bin/new',
  '/usr/bin/env/x',
  '/tmp',
  '/tmp/new',
  '/nowhere/x',
  '/proc/self',
];

describe('what is said of a path', () => {
  it('is what happens, in a directory that no command has run in, and when one has', async () => {
    const cwd = world();
    const beforehand = await said(cwd, relative);
    const happened = await tried(cwd, relative);
    assert.deepEqual(beforehand, happened);
    assert.deepEqual(await said(cwd, relative), happened);
    const there = relative.filter((path) => !path.startsWith('/')).map((path) => join(cwd, path));
    assert.deepEqual(await said(join(cwd, 'sub'), there), await tried(join(cwd, 'sub'), there));
  });

  it('is what the fork has by now: what a command removed, made, led elsewhere or closed', async () => {
    const cwd = world();
    const changes = [
      'rm sub/file; rm to-file; ln -s sub/program to-file; chmod 755 file; mkdir missing; echo > missing/deep',
      'chmod 700 unlisted; rm -r unlisted; rm round; ln -s missing round; chmod 000 sub/program; mkdir made; echo > made/file; chmod 500 made',
      'mv to-sub moved; ln -s made to-sub',
    ];
    assert.equal((await run(cwd, `set -e; ${changes.join('; ')}`)).exitCode, 0);
    const paths = [...relative, 'made', 'made/file', 'made/new', 'moved/program', 'missing/new', 'to-sub/file'];
    assert.deepEqual(await said(cwd, paths), await tried(cwd, paths));
    writeFileSync(join(cwd, 'edited'), '');
    assert.deepEqual(await said(cwd, ['edited']), await tried(cwd, ['edited']), 'and what the person made since');
  });

  it('is what is granted: more to read, directories in the fork, and all of it read-only', async () => {
    const cwd = world();
    const [read, written] = [project({ 'x/file': '' }), project({ 'y/file': '' })];
    const paths = [
      ...relative,
      ...[
        `${read}/x/file`,
        `${read}/x/new`,
        read,
        `${read}/gone`,
        `${written}/y/file`,
        `${written}/y/new`,
        `${written}/z/new`,
      ],
    ];
    for (const given of [
      { reads: [read], writes: [written] },
      { reads: [read], writes: [written], readonly: true },
    ]) {
      const looked = given.readonly === true ? paths.filter((path) => !path.startsWith('/tmp')) : paths;
      assert.deepEqual(await said(cwd, looked, given), await tried(cwd, looked, given));
    }
    const { says } = await ask(cwd, 'sub/file', { readonly: true });
    assert.deepEqual(accesses.map(says), ['yes', 'no EROFS', 'no EACCES']);
  });

  it('is by its reason: not there, read-only, not permitted', async () => {
    const cwd = world();
    const all = async (path: string) => {
      const { says } = await ask(cwd, path);
      return accesses.map((access) => says(access));
    };
    const none = ['no ENOENT', 'no ENOENT', 'no ENOENT'];
    assert.deepEqual(await all('/nowhere/x'), none);
    for (const path of ['missing/x', 'up/x']) assert.deepEqual(await all(path), none);
    assert.deepEqual(await all('missing'), ['no ENOENT', 'yes', 'no ENOENT']);
    assert.deepEqual(await all('sub'), ['yes', 'yes', 'no EACCES']);
    assert.deepEqual(await all('/usr/bin/env'), ['yes', 'no EROFS', 'yes']);
    assert.deepEqual(await all('closed/file'), ['no EACCES', 'no EACCES', 'no EACCES']);
    for (const path of ['round', 'round/x']) await assert.rejects(ask(cwd, path), { code: 'ELOOP' });
    const names = system.filter((path) => path !== '/proc/self');
    for (const path of names) assert.equal((await all(path)).length, 3, path);
  });

  it('says where the path leads, and what is gone through', async () => {
    const cwd = world();
    const { found } = await ask(cwd, 'to-link/program');
    const own = { uid: process.geteuid?.(), gid: process.getegid?.() };
    assert.deepEqual(
      [found.path, found.entry?.type, found.entry?.mode, found.entry?.inFork],
      [join(cwd, 'sub/program'), 'file', 0o755, true],
    );
    assert.deepEqual([found.entry?.uid, found.above?.type], [own.uid, 'directory']);
    assert.deepEqual(found.way[0]?.[0], join(cwd, 'sub'));
    await run(cwd, 'ln -s sub/program made-link; mkfifo pipe');
    const [link, pipe] = [await ask(cwd, 'made-link'), await ask(cwd, 'pipe')];
    assert.deepEqual([link.found.path, pipe.found.entry?.type], [join(cwd, 'sub/program'), 'other']);
    const { found: top } = await ask(cwd, '/');
    assert.deepEqual([top.path, top.entry?.type, top.above, top.way], ['/', 'directory', undefined, []]);
    const before = await ask(project({ a: '' }), 'a');
    assert.equal(before.found.entry?.inFork, true);
  });
});
