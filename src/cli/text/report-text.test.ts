import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import type { CommandChange } from '../../sdk/changes.js';
import type { ConnectionEvent, Envelope } from '../../sdk/report.js';
import type { Paint } from './output.js';
import { reportText, untoldText } from './report-text.js';

const plain: Paint = (_colour, text) => text;

function change(path: string, kind: CommandChange['kind'] = 'added'): CommandChange {
  return { kind, type: 'file', mode: 0o644, size: 12, content: true, stamp: '', path } as CommandChange;
}

const none = { directories: 0, files: 0, bytes: 0, milliseconds: 0 };

const nothing = {
  version: 1,
  argv: ['true'],
  directory: '/w',
  workspace: { origin: '/w', vault: 'id', fork: 'main' },
  exitCode: 0,
  signal: null,
  timedOut: false,
  stdout: null,
  stderr: null,
  startedAt: '1970-01-01T00:00:00.000Z',
  durationMilliseconds: 12.4,
  resources: { userMicroseconds: 0, systemMicroseconds: 0, peakMemoryKilobytes: 0, copiedForRename: none },
  refusals: [],
  connections: [],
  limitEvents: [],
  limitsReached: [],
  weakened: [],
  changes: [],
  pending: 0,
  entered: [],
  clashes: [],
  beside: [],
  besideCount: 0,
  warnings: [],
};

function report(more: Partial<Envelope> = {}, paint = plain): string {
  return reportText({ ...nothing, ...more } as unknown as Envelope, paint);
}

describe('changes', () => {
  it('are counted with those that are not listed', () => {
    const deep = { ...change('d'), type: 'directory', unlisted: 5 } as CommandChange;
    assert.match(report({ changes: [change('a'), deep] }), /^ctx {2}exit 0 {2}12 ms {2}7 paths changed in the fork\n/);
  });
});

describe('trees that a command wrote to', () => {
  it('are shown with what changed in them, where it is known and there is any', () => {
    const mount = { specification: 'chunked:n', target: '/n', more: 0, undoable: true };
    const mounts = (changes: unknown, more = {}) =>
      report({ mounts: [{ ...mount, changes, ...more }] } as Partial<Envelope>);
    assert.equal(mounts(null), report());
    assert.equal(mounts([]), report());
    const lines = mounts([change('a'), change('b', 'modified'), change('c', 'deleted')]).split('\n');
    assert.match(lines.at(-5) ?? '', /^ {2}3 paths changed in \/n \(chunked:n\); ctx rollback /);
    assert.deepEqual(lines.slice(-4), ['    A a', '    M b', '    D c', '']);
    const more = mounts([change('a')], { more: 4, undoable: false });
    assert.match(more, /^ {2}5 paths changed in \/n \(chunked:n\)\n {4}A a\n/m);
  });
});

