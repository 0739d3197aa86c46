/** Verbs of `ctx vfs`, one after the other in one process: what each prints and does, and what is refused with nothing done. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const directory = mkdtempSync(join(tmpdir(), 'ctx-vfs-verbs-'));
after(() => rmSync(directory, { recursive: true }));

/** Each call with its input on descriptor 0; what it printed is between two marks. */
const program = `
const { closeSync, openSync, readFileSync, writeFileSync, writeSync } = await import('node:fs');
const module = (path) => import(new URL(path, ${JSON.stringify(import.meta.url)}).href);
const [{ vfsVerbs }, { findVerb }, { parseArguments }] = await Promise.all(
  ['./vfs-verbs.js', '../find-verb.js', '../input/parse-arguments.js'].map(module));
process.chdir(process.argv[1]);
for (const [words, input = ''] of JSON.parse(readFileSync('calls', 'utf8'))) {
  writeFileSync('input', input);
  closeSync(0);
  openSync('input', 'r');
  let end;
  try {
    const { verb, rest } = findVerb(vfsVerbs, ['vfs', ...words]);
    const call = parseArguments(verb, rest);
    end = await (await verb.load(call))(call);
  } catch (error) {
    end = error.code;
  }
  writeSync(1, '\\u0001' + end + '\\u0002');
}`;

type Call = readonly [words: readonly string[], input?: string];

function called(calls: readonly Call[]): readonly (readonly [end: string, printed: string])[] {
  writeFileSync(join(directory, 'calls'), JSON.stringify(calls));
  const words = ['--input-type=module', '-e', program, directory];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', timeout: 120_000 });
  const found = [...stdout.matchAll(/([^\u0001\u0002]*)\u0001([^\u0002]*)\u0002/g)];
  assert.equal(found.length, calls.length, stderr);
  return found.map(([, printed = '', end = '']) => [end, printed]);
}

const tree = 'chunked:t';

test('a tree is written, read, listed and emptied', () => {
  mkdirSync(join(directory, 'host'));
  writeFileSync(join(directory, 'host', 'own'), 'mine');
  const rows: readonly (readonly [call: Call, end: string, printed: RegExp | string])[] = [
    [[['cat', tree, '/f']], 'ENOENT', ''],
    [[['put', tree, '/f'], 'text'], '0', ''],
    [[['cat', tree, '/f']], '0', 'text'],
    [[['put', tree, '/f'], ''], '0', ''],
    [[['cat', tree, '/f']], '0', ''],
    [[['put', tree, 'f', '--json'], 'other'], '0', /"bytes":\s*5/],
    [[['cat', tree, 'f', '--json']], '0', /"base64":\s*"b3RoZXI="/],
    [[['put', tree, '/a/b/c'], 'deep'], 'ENOENT', ''],
    [[['put', tree, '/a/b/c', '--parents'], 'deep'], '0', ''],
    [[['put', tree, '/a/b/c', '--parents'], 'deeper'], '0', ''],
    [[['cat', tree, '/a/b/c']], '0', 'deeper'],
    [[['ls', tree]], '0', /^drwxr-xr-x +\d+ {2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}a\n-rw-r--r-- +5 .* f\n$/],
    [[['put', tree, '/long'], 'x'.repeat(1234)], '0', ''],
    [[['ls', tree]], '0', /^drwxr-xr-x {2}( *\d+) .* a\n-rw-r--r-- {5}5 .* f\n-rw-r--r-- {2}1234 .* long\n$/],
    [[['rm', tree, '/long']], '0', ''],
    [[['ls', tree, '/f']], '0', /^-rw-r--r-- +5 .* \/f\n$/],
    [[['ls', tree, '/a/b', '--json']], '0', /"name":\s*"c",\s*"kind":\s*"file",\s*"size":\s*6,\s*"mode":\s*420/],
    [[['ls', tree, '/missing']], 'ENOENT', ''],
    [[['stat', tree, '/f']], '0', /kind +file\n +size +5\n +mode +0644\n/],
    [[['stat', tree, '/a', '--json']], '0', /"kind":\s*"directory"/],
    [[['rm', tree, '/a']], 'EISDIR', ''],
    [[['cat', tree, '/a/b/c']], '0', 'deeper'],
    [[['rm', tree, '/a', '--recursive', '--json']], '0', /"path":\s*"\/a"/],
    [[['rm', tree, '/a']], 'ENOENT', ''],
    [[['rm', tree, '/f']], '0', ''],
    [[['ls', tree, '--json']], '0', /"entries":\s*\[\]/],
    [[['rm', 'chunked:none', '/f']], 'ENOENT', ''],
    [[['put', 'memory:', '/f'], 'x'], 'EINVAL', ''],
    [[['put', 'host:host', '/own'], 'x'], 'EROFS', ''],
    [[['rm', 'host:host', '/own']], 'EROFS', ''],
    [[['cat', 'host:host', '/own']], '0', 'mine'],
    [[['put', 'host:host', '/own', '--writable'], 'theirs'], '0', ''],
  ];
  for (const [index, [end, printed]] of called(rows.map(([call]) => call)).entries()) {
    const [[words] = [[]], wanted = '', text = ''] = rows[index] ?? [];
    assert.equal(end, wanted, words.join(' '));
    if (typeof text === 'string') assert.equal(printed, text, words.join(' '));
    else assert.match(printed, text, words.join(' '));
  }
  assert.equal(readFileSync(join(directory, 'host', 'own'), 'utf8'), 'theirs');
});

