import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parseWhen } from './parse-when.js';

const now = new Date('2026-03-01T12:00:00.000Z');

const zone = process.env['TZ'];
after(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

test('a time is a day, a time of a day in UTC, or how long ago, wherever the person is', () => {
  for (const [text, time] of [
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['90s', '2026-03-01T11:58:30.000Z'],
    ['5m', '2026-03-01T11:55:00.000Z'],
    ['2h', '2026-03-01T10:00:00.000Z'],
    ['1d', '2026-02-28T12:00:00.000Z'],
    ['0s', '2026-03-01T12:00:00.000Z'],
    ['999999999d', '-271821-04-20T00:00:00.000Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T12:30', '2026-01-31T12:30:00.000Z'],
    ['2026-01-31T12:30Z', '2026-01-31T12:30:00.000Z'],
    ['2026-01-31T12:30:05', '2026-01-31T12:30:05.000Z'],
    ['2026-01-31T12:30:05.5Z', '2026-01-31T12:30:05.500Z'],
    ['2026-01-31T12:30:05.123', '2026-01-31T12:30:05.123Z'],
  ] as const)
    for (const name of ['UTC', 'America/St_Johns', 'Asia/Kolkata', 'Pacific/Kiritimati']) {
      process.env['TZ'] = name;
      assert.equal(parseWhen(text, now), time, `${text} in ${name}`);
    }
  assert.notEqual(new Date(2026, 0, 1).getTime(), Date.UTC(2026, 0, 1), 'this zone is another one');
});

test('anything else is refused, whatever Date makes of it', () => {
  for (const text of [
    ...['', 'yesterday', '2h ', '-2h', '2w', '1.5h', '1234567890s', '2026', '2026-1-1', '01/31/2026', '2026-13-01'],
    ...['2026-01-31 12:30', '2026-01-31T25:00', '2026-01-31T12:30+02:00', '2026-01-31T12', '2026-01-31T12:30:05.1234'],
    ...['2026-02-29', '2026-02-30T12:00', '2026-04-31', '2026-00-01', '2026-01-00', '2026-01-31T24:00'],
  ]) {
    assert.throws(() => parseWhen(text, now), { code: 'EINVAL' }, text);
  }
});