describe('the report of a command', () => {
  it('is one line where nothing happened', () => {
    assert.equal(report(), 'ctx  exit 0  12 ms  no files changed\n');
  });

  it('says everything a person has to know, in one order', () => {
    const text = report({
      exitCode: 1,
      durationMilliseconds: 3_456,
      changes: [change('src/a.ts', 'modified'), change('b.txt'), change('c.txt', 'deleted'), change('.git/index')],
      pending: 9,
      entered: ['mine.txt'],
      clashes: ['src/a.ts'],
      warnings: ['not in the fork: run/socket (ENOTSUP: a socket)'],
    });
    assert.equal(
      text,
      `ctx  exit 1  3.5 s  4 paths changed in the fork
  M .git/  1 path
  M src/a.ts  12 B
  A b.txt  12 B
  D c.txt
picked up 1 edit you made since the last command
  both you and the fork changed src/a.ts
  not in the fork: run/socket (ENOTSUP: a socket)
9 changes pending, your directory untouched: ctx diff, ctx apply, ctx drop
`,
    );
  });

  it('says how the command ended', () => {
    assert.match(report({ exitCode: null, signal: 'SIGSEGV' }), /^ctx {2}killed by SIGSEGV {2}/);
    assert.match(report({ exitCode: null, signal: 'SIGTERM', timedOut: true }), /^ctx {2}timed out {2}/);
    assert.match(report({ exitCode: 127 }), /^ctx {2}exit 127 {2}/);
  });

  it('says what was refused, how often, and when after the start', () => {
    const at = (milliseconds: number) => new Date(milliseconds).toISOString();
    const once = { call: 'mount', count: 1, firstAt: at(12), lastAt: at(12), why: 'another view of the filesystem' };
    const often = { call: 'bpf', count: 3, firstAt: at(12), lastAt: at(2_500), why: 'large attack surface' };
    const text = report({ refusals: [once, often] });
    assert.match(text, /^ {2}refused mount once after 12 ms \(another view of the filesystem\)$/m);
    assert.match(text, /^ {2}refused bpf 3 times after 12 ms to 2\.5 s \(large attack surface\)$/m);
  });

  it('says nothing of io_uring, which runtimes ask for at each start and do without', () => {
    const [firstAt, lastAt] = [new Date(12).toISOString(), new Date(13).toISOString()];
    const asked = { call: 'io_uring_setup', count: 3, firstAt, lastAt, why: 'large attack surface' };
    assert.equal(report({ refusals: [asked] }), report());
    assert.match(report({ refusals: [asked, { ...asked, call: 'io_uring_enter' }] }), /refused io_uring_enter 3 times/);
  });

  it('says what a rename of a large directory cost, and nothing of a small one', () => {
    const copied = (files: number) => ({
      resources: { ...nothing.resources, copiedForRename: { directories: 1, files, bytes: 5, milliseconds: 2 } },
    });
    assert.match(report(copied(1000)), /^ {2}copied the files of 1 renamed directory: 1000 files, 5 B, 2 ms$/m);
    assert.equal(report(copied(3)), report());
  });

  it('says how long it took as people would', () => {
    const duration = (durationMilliseconds: number) => report({ durationMilliseconds }).split('  ')[2];
    assert.deepEqual([0.4, 999, 1000, 59_900, 60_000, 3_600_000].map(duration), [
      '0 ms',
      '999 ms',
      '1.0 s',
      '59.9 s',
      '60 s',
      '3600 s',
    ]);
  });

  it('is green only for success', () => {
    const named: Paint = (colour, text) => `<${colour}>${text}</>`;
    assert.match(report({}, named), /<green>exit 0<\/>/);
    for (const more of [{ exitCode: 1 }, { exitCode: null, signal: 'SIGKILL' }, { timedOut: true }]) {
      assert.doesNotMatch(report(more, named), /<green>/);
    }
  });

  it('stays short, and says how much more there is', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `f${index}`);
    const text = report({ changes: many.map((path) => change(path)), clashes: many, warnings: many, pending: 1000 });
    assert.ok(text.split('\n').length < 70);
    assert.match(text, /and 980 more: ctx diff/);
  });

  it('cannot be forged by the name of a file: a name is part of one line', () => {
    const name = fc.string({ unit: 'binary', minLength: 1 });
    fc.assert(
      fc.property(name, name, name, (changed, clash, warning) => {
        fc.pre(!changed.startsWith('.git/'));
        const text = report({ changes: [change(changed)], clashes: [clash], warnings: [warning] });
        assert.equal(text.split('\n').length, 5);
        assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/);
      }),
      seeded(300),
    );
  });
});

describe('what is said where there is no report', () => {
  it('is what nobody would find out otherwise', () => {
    const warnings = [
      'skipped /x: it is not there',
      '2 of your own edits will be picked up when all running commands have ended',
      'something that a report has room for',
    ];
    assert.equal(
      untoldText({ timedOut: true, limitsReached: ['held back'], warnings, connections: [], exitCode: 0 }),
      'ctx: timed out\nctx: skipped /x: it is not there\nctx: 2 of your own edits will be picked up when all running commands have ended\n',
    );
    const ended = { timedOut: false, limitsReached: ['memory limit reached'], warnings: [], connections: [] };
    assert.equal(untoldText({ ...ended, exitCode: 0 }), '');
    assert.equal(untoldText({ ...ended, exitCode: null }), 'ctx: memory limit reached\n');
    const slow = { ...ended, limitsReached: ['processor limit reached: throttled 4 times'] };
    const ofRoot = { ...slow, warnings: ["root's commands run as an unprivileged user"] };
    assert.deepEqual(
      [
        untoldText({ ...slow, exitCode: 1 }),
        untoldText({ ...ofRoot, exitCode: 0 }),
        untoldText({ ...ofRoot, exitCode: 1 }),
      ],
      ['', '', "ctx: root's commands run as an unprivileged user\n"],
    );
    const limitError = { code: 'EDQUOT', reason: 'limit of the vault reached' } as const;
    assert.equal(untoldText({ ...ended, limitError, exitCode: null }), 'ctx: limit of the vault reached\n');
  });

  it('names the network that a command failed of, and not one that it did without', () => {
    const warnings = ['curl is networked; no network is granted, so it cannot connect; --net HOST grants one'];
    const refused: ConnectionEvent = {
      verdict: 'refused',
      host: 'example.com',
      port: 443,
      count: 2,
      bytesIn: 0,
      bytesOut: 0,
      address: null,
      protocol: 'connect',
      milliseconds: 1,
      reason: 'not among the granted hosts',
    };
    const end = {
      timedOut: false,
      limitsReached: [],
      warnings,
      connections: [refused, { ...refused, verdict: 'allowed' as const }],
    };
    assert.equal(
      untoldText({ ...end, exitCode: 6 }),
      `ctx: ${warnings[0]}\nctx: refused to connect to example.com:443 2 times: not among the granted hosts\n`,
    );
    assert.equal(untoldText({ ...end, exitCode: 0 }), '');
  });
});
