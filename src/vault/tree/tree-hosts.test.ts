/** Hosts and filesystems that lack a call: the same comes out, by another way. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Refusal, refusing } from '../../../test/support/refuse-bits.js';
import { snapshot } from '../../../test/support/snapshot.js';
import { freshPlace, isRoot, program } from './tree-fixture.js';
import { splitFields } from './tree-program.js';

const { at, write } = freshPlace();
const { ENOSYS, EPERM, EINVAL, EOPNOTSUPP, ENOENT, EXDEV } = constants.errno;

const hosts: Readonly<Record<string, readonly Refusal[]>> = {
  'without openat2': [['openat2', 0, '0', ENOSYS]],
  'that forbids openat2': [['openat2', 0, '0', EPERM]],
  'without files that have no name': [['openat', 2, '0x400000', EOPNOTSUPP]],
  'that gives these no name later': [['linkat', 4, '0x400', ENOENT]],
  'that exchanges nothing': [
    ['renameat2', 4, '2', EINVAL],
    ['renameat2', 4, '1', EINVAL],
  ],
  'without renameat2': [['renameat2', 0, '0', ENOSYS]],
  'without copies by the kernel': [['copy_file_range', 0, '0', EXDEV]],
  'without leases': [['fcntl', 1, '=0x400', EINVAL]],
};

const names = Array.from({ length: 12 }, (_, number) => `whole/f${number}`);
const changed = ['p/q/r/file', 'large', 'replaced', 'link', 'file-now', 'directory-now', 'clash', 'outside-now/inner'];
const plan: readonly (readonly [string, string])[] = [
  ...['directory-now', 'outside-now', 'whole', ...names, ...changed].map((path) => ['put', path] as const),
  ...['gone', 'gone-link', 'clash-gone'].map((path) => ['remove', path] as const),
];

function makeTrees(home: string): void {
  const all = { upper: [...names, ...changed.filter((path) => !['link', 'large', 'directory-now'].includes(path))] };
  for (const path of all.upper) write(`${home}/upper/${path}`, `new ${path}`);
  write(`${home}/upper/large`, 'large'.repeat(100_000));
  mkdirSync(at(home, 'upper/directory-now'));
  symlinkSync('new target', at(home, 'upper/link'));
  for (const side of ['kept', 'origin']) {
    for (const path of ['p/q/r/file', 'replaced', 'gone', 'directory-now', 'clash', 'clash-gone', 'outside-now/inner'])
      write(`${home}/${side}/${path}`, 'old');
    mkdirSync(at(home, side, 'file-now'));
    for (const path of ['link', 'gone-link']) symlinkSync('old target', at(home, side, path));
  }
  // The person has changed these since.
  for (const path of ['clash', 'clash-gone']) writeFileSync(at(home, 'origin', path), 'theirs');
  spawnSync('mv', [at(home, 'origin/outside-now'), at(home, 'outside')]);
  symlinkSync('../outside', at(home, 'origin/outside-now'));
  for (const path of [...all.upper, 'large']) utimesSync(at(home, 'upper', path), 1, 1000);
}

/** What every verb says and makes there. */
function outcome(home: string, host: readonly string[]): unknown {
  const [upper, origin, kept] = ['upper', 'origin', 'kept'].map((name) => at(home, name)) as [string, string, string];
  const run = (words: readonly string[], input: readonly string[] = []): readonly string[] => {
    const [file = '', ...rest] = [...host, program, ...words];
    const { status, stdout, stderr } = spawnSync(file, rest, { input: input.map((each) => `${each}\0`).join('') });
    assert.equal(status, 0, `${words.join(' ')}: ${stderr}`);
    return splitFields(stdout);
  };
  const told = run(['apply', '--upper', upper, '--to', origin, '--layer', kept, '--durable'], plan.flat());
  const verdicts = told.flatMap((path, index) => (index % 2 === 0 ? [`${path} ${told[index + 1]}`] : [])).sort();
  const paths = plan.map(([, path]) => path);
  const compared = run(['compare', '--layer', upper, '--to', origin], paths);
  run(['copy', origin, at(home, 'copied'), '--out', at(home, 's')]);
  run(['mirror', origin, '--into', at(home, 'mirrored'), '--layer', kept], paths);
  run(['merge', '--into', at(home, 'merged'), '--upper', upper, kept]);
  const made = ['origin', 'outside', 'copied', 'mirrored', 'merged'].map((name) =>
    snapshot(at(home, name), { times: false }),
  );
  const drift = run(['scan', origin, '--out', at(home, 's2'), '--against', at(home, 's')]);
  run(['delete', at(home, 'merged')]);
  run(['delete', origin]);
  return { verdicts, compared, made, drift, left: Object.keys(snapshot(at(home), { times: false })).length };
}

describe('a host', () => {
  for (const [name, refusals] of Object.entries(hosts)) {
    it(`${name} makes and tells the same`, () => {
      for (const home of ['usual', 'other']) makeTrees(home);
      const usual = outcome('usual', []) as { readonly verdicts: readonly string[] };
      assert.deepEqual(
        usual.verdicts.filter((verdict) => !verdict.endsWith(' done')),
        ['clash clash', 'clash-gone clash', 'outside-now clash', 'outside-now/inner clash'],
      );
      assert.deepEqual(outcome('other', refusing(at('.'), refusals)), usual);
    });
  }
});

