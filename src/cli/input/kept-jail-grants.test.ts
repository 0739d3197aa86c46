import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execVerb } from '../verbs/exec-verb.js';
import { grantWords, mayRunWith } from './kept-jail-grants.js';
import { parseArguments } from './parse-arguments.js';

const called = (...words: readonly string[]) => parseArguments(execVerb, [...words, '--', 'true']);
const secret = ['--net', 'api.example', '--secret', 'api.example X-Key: $TOKEN'];

test('a command runs in a kept jail with the same grants, or with those read-only', () => {
  const grants = grantWords(called('--net', 'api.example'), {}, '');
  assert.ok(mayRunWith(called('--net', 'api.example'), {}, '', grants));
  assert.ok(mayRunWith(called('--net', 'api.example', '--readonly'), {}, '', grants));
  assert.ok(!mayRunWith(called(), {}, '', grants));
  assert.ok(!mayRunWith(called('--net', 'other.example'), {}, '', grants));
});

test('a command whose variable holds another token does not run with the token of the kept jail', () => {
  const grants = grantWords(called(...secret), { TOKEN: 'first-token' }, '');
  assert.ok(mayRunWith(called(...secret), { TOKEN: 'first-token' }, '', grants));
  assert.ok(!mayRunWith(called(...secret), { TOKEN: 'second-token' }, '', grants));
  assert.ok(!mayRunWith(called(...secret), {}, '', grants), 'a stored secret is another');
  const stored = grantWords(called(...secret), {}, '');
  assert.ok(mayRunWith(called(...secret), {}, '', stored));
  assert.ok(!mayRunWith(called(...secret), { TOKEN: 'first-token' }, '', stored));
});

test('a command does not run with the project’s defaults of another moment', () => {
  const grants = grantWords(called(), {}, 'digest');
  assert.ok(mayRunWith(called(), {}, 'digest', grants));
  assert.ok(!mayRunWith(called(), {}, '', grants));
  assert.ok(!mayRunWith(called('--no-project'), {}, 'digest', grants));
});
