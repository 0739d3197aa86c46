import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { counted, nameText, refusal, shortened } from './texts.js';

test('a text is whole up to its limit, and beyond it has its beginning, its end and how much is missing', () => {
  for (const most of [10, 11, 1_000]) {
    const text = (length: number) => Array.from({ length }, (_, at) => String(at % 10)).join('');
    for (const length of [0, 1, most - 1, most]) assert.equal(shortened(text(length), most), text(length));
    for (const length of [most + 1, most + 2, 5 * most]) {
      const whole = text(length);
      const [, first = '', left, last = ''] =
        /^(\d+)\n\.\.\. (\d+) characters left out: .* \.\.\.\n(\d+)$/.exec(shortened(whole, most)) ?? [];
      assert.ok(whole.startsWith(first) && whole.endsWith(last), `${length}`);
      assert.equal(first.length + Number(left) + last.length, length);
      assert.ok(first.length + last.length <= most);
    }
  }
});

test('a refusal begins with its code, and says where and what to try only where there is something to say', () => {
  const error = (more: object) => new ErrnoError('EACCES', { operation: 'read', reason: 'why', ...more });
  for (const [more, text] of [
    [{}, 'EACCES: read: why'],
    [{ path: '/f' }, 'EACCES: read /f: why'],
    [{ remedy: 'this' }, 'EACCES: read: why\ntry: this'],
  ] as const) {
    const { text: said, isError, facts } = refusal(error(more));
    assert.deepEqual([said, isError], [text, true]);
    assert.equal((facts?.['error'] as { code?: string } | undefined)?.code, 'EACCES');
  }
});

test('a name is on one line, no two are shown alike, and what is not shown as it is reads back from JSON', () => {
  for (const name of ['a', 'a b', 'é', '😀', 'a\\nb', '\\udcff', 'a"b', '\ufffd']) assert.equal(nameText(name), name);
  const others = ['a\nb', '\u001b[2J', 'a\u007f', '\u0085', '\u2028', 'a\udcff', 'a\udcfe', '\ud800', '"a"', '"a\\nb"'];
  const shown = others.map(nameText);
  assert.deepEqual(
    shown.map((text): unknown => JSON.parse(text)),
    others,
  );
  for (const text of shown) assert.doesNotMatch(text, /[\n\u001b\p{Surrogate}]/u);
});

test('a number is of one thing or of several', () => {
  assert.deepEqual(
    [0, 1, 2].map((number) => counted(number, 'byte')),
    ['0 bytes', '1 byte', '2 bytes'],
  );
});