const nobody = 65534;
/** As an ordinary user, who may make no namespace of their own: without rights over their own closed files. */
function asUser(
  words: readonly string[],
  input = '',
  limit = 'true',
): { readonly told: readonly string[]; readonly why: string } {
  const dropped = ['/usr/bin/setpriv', '--reuid', nobody, '--regid', nobody, '--clear-groups'].map(String);
  const own = join(at('.'), 'tree');
  assert.equal(spawnSync('install', ['-m', '755', program, own]).status, 0);
  const [file = '', ...rest] = [
    ...(isRoot ? dropped : []),
    ...refusing(at('.'), [['unshare', 0, '0', EPERM]]),
    ...['bash', '-c', `${limit}; exec "$0" "$@"`, own, ...words],
  ];
  const { status, stdout, stderr } = spawnSync(file, rest, { input });
  assert.equal(status, 0, `${words.join(' ')}: ${stderr}`);
  return { told: splitFields(stdout), why: stderr.toString() };
}
const give = (path: string) => isRoot && spawnSync('chown', ['-R', `${nobody}:${nobody}`, at(path)]);

describe('a user without a namespace of their own', () => {
  const closed = { none: 0, 'no search': 0o600, 'no reading': 0o300, 'no writing': 0o500 };

  it('deletes what they have closed to themselves, at any depth, whatever it is closed to', () => {
    for (const [index, mode] of Object.values(closed).entries()) {
      const paths = ['d', 'd/e', `${'n/'.repeat(210)}d`.slice(0, 421)];
      for (const path of paths) write(`t${index}/${path}/f/file`);
      chmodSync(at(), 0o777);
      give(`t${index}`);
      for (const path of [...paths.map((each) => `${each}/f`), ...paths.reverse()])
        chmodSync(at(`t${index}`, path), mode);
      asUser(['delete', at(`t${index}`)]);
      assert.throws(() => readFileSync(at(`t${index}/d`)), { code: 'ENOENT' });
    }
  });

  it('deletes what is deeper than they may have files open, where no directory may be written or entered', () => {
    for (const mode of [0o500, 0o300, 0]) {
      // Its name sorts before those that deep directories get for a while: many of them are taken.
      const paths = Array.from({ length: 300 }, (_, depth) => `deep/${'!/'.repeat(depth + 1)}`);
      write(`${paths.at(-1)}file`);
      for (let number = 0; number < 60; number += 1) write(`deep/.ctx-deep-${number}`);
      chmodSync(at(), 0o777);
      give('deep');
      for (const path of paths.reverse()) chmodSync(at(path), mode);
      asUser(['delete', at('deep')], '', 'ulimit -n 250');
      assert.equal(existsSync(at('deep')), false, mode.toString(8));
    }
  });

  it('is told that what they cannot read differs', () => {
    for (const side of ['layer', 'origin']) write(`${side}/file`, 'text');
    mkdirSync(at('layer/closed'));
    write('origin/closed/f');
    chmodSync(at(), 0o777);
    for (const side of ['layer', 'origin']) {
      give(side);
      chmodSync(at(side, 'file'), 0);
    }
    chmodSync(at('origin/closed'), 0);
    const compare = (path: string) =>
      asUser(['compare', '--layer', at('layer'), '--to', at('origin')], `${path}\0`).told;
    assert.deepEqual(compare('file'), ['file', 'different']);
    // Once for what it is, once for what it holds.
    assert.deepEqual(compare('closed/'), ['closed', 'different', 'closed', 'different']);
  });

  it('is told what could not be copied or mirrored, and gets all the rest', () => {
    const told = (paths: Readonly<Record<string, string>>) =>
      Object.entries(paths).flatMap(([path, why]) => [path, 'EACCES', why]);
    for (const path of ['a/f', 'closed/f', 'file', 'open', 'z/f']) write(`origin/${path}`);
    symlinkSync('x', at('origin/z/link'));
    chmodSync(at(), 0o777);
    give('origin');
    chmodSync(at('origin/closed'), 0);
    chmodSync(at('origin/file'), 0);
    const problems = { closed: 'the directory cannot be read', file: 'it cannot be read' };
    assert.deepEqual(asUser(['copy', at('origin'), at('copied'), '--out', at('s')]).told, told(problems));
    const rest = { a: '', 'a/f': '', open: '', z: '', 'z/f': '', 'z/link': '' };
    assert.deepEqual(Object.keys(snapshot(at('copied'))).sort(), [
      '.',
      ...Object.keys(rest).map((path) => `./${path}`),
    ]);
    const list = ['a/f', 'closed/f', 'file', 'open', 'z/f', 'z/link'].map((path) => `${path}\0`).join('');
    assert.deepEqual(asUser(['mirror', at('origin'), '--into', at('mirrored')], list).told, told(problems));
    assert.deepEqual(Object.keys(snapshot(at('mirrored'))).sort(), [
      '.',
      ...Object.keys(rest).map((path) => `./${path}`),
    ]);
    // What was told is not told again, unless it changes.
    const scan = (out: string, against: string) =>
      asUser(['scan', at('origin'), '--out', at(out), '--against', at(against)]).told;
    assert.deepEqual(scan('s2', 's'), []);
    chmodSync(at('origin/closed'), 0o700);
    assert.deepEqual(scan('s3', 's2'), ['closed', 'changed', 'closed/f', 'added']);
    const compared = asUser(['compare', '--layer', at('copied'), '--to', at('origin')], list).told;
    assert.deepEqual(
      compared.filter((_, index) => index % 2 === 1),
      ['same', 'only-root', 'only-root', 'same', 'same', 'same'],
    );
  });
});
