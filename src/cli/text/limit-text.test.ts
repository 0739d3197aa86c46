import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LimitEvent } from '../../sdk/report.js';
import { limitText } from './limit-text.js';

const event = (limit: LimitEvent['limit'], percent: LimitEvent['percent'], used: number, most: number): LimitEvent => ({
  at: '1970-01-01T00:00:00.000Z',
  limit,
  percent,
  used,
  most,
});

describe('a threshold of a limit', () => {
  it('is told as an amount of what is limited', () => {
    assert.equal(limitText(event('memory', 80, 82e6, 100e6)), '80 % of its limit used: 82 MB of 100 MB of memory');
    assert.equal(limitText(event('disk', 100, 101e6, 100e6)), 'limit of 100 MB of disk reached');
    assert.equal(limitText(event('pids', 80, 4, 5)), '80 % of its limit used: 4 processes of 5 processes');
    assert.equal(limitText(event('inodes', 100, 1, 1)), 'limit of 1 file reached');
    assert.equal(
      limitText(event('vaultBytes', 80, 82e6, 100e6)),
      '80 % of its limit used: 82 MB of 100 MB of the vault',
    );
    assert.equal(limitText(event('vaultFiles', 100, 11, 10)), 'limit of 10 files of the vault reached');
    assert.equal(limitText(event('wallTime', 80, 4_000, 5_000)), '80 % of its limit used: 4.0 s of 5.0 s');
  });
});
