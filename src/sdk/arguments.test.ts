/** What each call of the SDK takes, by kinds of values: what is of a kind passes, and whatever is not is refused before anything starts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { longestMilliseconds } from '../base/shape.js';
import { checkArguments, checkedFace, type Entries, type MethodEntry } from './checked-face.js';
import { operatorEntries, workspaceEntries } from './entries.js';

interface Kind {
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
}

const never = [null, Symbol('x'), 1n];
const signal = new AbortController().signal;
const kind = (good: readonly unknown[], bad: readonly unknown[]): Kind => ({ good, bad: [...never, ...bad] });
const choice = (...good: readonly string[]) => kind(good, ['', 'nosuch', 1, true, {}, [good[0]]]);

const kinds: Readonly<Record<string, Kind>> = {
  word: kind(['x', 'a b', ''], ['a\0b', 1, true, {}, ['x']]),
  text: kind(['x', ''], [1, true, {}, ['x']]),
  bytes: kind(['x', '', new Uint8Array(1)], [1, true, {}, [1]]),
  words: kind([[], ['x'], ['x', 'y']], ['x', ['a\0b'], [1], ['x', null], new Array(1), {}]),
  argv: kind([['x']], [[], 'x', ['a\0b'], {}]),
  command: kind([['x'], { shell: 'x' }], [[], 'x', {}, { shell: 'a\0b' }, { shell: 'x', more: 1 }]),
  flag: kind([true, false], [0, 'true', {}, []]),
  count: kind([1, 5], [0, -1, 1.5, '1', Number.NaN, {}]),
  depth: kind([1, 1000], [0, 1001, 1.5, '1']),
  amount: kind([0.5, 1], [0, -1, '1', Number.NaN, Number.POSITIVE_INFINITY]),
  number: kind([0, 5], [-1, 1.5, '1', {}]),
  time: kind([0, 1.5, longestMilliseconds], [-1, longestMilliseconds + 1, '1', Number.NaN, {}]),
  callback: kind([() => undefined], ['x', 1, {}, []]),
  signal: kind([signal], ['x', 1, {}, [], () => undefined]),
  object: kind([{}, { a: 1 }], ['x', 1, true]),
  style: kind(
    [{ paint: () => '', escaped: true }],
    [{}, 'x', { paint: () => '' }, { paint: 1, escaped: true }, { paint: () => '', escaped: 1 }],
  ),
  json: kind([{}, { a: 1 }], ['x', 1, [], new Date()]),
  limit: { good: [null, 1], bad: [0, -1, 'none', 1.5, Symbol('x')] },
  toolCall: kind([{ name: 'x', cap: [] }], ['x', {}, { name: 'x' }, { name: 1, cap: [] }, { name: 'x', cap: 'y' }]),
  secret: kind(['x', ''], [1, {}, []]),
  secrets: kind(
    [[], [{ host: 'h', header: 'H', value: '' }], [{ host: 'h', header: 'H', template: '$A', port: 65_535 }]],
    [
      {},
      [{ host: 'h' }],
      [{ host: 'a\0b', header: 'H' }],
      [{ host: 'h', header: 'H', value: 1 }],
      [{ host: 'h', header: 'H', port: 65_536 }],
      [{ host: 'h', header: 'H', port: 0 }],
      [{ host: 'h', header: 'H', more: 1 }],
    ],
  ),
  quota: kind(
    [{}, { cpu: 0.5, memory: 1, pids: 1, disk: 1, inodes: 1, wallTime: 0 }],
    [1, { cpu: 0 }, { memory: 0 }, { pids: 0 }, { disk: 0 }, { inodes: 1.5 }, { wallTime: -1 }, { more: 1 }],
  ),
  user: kind([{ uid: 0 }, { uid: 5, gid: 0 }], [{}, 5, { uid: -1 }, { uid: 1, gid: -1 }, { uid: 1, more: 1 }]),
  cache: choice('fork', 'share'),
  streams: choice('inherit', 'capture'),
  conflicts: choice('refuse', 'ours', 'theirs'),
  left: choice('refuse', 'ours'),
  scope: choice('once', 'session', 'rule'),
  tier: choice('system', 'user'),
  status: choice('begin', 'ok', 'failed', 'denied'),
  instant: kind(
    ['2026-01-31', '2026-01-31T12:00', '2026-01-31T12:00:05', new Date(0).toISOString()],
    ['', 'yesterday', '2h', '2026', '2026-1-1', '2026-01-31T12:00Z', '2026-01-31T12:00:05Z', 1, new Date()],
  ),
  access: choice('read', 'write', 'exec'),
  action: choice('allow', 'allow_with_checkpoint', 'require_approval', 'deny'),
  records: kind([[], [{}]], [{}, 'x', [1]]),
  pids: kind(['all', [], [1, 2]], ['some', '', [0], [1.5], ['1'], 1]),
  match: kind(
    [{ class: 'mutating' }, { command: ['x'] }, { command: ['x'], prefix: true }, { command: ['x'], prefix: false }],
    [
      {},
      { class: 'nosuch' },
      { command: [] },
      { command: 'x' },
      { class: 'mutating', command: ['x'] },
      { command: ['x'], prefix: 1 },
    ],
  ),
  form: kind(
    [{ text: 'x' }, { text: '' }, { argv: ['x'] }, { argv: [] }],
    [{}, 'x', { text: 1 }, { argv: 'x' }, { text: 'x', argv: ['x'] }],
  ),
  grant: kind(
    [
      { kind: 'read', path: '/x' },
      { kind: 'write', path: '/x' },
      { kind: 'connect', host: 'h:1' },
      { kind: 'group', gid: 0 },
      { kind: 'group', gid: 0xfffffffe },
      { kind: 'permission', class: 'tool', name: 't', permission: 'execute' },
    ],
    [
      ...[
        {},
        'x',
        { kind: 'read' },
        { kind: 'nosuch', path: '/x' },
        { kind: 'read', path: 'a\0b' },
        { kind: 'read', path: '/x', more: 1 },
      ],
      ...[
        { kind: 'connect', path: '/x' },
        { kind: 'group', gid: -1 },
        { kind: 'group', gid: 0xffffffff },
        { kind: 'group', gid: '1' },
      ],
      ...[{ kind: 'permission', class: 'tool', name: 't' }, { kind: 'constructor' }],
    ],
  ),
};

/** Objects whose members may all be left out, but those with `!`. */
const workspace =
  'agent:word reads:words writes:words liveWrites:words siblings:flag cache:cache readonly:flag network:words privateHosts:words ' +
  'secrets:secrets mounts:words quota:quota user:user weakened:words approvalMilliseconds:time onApproval:callback onProgress:callback ' +
  'fork:word environment:words project:flag home:word wait:flag alone:flag';
