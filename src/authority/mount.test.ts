import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { kindOfSource, makeMount, parseMounts, printMounts } from './mount.js';
import { permittedMounts } from './mount-permission.js';
import { parsePolicy } from './policy.js';

function refusal(text: string): ErrnoError {
  try {
    parseMounts(text, 'mount');
  } catch (error) {
    assert.ok(error instanceof ErrnoError);
    assert.equal(error.code, 'EINVAL');
    return error;
  }
  throw new Error(`accepted: ${text}`);
}

describe('a mount file', () => {
  it('prints as it was read', () => {
    const text = '/ctx\t/ctx\tro\trbind,nosuid,nodev\n/p q\t/workspace\trw\t-\n/\t/host\tro\tnoexec\n';
    assert.equal(printMounts(parseMounts(text, 'mount')), text);
  });

  it('names trees by their engines, with whatever else stands in them', () => {
    const text = 'memory:\t/m\trw\t-\ns3://bucket/a b=/c\t/s\tro\tnoexec\n';
    assert.equal(printMounts(parseMounts(text, 'mount')), text);
    const kinds = ['memory:', 'chunked:/x', '/ctx', '/ctx/tool', '/ctxx', '/a:b'].map(kindOfSource);
    assert.deepEqual(kinds, ['tree', 'tree', 'objects', 'objects', 'host', 'host']);
    assert.match(refusal(`memory:${'x'.repeat(5_000)}\t/m\trw\t-`).reason, /within 4095 bytes/);
    assert.match(refusal('memory:\0\t/m\trw\t-').reason, /without tab, newline or NUL/);
  });

  it('may be empty, blank or commented', () => {
    assert.deepEqual(parseMounts('', 'mount'), []);
    assert.equal(parseMounts('# home\n\n/a\t/a\tro\t-', 'mount').length, 1);
  });

  it('orders options one way', () => {
    assert.deepEqual(parseMounts('/a\t/a\tro\tnodev,bind', 'mount')[0]?.options, ['bind', 'nodev']);
  });

  it('is frozen', () => {
    const mounts = parseMounts('/a\t/a\tro\tnodev', 'mount');
    assert.ok(Object.isFrozen(mounts) && Object.isFrozen(mounts[0]) && Object.isFrozen(mounts[0]?.options));
  });

  const cases: readonly (readonly [text: string, place: string, expected: RegExp])[] = [
    ['/a /a ro -', '1:11', /source<TAB>target/],
    ['/a\t/a\tro', '1:9', /got 3$/m],
    ['/a\t/a\tro\t-\t', '1:12', /got 5$/m],
    ['a\t/a\tro\t-', '1:1', /absolute path/],
    ['/a\tb\tro\t-', '1:4', /absolute path/],
    ['/a/../b\t/a\tro\t-', '1:1', /`\.\.` components/],
    ['/a\t/a/\tro\t-', '1:4', /final slash/],
    ['/a\t/a//b\tro\t-', '1:4', /empty/],
    ['/a\t/a/.\tro\t-', '1:4', /components/],
    ['/a\0\t/a\tro\t-', '1:1', /absolute path/],
    [`/${'a'.repeat(4095)}\t/a\tro\t-`, '1:1', /4095 bytes/],
    ['/a\t/a\tRO\t-', '1:7', /ro or rw/],
    ['/a\t/a\tro\t', '1:10', /options of bind/],
    ['/a\t/a\tro\tsuid', '1:10', /got "suid"/],
    ['/a\t/a\tro\t-,nosuid', '1:10', /expected `-` alone/],
    ['/a\t/a\tro\tnosuid,nosuid', '1:10', /nosuid twice/],
    ['/a\t/a\tro\tbind,rbind', '1:10', /got both/],
    ['/a\t/x\tro\t-\n\n/b\t/x\trw\t-', '3:4', /line 1/],
  ];
  for (const [text, place, expected] of cases) {
    it(`is refused with the place of the fault: ${JSON.stringify(text.slice(0, 40))}`, () => {
      const error = refusal(text);
      assert.ok(error.reason.startsWith(`mount:${place}: `), error.reason);
      assert.match(error.reason, expected);
    });
  }
});

describe('a mount made by a program', () => {
  it('cannot hold what a mount file cannot say', () => {
    const good = { source: '/a', target: '/b', mode: 'ro', options: ['nodev'] };
    assert.equal(makeMount(good).mode, 'ro');
    for (const bad of [
      { source: '/a\t/b' },
      { target: '/b\n' },
      { target: 'b' },
      { mode: 'rwx' },
      { options: ['-'] },
      { options: ['bind', 'rbind'] },
    ]) {
      assert.throws(() => makeMount({ ...good, ...bad }), { code: 'EINVAL' });
    }
  });
});

describe('mounts that a policy decides about', () => {
  const mounts = parseMounts('/h/a\t/a\tro\t-\n/h/b\t/b\trw\t-\n', 'mount');
  const under = (...rules: readonly string[]) => {
    const text = rules.map((rule) => `allow coder_t ${rule}\n`).join('');
    const { mounts: permitted, withheld } = permittedMounts(parsePolicy(text, 'policy'), 'coder_t', mounts);
    return [
      ...permitted.map(({ target, mode }) => `${target} ${mode}`),
      ...withheld.map(({ missing, rule }) => `without ${missing}: ${rule}`),
    ];
  };
  const lacks = (name: string, missing: string) => `without ${missing}: allow coder_t mount:${name} ${missing}`;

  it('are as the file has them where it names none', () => {
    assert.deepEqual(under(), ['/a ro', '/b rw']);
    assert.deepEqual(under('tool:mount execute'), ['/a ro', '/b rw']);
  });

  it('need to be named once one is, each for what it is mounted for', () => {
    assert.deepEqual(under('mount:a read'), ['/a ro', lacks('b', 'read')]);
    assert.deepEqual(under('mount:b write'), ['/b rw', lacks('a', 'read')]);
    assert.deepEqual(under('mount:b read'), ['/b ro', lacks('a', 'read'), lacks('b', 'write')]);
    assert.deepEqual(under('mount:a write', 'mount:b write'), ['/a ro', '/b rw']);
    assert.deepEqual(under('mount:c read'), [lacks('a', 'read'), lacks('b', 'read')]);
  });
});
