import assert from 'node:assert/strict';
import { test } from 'node:test';
import { edited } from './edit.js';

test('a text is replaced where it is there once, or everywhere where that is asked for', () => {
  for (const [text, before, after, all, expected, count] of [
    ['abc', 'b', 'x', false, 'axc', 1],
    ['abc', 'abc', '', false, '', 1],
    ['a.c', '.', '$&', false, 'a$&c', 1],
    ['aXbXc', 'X', 'Y', true, 'aYbYc', 2],
    ['aaaa', 'aa', 'b', true, 'bb', 2],
    ['a\r\nb', '\n', '', false, 'a\rb', 1],
  ] as const) {
    assert.deepEqual(edited('f', text, { before, after, all }), { text: expected, count });
  }
});

test('nothing, what is not there, and what is there twice are refused', () => {
  for (const [text, before, all] of [
    ['abc', '', false],
    ['abc', '', true],
    ['', '', true],
    ['abc', 'x', false],
    ['abc', 'x', true],
    ['abc', 'B', false],
    ['aXbX', 'X', false],
    ['aXbX', 'X', undefined],
  ] as const) {
    assert.throws(() => edited('f', text, { before, after: 'y', all }), { code: 'EINVAL', path: 'f' });
  }
});

test('half of a character is not found in a whole one', () => {
  for (const [before, after] of [
    ['\ud83d', 'x'],
    ['\ude00', 'x'],
    ['a', '\ud83d'],
  ] as const)
    assert.throws(() => edited('f', 'a\ud83d\ude00', { before, after }), { code: 'EINVAL', path: 'f' });
  assert.equal(edited('f', 'a\ud83d\ude00', { before: '\ud83d\ude00', after: '\ud83c\udf89' }).text, 'a\ud83c\udf89');
});

test('what would be larger than a file may be is refused before it is made', () => {
  const text = 'a'.repeat(1_000_000);
  assert.throws(() => edited('f', text, { before: 'a', after: 'b'.repeat(1_000), all: true }), { code: 'EFBIG' });
  assert.equal(edited('f', text, { before: 'a', after: 'bc', all: true }).text.length, 2_000_000);
});
