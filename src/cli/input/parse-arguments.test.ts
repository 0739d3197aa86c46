import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { ErrnoError, hasCode } from '../../base/errno.js';
import type { Verb } from '../verb.js';
import { verbs } from '../verbs.js';
import { ownWords, parseArguments, parseDuration } from './parse-arguments.js';

const load = () => Promise.reject(new Error('not called'));
const exec: Verb = {
  name: 'exec',
  summary: '',
  words: 'command',
  operands: '-- COMMAND',
  options: [
    { name: 'json', summary: '' },
    { name: 'timeout', value: 'DURATION', summary: '' },
    { name: 'report', value: 'WHEN', choices: ['auto', 'never'], summary: '' },
    { name: 'env', value: 'NAME', repeated: true, summary: '' },
  ],
  examples: [],
  load,
};
const diff: Verb = { ...exec, name: 'diff', words: 'none' };
const completion: Verb = { ...exec, name: 'completion', operands: 'SHELL', words: { least: 1, most: 1 } };

function refusal(verb: Verb, given: readonly string[]): string {
  try {
    parseArguments(verb, given);
  } catch (error) {
    assert.ok(error instanceof ErrnoError && error.code === 'EINVAL');
    return error.reason;
  }
  return assert.fail(`took ${given.join(' ')}`);
}

/** What may be given more than once, whatever the verb: as docs say it. */
const repeated: Readonly<Record<string, readonly string[]>> = {
  paths: ['read', 'write', 'write-live', 'ours', 'theirs'],
  hosts: ['net', 'net-private', 'allow-host'],
  others: ['env', 'secret', 'mount', 'weaken', 'tool', 'pass-env'],
};

it('every option of every verb is taken once, or as often as it makes sense', () => {
  const often = new Set(Object.values(repeated).flat());
  for (const verb of verbs) {
    for (const { name, value, choices } of verb.options) {
      const given = value === undefined ? `--${name}` : `--${name}=${choices?.[0] ?? '1'}`;
      // Of an object that is made, `tool` and `secret` are names of options, too.
      const words =
        verb.words === 'none' ? [] : ['--', ...Array(typeof verb.words === 'object' ? verb.words.least : 1).fill('w')];
      const twice = () => parseArguments(verb, [given, given, ...words]).values(name).length;
      assert.equal(parseArguments(verb, [given, ...words]).flag(name), true, `${verb.name} ${given}`);
      if (often.has(name)) assert.equal(twice(), 2, `${verb.name} ${given}`);
      else assert.throws(twice, { code: 'EINVAL' }, `${verb.name} ${given}`);
    }
  }
});

describe('the words of a call', () => {
  it('are options, then the command untouched, with or without --', () => {
    for (const given of [
      ['--json', '--timeout', '5s', '--', 'npm', '--json', '--', 'x'],
      ['--json', '--timeout=5s', 'npm', '--json', '--', 'x'],
    ]) {
      const call = parseArguments(exec, given);
      assert.deepEqual(call.words, ['npm', '--json', '--', 'x']);
      assert.equal(call.flag('json'), true);
      assert.equal(call.value('timeout'), '5s');
    }
  });

  it('pass any command through exactly, whatever its words are', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (argv) => {
        assert.deepEqual(parseArguments(exec, ['--json', '--', ...argv]).words, argv);
      }),
      seeded(300),
    );
  });

  it('take an option of several values, a value with an equals sign, and one that is empty', () => {
    const call = parseArguments(exec, ['--env', 'A=1', '--env=B=2=3', '--env=', '--env', '--json', '--', 'x']);
    assert.deepEqual(call.values('env'), ['A=1', 'B=2=3', '', '--json']);
    assert.equal(call.flag('json'), false);
    assert.deepEqual(call.values('timeout'), []);
    assert.equal(call.value('timeout'), undefined);
  });

  it('take a negative number for an operand, where no command is expected', () => {
    assert.deepEqual(parseArguments(completion, ['-1']).words, ['-1']);
    assert.match(refusal(exec, ['-1', 'x']), /unknown option -1/);
  });

  it('are refused with what was expected', () => {
    assert.match(refusal(exec, ['--nope']), /unknown option --nope; valid options: --json, --timeout, --report, --env/);
    assert.match(refusal(exec, ['-j']), /unknown option -j/);
    assert.match(refusal(exec, ['--tiemout=3']), /unknown option --tiemout=3; did you mean --timeout\?/);
    assert.match(refusal(exec, ['--json=1']), /--json takes no value/);
    assert.match(refusal(exec, ['--timeout']), /expected DURATION after --timeout/);
    assert.match(refusal(exec, ['--json', '--json']), /--json was given twice/);
    assert.match(refusal(exec, ['--report', 'maybe']), /expected --report to be auto, never; got 'maybe'/);
    assert.match(refusal(diff, ['x']), /unexpected operand 'x'/);
    assert.match(refusal(diff, ['--', 'x']), /unexpected operand 'x'/);
    assert.match(refusal(completion, []), /expected SHELL/);
    assert.match(refusal(completion, ['bash', 'zsh']), /unexpected operand 'zsh'/);
  });

  it('are text where they name something, and bytes where a command or a change of the fork is meant', () => {
    const bytes: Verb = { ...diff, words: { least: 0, most: 9, bytes: true } };
    const other = 'a\udcff';
    for (const given of [
      ['--', other],
      ['--', 'x', other],
    ]) {
      assert.deepEqual(parseArguments(exec, given).words, given.slice(1));
      assert.deepEqual(parseArguments(bytes, given).words, given.slice(1));
    }
    for (const [verb, given] of [
      [exec, ['--timeout', other, '--', 'x']],
      [exec, [`--timeout=${other}`, '--', 'x']],
      [completion, [other]],
    ] as const)
      assert.match(refusal(verb, given), /expected text in UTF-8, got 'a\udcff'/);
  });

  it('never end in anything but a call or a refusal', () => {
    const word = fc.oneof(
      fc.constantFrom('--', '-', '--json', '--timeout', '--env=x', '--report=never', '--=', '--__proto__', 'x'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.constantFrom(exec, diff, completion), fc.array(word), (verb, given) => {
        try {
          const call = parseArguments(verb, given);
          for (const at of call.words) assert.ok(given.includes(at));
        } catch (error) {
          assert.ok(hasCode(error, 'EINVAL'), String(error));
        }
      }),
      seeded(500),
    );
  });
});