const running =
  'timeoutMilliseconds:time approvalMilliseconds:time onApproval:callback onLimit:callback directory:word environment:words signal:signal onOutput:callback';
const finding = 'agent:word session:word type:word status:status path:word since:instant until:instant all:flag';
const objects: Readonly<Record<string, string>> = {
  Workspace: workspace,
  Jail: `${running} onReady:callback onStarted:callback streams:streams calledTool:word toolCall:toolCall`,
  Run: `${running} input:bytes`,
  Call: running,
  File: 'signal:signal',
  List: 'signal:signal depth:depth',
  Search: 'signal:signal path:word ignoreCase:flag literal:flag include:word',
  Edit: '!before:text !after:text all:flag',
  Change: 'paths:words since:word',
  Diff: 'paths:words since:word style:style full:flag onText:callback',
  Apply:
    'paths:words conflicts:conflicts ours:words theirs:words allowSensitive:flag dryRun:flag onProgress:callback signal:signal to:word',
  Ask: 'paths:words approvalMilliseconds:time onApproval:callback signal:signal',
  Undo: 'onProgress:callback signal:signal conflicts:left',
  Rollback: 'checkpoint:word paths:words',
  From: 'from:word',
  Question: '!class:word !name:word !permission:word',
  Reply: 'by:word why:text',
  Grant: 'by:word why:text scope:scope network:words',
  All: 'all:flag',
  Rule: '!action:action !match:match agent:word withoutAgent:flag',
  Test: 'agent:word networked:flag',
  New: 'spec:object file:word tier:tier program:word parent:word directory:word',
  Find: finding,
  Follow: `${finding} signal:signal`,
  Key: 'key:word',
  Record: 'directory:word as:word',
  Limits: 'maxBytes:limit maxFiles:limit maxFileBytes:limit',
  Vault: 'name:word uncopied:flag exactly:flag onProgress:callback',
  Repair: 'repair:flag',
  Secret: 'value:secret command:word signal:signal',
  Source: '!file:word server:word cap:words passed:words tier:tier signal:signal',
  Harness: '!directory:word credentials:flag keyOutside:flag fresh:flag',
  Keep: '!idleMilliseconds:time !onReady:callback !serve:callback ending:signal',
};

