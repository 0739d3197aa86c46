import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execVerb } from '../verbs/exec-verb.js';
import { grantsOf } from './asked-grants.js';
import { optionsOf } from './asked-options.js';
import { commandForm } from './command-form.js';
import { parseArguments } from './parse-arguments.js';

const called = (...words: readonly string[]) => parseArguments(execVerb, [...words, '--', 'true']);
const without = (...words: readonly string[]) => grantsOf(called(...words), { TOKEN: 'value' });
const nothing = without();

test('a call without options grants nothing', () => {
  const { agent, cache, user, quota, siblings, readonly, ...lists } = nothing;
  assert.deepEqual(
    [agent, cache, user, quota, siblings, readonly],
    [undefined, undefined, undefined, {}, false, false],
  );
  for (const [name, list] of Object.entries(lists)) assert.deepEqual(list, [], name);
  const { fork, alone, wait, environment, project } = optionsOf(called(), {});
  assert.deepEqual([fork, alone, wait, environment, project], [undefined, false, false, [], true]);
});

test('each option changes its own grant, and no other', () => {
  const rows: readonly (readonly [readonly string[], object])[] = [
    [['--agent', 'a'], { agent: 'a' }],
    [['--read', '/r', '--read', '/s'], { reads: ['/r', '/s'] }],
    [['--write', '/w'], { writes: ['/w'] }],
    [['--write-live', '/l'], { liveWrites: ['/l'] }],
    [['--siblings'], { siblings: true }],
    [['--cache', 'share'], { cache: 'share' }],
    [['--readonly'], { readonly: true }],
    [['--net', 'h'], { network: ['h:443'] }],
    [['--net', 'any'], { network: ['any'] }],
    [['--allow-host', 'h:80'], { network: ['h:80'] }],
    [['--net-private', 'h:1'], { privateHosts: ['h:1'] }],
    [['--secret', 'h X: $TOKEN'], { secrets: [{ host: 'h', port: 443, header: 'X', value: 'value' }] }],
    [['--secret', 'h X: $OTHER'], { secrets: [{ host: 'h', port: 443, header: 'X', template: '$OTHER' }] }],
    [['--mount', 'memory:=/m'], { mounts: ['memory:=/m'] }],
    [['--memory', '1024K'], { quota: { memory: 1024 * 1024 } }],
    [['--processes', '7'], { quota: { pids: 7 } }],
    [['--cpus', '0.5'], { quota: { cpu: 0.5 } }],
    [['--disk', '2M'], { quota: { disk: 2 * 1024 * 1024 } }],
    [['--files', '9'], { quota: { inodes: 9 } }],
    [['--user', '0'], { user: { uid: 0, gid: undefined } }],
    [['--user', '1000:100'], { user: { uid: 1000, gid: 100 } }],
    [['--weaken', 'seccomp'], { weakened: ['seccomp'] }],
    [['--nested-namespaces'], { weakened: ['nested-namespaces'] }],
    [['--weaken', 'landlock', '--nested-namespaces'], { weakened: ['landlock', 'nested-namespaces'] }],
  ];
  for (const [words, changed] of rows) assert.deepEqual(without(...words), { ...nothing, ...changed }, words.join(' '));
});

test('each option of the call says that of its command, and no other', () => {
  const plain = optionsOf(called(), {});
  for (const [words, changed] of [
    [['--fork', 'f'], { fork: 'f' }],
    [['--alone'], { alone: true }],
    [['--wait'], { wait: true }],
    [['--env', 'A=1', '--env', 'B'], { environment: ['A=1', 'B'] }],
    [['--no-project'], { project: false }],
  ] as const) {
    assert.deepEqual(optionsOf(called(...words), {}), { ...plain, ...changed }, words.join(' '));
  }
});

test('what is no number, size or user is refused', () => {
  for (const words of [
    ...['', 'root', '1:', ':1', '-1', '1.5', '1:2:3', '12345678901'].map((user) => ['--user', user]),
    ...['0', '-1', '1.5', 'x', '', '1e3'].flatMap((count) => [
      ['--processes', count],
      ['--files', count],
    ]),
    ...['0', '0.0', '-1', 'x', '.5'].map((count) => ['--cpus', count]),
    ['--memory', '512'],
    ['--processes', '2'],
    ...['x', '', '1Q'].flatMap((size) => [
      ['--memory', size],
      ['--disk', size],
    ]),
  ]) {
    assert.throws(() => without(words[0] ?? '', words[1] ?? ''), { code: 'EINVAL' }, words.join(' '));
  }
});

test('a command is its words or a text, and not both', () => {
  const form = (...words: readonly string[]) => commandForm(parseArguments(execVerb, words), 'exec');
  assert.deepEqual(form('--', 'a', 'b'), { argv: ['a', 'b'] });
  assert.deepEqual(form('--shell', 'a | b'), { text: 'a | b' });
  assert.deepEqual(form('--shell', ''), { text: '' });
  for (const words of [[], ['--'], ['--shell', 'a', '--', 'b']])
    assert.throws(() => form(...words), { code: 'EINVAL' });
});
