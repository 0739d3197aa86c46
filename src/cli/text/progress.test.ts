import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doneShare, progressLine, progressText } from './progress.js';

test('before the total is known it says what was done, and how fast', () => {
  assert.equal(progressText({ files: 1200, bytes: 3e6 }, 2), '1,200 files, 3.0 MB, 1.5 MB/s');
});

test('with a total there is a bar, and the time that is left', () => {
  const text = progressText({ files: 500, bytes: 5e6, of: { files: 1000, bytes: 1e7 } }, 30);
  assert.equal(text, '[############............]  50 %  500 files, 5.0 MB, 167 kB/s, 30 s left');
});

test('the time that is left is in the unit that suits it, from each of its limits on', () => {
  for (const [seconds, text] of [
    [0.99, 'almost done'],
    [1, '1 s left'],
    [89.4, '89 s left'],
    [90, '2 min left'],
    [5_399, '90 min left'],
    [5_400, '1.5 h left'],
  ] as const) {
    const half = progressText({ files: 1, bytes: 1, of: { files: 2, bytes: 2 } }, seconds);
    assert.ok(half.endsWith(`, ${text}`), `${seconds}: ${half}`);
  }
});

test('a total that was too low never shows more than all of it, an empty one no nonsense', () => {
  assert.equal(doneShare({ files: 20, bytes: 20, of: { files: 10, bytes: 10 } }), 1);
  assert.equal(doneShare({ files: 0, bytes: 0, of: { files: 0, bytes: 0 } }), 1);
  assert.match(progressText({ files: 0, bytes: 0, of: { files: 5, bytes: 5 } }, 1), /^\[\.{24}\] {3}0 % {2}0 files/);
});

test('in a pipe nothing is drawn, and nothing is counted for it', () => {
  assert.equal(progressLine(undefined, 'import').update, undefined);
});