const filesOf = {
  read: 'word File?',
  write: 'word bytes File?',
  edit: 'word Edit File?',
  list: 'word? List?',
  search: 'word Search?',
};
const objectCalls = { make: 'word New?', show: '=word', list: '=', set: 'word word text word?', remove: 'word' };

/** Each call by the kinds of its arguments; `?` is one that may be left out, and `=` a call that answers at once. */
const calls: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  workspace: {
    ...filesOf,
    ...{
      check: '',
      prepare: '',
      surface: '',
      preamble: '',
      whyPath: 'access word',
      whyHost: 'word',
      whyObject: 'Question',
    },
    ...{
      plan: 'command?',
      exec: 'command Jail?',
      execLive: 'command Jail?',
      keepJail: '',
      run: 'command Run?',
      tools: '',
    },
    ...{
      callTool: 'word json? Call?',
      askToApply: 'Ask?',
      close: '',
      status: 'Change?',
      diff: 'Diff?',
      apply: 'Apply?',
    },
    ...{
      undoApply: 'Undo?',
      drop: '',
      checkpoint: 'word?',
      checkpoints: '',
      lookAtCheckpoint: 'word',
      deleteCheckpoint: 'word',
    },
    ...{
      rollback: 'Rollback?',
      forks: '',
      createFork: 'word? From?',
      useFork: 'word',
      deleteFork: 'word',
      runs: 'word',
    },
    ...{ findRun: 'word?', sync: '', exportTo: 'word', flatten: '' },
  },
  'workspace.keepJail': { ...filesOf, exec: 'command Run?', end: '' },
  operator: { record: '=Record?', running: '', stop: 'pids', doctor: '' },
  'operator.record': {
    ...{ find: 'Find?', follow: '=records Follow?', at: 'word', blame: 'word', verify: 'Key?', seal: '', keys: '' },
    ...{ rotateKey: '', revokeKey: 'word', exportTo: 'word' },
  },
  'operator.rules': { list: '=', add: 'Rule', remove: '=word', test: 'form Test?' },
  'operator.approvals': { list: '=All?', one: '=word', steps: '=word', grant: '=word Grant?', deny: '=word Reply?' },
  'operator.agents': { ...objectCalls, grant: 'word grant word?', revoke: 'word grant' },
  'operator.tools': objectCalls,
  'operator.vaults': {
    ...{
      list: '=',
      faults: '=',
      find: '=word? word?',
      create: 'word Vault?',
      limits: 'word?',
      limit: 'word? Limits',
      rename: 'word? word',
    },
    ...{ delete: 'word?', confirm: 'word?', collect: '', inspect: 'Repair?', format: '=', undoMigration: '' },
  },
  'operator.secrets': { list: '=', set: 'word Secret', remove: '=word' },
  'operator.sources': { add: 'word Source', refresh: 'word signal?', show: '=word', list: '=', remove: 'word' },
  'operator.trust': { read: 'word', confirm: 'word word', revoke: '=word' },
  'operator.profiles': { list: '', widen: 'object Workspace Harness' },
  'operator.keptJails': {
    ...{
      at: '=word word?',
      isLive: 'word word?',
      missing: '=word word?',
      list: '',
      stop: 'word word?',
      keep: 'word Workspace Keep',
    },
  },
};

/** A value of a kind, and all that are tried. */
function valuesOf(name: string): Kind {
  const members = objects[name];
  if (members === undefined) return kinds[name] ?? assert.fail(name);
  const parts = members.split(' ').map((part) => /^(!?)(\w+):(\w+)$/.exec(part)?.slice(1) ?? []);
  const needed = Object.fromEntries(
    parts.filter(([must]) => must === '!').map(([, key = '', of = '']) => [key, valuesOf(of).good[0]]),
  );
  const all = (pick: 'good' | 'bad') =>
    parts.flatMap(([, key = '', of = '']) => valuesOf(of)[pick].map((value) => ({ ...needed, [key]: value })));
  const without = Object.keys(needed).map((key) => ({ ...needed, [key]: undefined }));
  return kind([needed, ...all('good')], [...all('bad'), ...without, { ...needed, nosuch: 1 }, 'x', 1, [], new Date()]);
}

function entriesAt(path: string): Entries {
  const [top = '', member] = path.split('.');
  const entries = top === 'workspace' ? workspaceEntries : operatorEntries;
  if (member === undefined) return entries;
  return entries.methods[member]?.gives ?? entries.parts?.[member] ?? assert.fail(path);
}