test('a tree has snapshots and clones, goes back to one, and is checked', () => {
  const own = 'chunked:s';
  const rows: readonly (readonly [call: Call, end: string, printed: RegExp | string])[] = [
    [[['snapshot', own, 'one']], 'ENOENT', ''],
    [[['put', own, '/f'], 'first'], '0', ''],
    [[['snapshot', own, 'one']], '0', /made snapshot one of 1 entry\n/],
    [[['snapshot', own, 'one']], 'EEXIST', ''],
    [[['snapshot', own, 'a b']], 'EINVAL', ''],
    [[['put', own, '/f'], 'second'], '0', ''],
    [[['put', own, '/g'], 'more'], '0', ''],
    [[['cat', `${own}@one`, '/f']], '0', 'first'],
    [[['put', `${own}@one`, '/f'], 'x'], 'EROFS', ''],
    [[['snapshot', `${own}@one`, 'two']], 'EINVAL', ''],
    [[['clone', `${own}@one`, 'copy', '--json']], '0', /"specification":\s*"chunked:s@copy"/],
    [[['put', `${own}@copy`, '/f'], 'cloned'], 'EROFS', ''],
    [[['put', `${own}@copy`, '/f', '--writable'], 'cloned'], '0', ''],
    [[['cat', own, '/f']], '0', 'second'],
    [[['snapshot', own]], '0', /^one {2}\S+ {2}1 entry\ncopy {2}\S+ {2}1 entry {2}clone\n$/],
    [[['restore', own, 'none']], 'ENOENT', ''],
    [[['restore', own, 'one']], '0', /restored snapshot one; the state before is kept as snapshot before-\S+\n/],
    [[['cat', own, '/f']], '0', 'first'],
    [[['cat', own, '/g']], 'ENOENT', ''],
    [
      [['check', own]],
      '0',
      /^whole: 1 entry, \d+ chunks?\n {2}snapshot before-.*2 entries\n {2}clone copy {2}.*\n {2}snapshot one {2}.*1 entry\n$/,
    ],
    [[['snapshot', own, '--delete']], 'EINVAL', ''],
    [[['snapshot', own, 'copy', '--delete', '--json']], '0', /"deleted":\s*"copy"/],
    [[['snapshot', own, 'copy', '--delete']], 'ENOENT', ''],
    [[['cat', `${own}@copy`, '/f']], 'ENOENT', ''],
    [[['check', own, '--collect', '--json']], '0', /"freed":\s*\d+/],
    [[['check', own, '--json']], '0', /"problems":\s*\[\](?!.*freed)/s],
    [[['check', 'host:host']], '0', /the tree can be read; 1 entry\n/],
    ...(['snapshot', 'clone', 'restore'] as const).map((verb) => [[[verb, 'host:host', 'x']], 'ENOTSUP', ''] as const),
    [[['check', 'host:host', '--collect']], 'ENOTSUP', ''],
  ];
  for (const [index, [end, printed]] of called(rows.map(([call]) => call)).entries()) {
    const [[words] = [[]], wanted = '', text = ''] = rows[index] ?? [];
    assert.equal(end, wanted, `${words.join(' ')}: ${printed}`);
    if (typeof text === 'string') assert.equal(printed, text, words.join(' '));
    else assert.match(printed, text, words.join(' '));
  }
});
