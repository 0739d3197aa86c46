import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readArguments } from './arguments.mjs';

test('options of ctx exec stand behind --exec, with or without =', () => {
  const expected = { projects: ['a', 'b=make check'], keep: true, execOptions: ['--net', 'any'] };
  assert.deepEqual(readArguments(['a', '--exec', '--net any', 'b=make check', '--keep']), expected);
  assert.deepEqual(readArguments(['a', '--exec=--net any', 'b=make check', '--keep']), expected);
});

test('without --exec there are none, and --exec alone or another option is refused', () => {
  assert.deepEqual(readArguments(['a']), { projects: ['a'], keep: false, execOptions: [] });
  assert.throws(() => readArguments(['a', '--exec']), { code: 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' });
  assert.throws(() => readArguments(['a', '--net']), { code: 'ERR_PARSE_ARGS_UNKNOWN_OPTION' });
});