describe('each call of the SDK', () => {
  it('is in this list, which has no other', () => {
    for (const [path, listed] of Object.entries(calls)) {
      assert.deepEqual(Object.keys(entriesAt(path).methods).sort(), Object.keys(listed).sort(), path);
    }
    assert.deepEqual(
      Object.keys(operatorEntries.parts ?? {}).sort(),
      Object.keys(calls)
        .flatMap((path) => path.split('operator.')[1] ?? [])
        .filter((part) => part !== 'record')
        .sort(),
    );
  });

  for (const [path, listed] of Object.entries(calls)) {
    it(`takes what it says, and nothing else: ${path}`, () => {
      for (const [name, takes] of Object.entries(listed))
        check(`${path}.${name}`, entriesAt(path).methods[name], takes);
    });
  }
});

function check(name: string, entry: MethodEntry | undefined, said: string): void {
  assert.ok(entry !== undefined, name);
  assert.equal(entry.atOnce, said.startsWith('='), `${name} answers at once`);
  const takes = said.replace('=', '').split(' ').filter(Boolean);
  assert.equal(entry.takes.length, takes.length, name);
  const values = takes.map((each) => valuesOf(each.replace('?', '')));
  const good = values.map((each) => each.good[0]);
  const shown = (given: readonly unknown[]) =>
    `${name}(${given.map((each) => (typeof each === 'object' ? JSON.stringify(each, (_, value) => (typeof value === 'bigint' ? 'bigint' : value)) : String(each))).join(', ')})`;
  const passes = (given: readonly unknown[]) =>
    assert.doesNotThrow(() => checkArguments(name, entry.takes, given), shown(given));
  const refuses = (given: readonly unknown[]) =>
    assert.throws(() => checkArguments(name, entry.takes, given), { code: 'EINVAL' }, shown(given));
  passes(good);
  refuses([...good, 1]);
  passes([...good, undefined]);
  for (const [index, each] of takes.entries()) {
    const at = (value: unknown) => good.with(index, value);
    for (const value of values[index]?.good ?? []) passes(at(value));
    for (const value of values[index]?.bad ?? []) refuses(at(value));
    (each.endsWith('?') ? passes : refuses)(at(undefined));
  }
}

describe('a face of the SDK', () => {
  const entries: Entries = {
    name: 'face',
    methods: {
      later: { takes: [(value) => assert.equal(value, 1)], atOnce: false },
      atOnce: { takes: [], atOnce: true, gives: { name: 'given', methods: { own: { takes: [], atOnce: true } } } },
      throwing: { takes: [], atOnce: false },
      failing: { takes: [], atOnce: false },
      promised: { takes: [], atOnce: false, gives: { name: 'given', methods: { own: { takes: [], atOnce: true } } } },
    },
    parts: { part: { name: 'part', methods: { own: { takes: [], atOnce: true } } } },
  };
  class Face {
    readonly value = 5;
    readonly part = new Given();
    later = async (value: number) => value;
    atOnce = () => new Given();
    promised = async () => new Given();
    throwing = (): Promise<void> => {
      throw new RangeError('at once');
    };
    failing = async (): Promise<void> => {
      throw Object.assign(new Error('EMFILE: too many open files, scandir'), { code: 'EMFILE', syscall: 'scandir' });
    };
    hidden = () => 'hidden';
  }
  class Given {
    own(this: Given) {
      return this instanceof Given;
    }
    hidden() {
      return 'hidden';
    }
  }

  it('has the calls of its list, with those of what they give, and no other', async () => {
    const face = checkedFace(new Face(), entries);
    assert.deepEqual([face.value, face.hidden], [5, undefined]);
    const { later } = face;
    assert.equal(face.later, later);
    assert.equal(await face.later(1), 1);
    await assert.rejects(face.later(2), { code: 'EINVAL' });
    await assert.rejects(face.throwing(), RangeError);
    await assert.rejects(face.failing(), { name: 'ErrnoError', code: 'EMFILE', operation: 'open' });
    await assert.rejects((face.later as (...given: number[]) => Promise<number>)(1, 2), { code: 'EINVAL' });
    assert.throws(() => (face.atOnce as (...given: number[]) => unknown)(1), { code: 'EINVAL' });
    for (const given of [face.part, face.atOnce(), await face.promised()]) {
      assert.deepEqual([given.own(), given.hidden], [true, undefined]);
    }
    assert.equal(String(face), '[object Object]');
    assert.equal((face as unknown as { then?: unknown }).then, undefined);
    assert.equal(Object.hasOwn(face, 'value'), true);
  });
});
