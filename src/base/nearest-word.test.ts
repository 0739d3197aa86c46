import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nearestWord } from './nearest-word.js';

describe('the nearest word', () => {
  const verbs = ['exec', 'status', 'apply', 'diff', 'jail start', 'drop'];

  it('is the one that was mistyped', () => {
    for (const [given, meant] of [
      ['stauts', 'status'],
      ['statu', 'status'],
      ['aply', 'apply'],
      ['dif', 'diff'],
      ['exce', 'exec'],
      ['jail strat', 'jail start'],
    ] as const) {
      assert.equal(nearestWord(given, verbs), meant, given);
    }
  });

  it('is none where nothing is near, and short words are not guessed', () => {
    for (const given of ['', 'x', 'go', 'npm', 'session', 'applications', 'a'.repeat(10_000)]) {
      assert.equal(nearestWord(given, verbs), undefined, given.slice(0, 20));
    }
  });
});
