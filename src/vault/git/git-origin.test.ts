/** The deciding half of what a repository brings home: names, refs, configuration, index. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { change } from '../tree/change-fixture.js';
import type { Change } from '../tree/tree.js';
import { arePlainChanges, configurationFault, type Setting } from './git-configuration.js';
import { contentOrigin } from './git-contents.js';
import { type IndexEntry, parseIndex, writeIndex } from './git-index-file.js';
import { originIndex } from './git-index-origin.js';
import { obeyedBy } from './git-obeyed-values.js';
import { partOf } from './git-parts.js';
import { makesRepository, placesBy } from './git-places.js';
import { isComingRef, isReflog, mergePackedRefs, parsePackedRefs } from './git-refs.js';
import { judgeAll } from './git-verdicts.js';

const id = (digit: string) => digit.repeat(40);
const place = (isEstablished: boolean) =>
  ({ kind: 'repository', directory: '/r/.git', common: '/r/.git', isEstablished }) as const;
const verdictOf = (name: string, more: Partial<Change> = {}, isEstablished = true) =>
  judgeAll([{ change: change(`.git/${name}`, more), place: place(isEstablished), name }], () => true)[0]?.is;

test('of a repository only what a commit needs is read, what git makes again is dropped, and the rest is sensitive', () => {
  for (const name of [
    'HEAD',
    'index',
    'packed-refs',
    'refs/heads/a/b',
    'refs/tags/v1',
    'refs/remotes/o/x',
    'refs/stash',
  ]) {
    assert.equal(verdictOf(name), 'read', name);
  }
  for (const name of [
    'logs/HEAD',
    'logs/refs/heads/a',
    'COMMIT_EDITMSG',
    'ORIG_HEAD',
    `objects/ab/${'c'.repeat(38)}`,
  ]) {
    assert.equal(verdictOf(name), 'read', name);
  }
  for (const name of ['objects/pack/pack-ab.idx', 'objects/info/commit-graph', 'FETCH_HEAD', 'gc.log']) {
    assert.equal(verdictOf(name), 'dropped', name);
  }
  for (const name of [
    ...['hooks/pre-commit', 'hooks/pre-commit.sample', 'config.worktree', 'info/attributes', 'info/grafts', 'shallow'],
    ...['objects/info/alternates', 'refs/replace/x', 'refs/notes/commits', 'refs/heads/a.lock', 'index.lock', 'gitdir'],
    ...['rebase-merge/git-rebase-todo', 'sequencer/todo', 'MERGE_HEAD', 'modules/x/config', 'worktrees/x/gitdir'],
    ...['remotes/origin', 'branches/origin', 'sharedindex.ab', 'anything', 'refs/heads/a\nb', 'fsmonitor--daemon.ipc'],
  ]) {
    assert.equal(verdictOf(name), 'sensitive', name);
  }
  for (const type of ['symlink', 'fifo', 'socket', 'device'] as const)
    assert.equal(verdictOf('HEAD', { type }), 'sensitive');
  assert.equal(verdictOf('config', { size: 2 ** 21 }), 'sensitive');
  assert.equal(verdictOf('hooks/x.sample', {}, false), 'passed');
  for (const name of ['objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads'])
    assert.equal(verdictOf(name, { type: 'directory' }, false), 'made', name);
  for (const name of ['objects/ab', 'objects/info/commit-graphs'])
    assert.equal(verdictOf(name, { type: 'directory' }, false), 'dropped', name);
});

test('deletions come where nothing is lost by them that git cannot make again', () => {
  const deleted = { kind: 'deleted' } as const;
  for (const name of ['refs/heads/a', 'COMMIT_EDITMSG', 'MERGE_HEAD'])
    assert.equal(verdictOf(name, deleted), 'passed', name);
  for (const name of ['objects/pack/pack-ab.pack', `objects/ab/${'c'.repeat(38)}`]) {
    assert.equal(verdictOf(name, deleted), 'dropped', name);
  }
  for (const name of ['HEAD', 'config', 'index', 'hooks/pre-push', 'info/exclude', 'shallow', 'logs/refs/heads/a']) {
    assert.equal(verdictOf(name, deleted), 'sensitive', name);
  }
  const whole = { ...deleted, type: 'directory' } as const;
  const all = ['', 'refs/heads/a'].map((name) => ({
    change: change(`.git/${name}`, name === '' ? whole : deleted),
    place: place(true),
    name,
  }));
  assert.deepEqual(
    judgeAll(all, () => false).map(({ is }) => is),
    ['sensitive', 'sensitive'],
  );
});

test('a repository is one by its name, by its shape, and by what a change would make of it', () => {
  const there = new Set(['/w/a\nb/HEAD', '/w/a\nb/objects', '/w/a\nb/refs', '/w/docs/HEAD']);
  const has = (path: string) => there.has(path);
  const placeOf = placesBy(has);
  assert.equal(placeOf('/w/a\nb/hooks/x')?.directory, '/w/a\nb');
  assert.equal(placeOf('/w/sub/.git/config')?.isEstablished, false);
  assert.equal(placeOf('/w/docs/config'), undefined);
  assert.ok(makesRepository('/w/new/HEAD', has));
  assert.ok(makesRepository('/w/docs/objects', has));
  assert.ok(!makesRepository('/w/src/objects', has));
});

test('refs and reflogs are read line by line', () => {
  for (const name of ['refs/heads/a', 'refs/tags/v1.0', 'refs/remotes/o/HEAD', 'refs/stash'])
    assert.ok(isComingRef(name), name);
  for (const name of [
    'refs/heads/',
    'refs/heads/a..b',
    'refs/heads/.a',
    'refs/heads/a.lock',
    'refs/replace/a',
    'refs/heads/a b',
  ]) {
    assert.ok(!isComingRef(name), name);
  }
  const mine = parsePackedRefs(
    `# pack-refs with: peeled fully-peeled sorted \n${id('1')} refs/heads/a\n${id('2')} refs/replace/x\n`,
  );
  const theirs = parsePackedRefs(
    `${id('3')} refs/heads/b\n${id('4')} refs/tags/t\n^${id('5')}\n${id('6')} refs/replace/y\n`,
  );
  assert.ok(mine !== undefined && theirs !== undefined);
  const merged = mergePackedRefs(mine, theirs);
  assert.deepEqual(merged.leftOut, ['refs/replace/y']);
  assert.deepEqual(
    [...(parsePackedRefs(merged.text) ?? [])].map(([name]) => name),
    ['refs/heads/b', 'refs/replace/x', 'refs/tags/t'],
  );
  assert.equal(parsePackedRefs(`${id('1')} refs/heads/../x\n`), undefined);
  assert.ok(isReflog(`${id('0')} ${id('1')} A B <a@b> 1700000000 +0100\tcommit: x\n`));
  assert.ok(!isReflog('anything\n'));
});

const settings = (...lines: readonly string[]): readonly Setting[] =>
  lines.map((line) => ({ key: line.slice(0, line.indexOf('=')), value: line.slice(line.indexOf('=') + 1) }));
const own = ['core.bare=false', 'remote.origin.url=https://a.example/x', 'remote.origin.pushurl=https://b.example/x'];
const fault = (before: readonly string[], after: readonly string[], more = {}) =>
  configurationFault({
    before: settings(...before),
    after: settings(...after),
    isNew: false,
    isBranchGone: () => false,
    isOwnRepository: (path) => path === '/own/repository',
    ...more,
  });

test('a new clone keeps a remote at a repository that the person has, and at no other directory', () => {
  const cloned = (url: string, isNew = true) => fault([], [`remote.origin.url=${url}`], { isNew });
  for (const url of ['/own/repository', 'file:///own/repository', 'https://h/x']) assert.equal(cloned(url), undefined);
  for (const url of [
    '/own/other',
    '../own',
    'ext::sh',
    'file://h/own/repository',
    '--upload-pack=x',
    '/own/repository"',
  ])
    assert.ok(cloned(url) !== undefined, url);
  assert.ok(cloned('/own/repository', false) !== undefined);
});

test('a configuration gets tracking of a remote that is there, and nothing that runs, redirects or hides', () => {
  assert.equal(fault(own, [...own, 'branch.x.remote=origin', 'branch.x.merge=refs/heads/x']), undefined);
  assert.match(fault(own, own.slice(0, 2)) ?? '', /removes remote\.origin\.pushurl/);
  for (const line of [
    ...[
      'core.fsmonitor=x',
      'alias.x=!y',
      'include.path=x',
      'user.email=a@b',
      'branch.x.remote=ext::sh',
      'branch.x.remote=other',
    ],
    ...[
      'core.filemode=false',
      'remote.new.url=https://c.example/x',
      'core.excludesfile=x',
      'branch.x.pushremote=origin',
    ],
  ]) {
    assert.ok(fault(own, [...own, line]) !== undefined, line);
  }
  const tracked = [...own, 'branch.x.remote=origin'];
  assert.ok(fault(tracked, own) !== undefined);
  assert.equal(fault(tracked, own, { isBranchGone: () => true }), undefined);
  const including = ['include.path=x', ...own];
  assert.match(fault(including, [...own, 'include.path=x']) ?? '', /order/);
});

test('a new repository gets what git writes with one', () => {
  const first = [
    'core.repositoryformatversion=0',
    'core.filemode=true',
    'core.bare=false',
    'core.logallrefupdates=true',
  ];
  const fetch = 'remote.origin.fetch=+refs/heads/*:refs/remotes/origin/*';
  const isNew = { isNew: true };
  assert.equal(
    fault([], [...first, 'remote.origin.url=git@a.example:x/y.git', fetch, 'branch.main.remote=origin'], isNew),
    undefined,
  );
  for (const line of [
    'core.filemode=false',
    'remote.origin.url=ext::sh -c x',
    'remote.origin.url=/tmp/x',
    'core.worktree=..',
  ]) {
    assert.ok(fault([], [line], isNew) !== undefined, line);
  }
});

test('lines that another parser could read otherwise do not pass', () => {
  const before = '[core]\n\tbare = false\n';
  assert.ok(arePlainChanges(before, `${before}[branch "x"]\n\tremote = origin\n`));
  for (const line of ['[branch "x"][core]fsmonitor=y', '\tremote = a\\', '\tremote = "a', '[a "b\\"]"]']) {
    assert.ok(!arePlainChanges(before, `${before}${line}\n`), line);
  }
  // A line that is plain by itself, and goes on with the one before.
  const continued = '[core]\n\teditor = vi \\\n';
  assert.ok(arePlainChanges(continued, `[user]\n\tname = x\n${continued}`));
  assert.ok(!arePlainChanges(`${continued}\t-n\n`, `${continued}\tpager = less\n\t-n\n`));
});

const entry = (name: string, more: Partial<IndexEntry> = {}): IndexEntry => ({
  name,
  mode: 0o100644,
  id: id('a'),
  stage: 0,
  assumeUnchanged: false,
  skipWorktree: false,
  intentToAdd: false,
  stat: Buffer.alloc(40, 1),
  ...more,
});

test('the index that comes home hides nothing, and remembers only what the person’s own did', () => {
  const person = writeIndex([entry('a'), entry('b'), entry('sparse', { skipWorktree: true })], 'sha1');
  const theirs = [
    entry('a', { assumeUnchanged: true, stat: Buffer.alloc(40, 9) }),
    entry('b', { stat: Buffer.alloc(40, 9) }),
    entry('c', { skipWorktree: true, id: id('b') }),
    entry('sparse', { skipWorktree: true }),
  ];
  const home = originIndex({
    fork: writeIndex(theirs, 'sha1'),
    person,
    personTime: 2n ** 62n,
    format: 'sha1',
    changed: new Set(['b']),
  });
  assert.ok(typeof home === 'object');
  assert.deepEqual(home.hidden, ['a', 'c']);
  assert.deepEqual(home.ids, [id('b')]);
  const entries = parseIndex(home.bytes)?.entries ?? [];
  assert.deepEqual(
    entries.map(({ stat }) => stat[0]),
    [1, 0, 0, 1],
  );
  assert.deepEqual(
    entries.map(({ skipWorktree, assumeUnchanged }) => skipWorktree || assumeUnchanged),
    [false, false, false, true],
  );
  for (const bad of [
    [entry('.git/config')],
    [entry('a/../b')],
    [entry('b'), entry('a')],
    [entry('a', { mode: 0o40000 })],
  ]) {
    const fork = writeIndex(bad, 'sha1');
    assert.equal(typeof originIndex({ fork, personTime: 0n, format: 'sha1', changed: new Set() }), 'string');
  }
});

test('rules that hide files are shown as what they hide', () => {
  const sides = { part: 'exclude', name: 'info/exclude', person: Buffer.from('# none\n'), isNew: false } as const;
  const index = { personTime: 0n, changed: undefined };
  const judged = contentOrigin({
    ...sides,
    fork: Buffer.from('*.o\nsecret/\n'),
    index,
    format: 'sha1',
    keepsFlags: false,
  });
  assert.ok(judged.is === 'sensitive' && judged.why.includes('*.o, secret/'));
});

test('any value of git’s may lead into the workspace', () => {
  const bases = { directories: ['/w', '/w/.git'], home: '/h', programs: ['/w/bin'] };
  const leads = (key: string, value: string, path: string) => {
    const { below, files } = obeyedBy({ key, value }, bases);
    return below.includes(path) || files.includes(path);
  };
  assert.ok(leads('core.hookspath', 'tools/hooks', '/w/tools/hooks'));
  assert.ok(leads('core.hookspath', '.', '/w/pre-commit'));
  assert.ok(leads('core.fsmonitor', '.git/mon', '/w/.git/mon'));
  assert.ok(leads('filter.x.clean', 'sh -c "./tools/clean.sh %f"', '/w/tools/clean.sh'));
  assert.ok(leads('filter.x.process', 'node clean.js', '/w/clean.js'));
  assert.ok(leads('alias.x', '!"$(git rev-parse --show-toplevel)/tools/x" y', '/w/tools/x'));
  assert.ok(leads('include.path', '~/dot/x', '/h/dot/x'));
  assert.ok(leads('diff.x.textconv', 'show', '/w/bin/show'));
  assert.ok(leads('some.futurekey', '/w/a b/c', '/w/a b/c'));
  assert.ok(!leads('branch.main.remote', 'origin', '/w/origin'));
  assert.equal(partOf('refs/heads/x'), 'ref');
});