describe('a verb that takes words and a command', () => {
  const plan: Verb = { ...exec, name: 'plan', words: { least: 0, most: 1, command: true } };

  it('has the words before the dashes apart from the command after them', () => {
    const call = parseArguments(plan, ['coder', '--json', '--', 'npm', '--', '--json']);
    assert.deepEqual([call.words, call.command, call.flag('json')], [['coder'], ['npm', '--', '--json'], true]);
    assert.deepEqual(parseArguments(plan, ['--', 'git', '--', 'x']).command, ['git', '--', 'x']);
    assert.throws(() => parseArguments(plan, ['npm', 'test']), { code: 'EINVAL' });
  });
});

describe('the words that are meant for ctx', () => {
  it('end where the command begins', () => {
    assert.deepEqual(ownWords(exec, ['--json', '--', 'x', '--help']), ['--json']);
    assert.deepEqual(ownWords(exec, ['--json', 'npm', '--help']), ['--json']);
    assert.deepEqual(ownWords(diff, ['x', '--json']), ['x', '--json']);
    assert.deepEqual(ownWords(undefined, ['--json']), ['--json']);
  });

  it('leave the values of options out, and go on after them', () => {
    assert.deepEqual(ownWords(exec, ['--timeout', '5m', '--help']), ['--timeout', '--help']);
    assert.deepEqual(ownWords(exec, ['--timeout=5m', '--json', 'x']), ['--timeout=5m', '--json']);
    assert.deepEqual(ownWords(exec, ['--env', '--json', '--', 'x']), ['--env']);
  });
});

describe('a duration', () => {
  it('has a unit, or is seconds', () => {
    assert.deepEqual(
      ['500ms', '30s', '5m', '1h', '2', '0.5s', '1.5m'].map(parseDuration),
      [500, 30_000, 300_000, 3_600_000, 2_000, 500, 90_000],
    );
  });

  it('is refused when it is none, nothing, or longer than a timer can wait', () => {
    for (const text of [
      '',
      '0',
      '0s',
      '-1',
      '1d',
      '5 m',
      's',
      '1e3',
      'Infinity',
      'NaN',
      '0x10',
      '600h',
      '.5',
      '1.',
      '5m ',
    ]) {
      assert.throws(
        () => parseDuration(text),
        (error) => hasCode(error, 'EINVAL'),
        text,
      );
    }
  });
});

/** Of operands that are read otherwise than word by word. */
const otherOperands: Readonly<Record<string, readonly [least: number, most: number]>> = {
  'agent grant': [3, 3],
  'agent revoke': [3, 3],
  why: [2, 2],
  hook: [1, 2],
  'audit keys': [0, 2],
  'rules add': [1, Number.POSITIVE_INFINITY],
};

it('every verb takes as many words as its operands say', () => {
  for (const { name, words, operands = '' } of verbs) {
    if (words === 'command') assert.match(operands, /COMMAND/, name);
    if (words === 'command') continue;
    const apart = operands.replace(/ ?\[?-- COMMAND.*$/, '');
    const parts = apart.split(' ').filter(Boolean);
    const isMany = parts.some((part) => part.includes('...'));
    const counted = [
      parts.filter((part) => !part.startsWith('[')).length,
      isMany ? Number.POSITIVE_INFINITY : parts.length,
    ] as const;
    const [least, most] = otherOperands[name] ?? counted;
    const said = words === 'none' ? { least: 0, most: 0 } : words;
    assert.deepEqual([said.least, said.most], [least, most], `${name} ${operands}`);
  }
});
