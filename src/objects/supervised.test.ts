/** Every kind of excess that a supervisor can grant, and each of its members: left out, of another kind, or one too many. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Excess } from '../authority/excess.js';
import { hasCode } from '../base/errno.js';
import { parseSupervised, printSupervised } from './supervised.js';

const excesses: readonly Excess[] = [
  { kind: 'permission', rule: 'tool:x execute' },
  { kind: 'group', gid: 5 },
  { kind: 'hidden path', source: '/a', target: '/b', mode: 'ro', host: '/c' },
  { kind: 'hidden path', source: '/a', target: '/b', mode: 'rw', host: '/c' },
  { kind: 'read-only path', source: '/a', target: '/b', host: '/c' },
  { kind: 'tool path', path: '/t' },
  { kind: 'network', host: 'a.org:443' },
  ...(['cpu', 'memory', 'pids', 'disk', 'inodes', 'wallTime'] as const).map(
    (field) => ({ kind: 'quota', field, asked: 2, held: 1 }) as const,
  ),
  ...(['expiresAt', 'uses'] as const).map((field) => ({ kind: 'lifetime', field, asked: 2, held: 1 }) as const),
  { kind: 'isolation', asked: 'shared', held: 'uid' },
  { kind: 'detached life' },
];

const parsed = (excess: unknown, by: unknown = 'operator') =>
  parseSupervised(`${JSON.stringify({ by, excess })}\n`, 'f');
const refuses = (excess: unknown, why: string, by?: unknown) =>
  assert.throws(
    () => parsed(excess, by),
    (error) => hasCode(error, 'EINVAL'),
    `${why}: ${JSON.stringify(excess)}`,
  );

describe('what a supervisor granted', () => {
  it('is read as it was written, of every kind', () => {
    const grants = excesses.map((excess) => ({ by: 'operator', excess }));
    assert.deepEqual(parseSupervised(printSupervised(grants), 'f'), grants);
  });

  it('counts whole and exact: each member is there, is of its kind, and there is no other', () => {
    for (const excess of excesses) {
      refuses({ ...excess, more: 1 }, 'one member too many');
      refuses({ ...excess, kind: `${excess.kind}s` }, 'an unknown kind');
      for (const name of Object.keys(excess)) {
        if (name === 'kind') continue;
        const { [name]: _left, ...rest } = excess as unknown as Record<string, unknown>;
        refuses(rest, `without ${name}`);
        for (const value of [null, '', {}, true, [], 'other word'])
          if (
            value !== 'other word' ||
            ['mode', 'field', 'gid', 'held'].includes(name) ||
            typeof rest['field'] === 'string'
          )
            refuses({ ...excess, [name]: value }, `${name} of another kind`);
      }
    }
    for (const by of ['', 1, null]) refuses(excesses[0], 'by nobody', by);
    for (const kind of ['identity', 'label', 'parent is over', 'foreign subject', 'too many mounts', 'part of a tree'])
      refuses({ kind }, 'no supervisor can grant it');
  });
});
