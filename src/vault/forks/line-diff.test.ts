import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { testSeed } from '../../../test/support/random.js';
import { hunks, type LineEdit, lineEdits, linesOf } from './line-diff.js';

const text = fc
  .array(fc.constantFrom('a\n', 'b\n', 'c\n', '\n', 'long line\n'), { maxLength: 30 })
  .map((lines) => lines.join(''));

const side = (edits: readonly LineEdit[], without: LineEdit['kind']) =>
  edits
    .filter(({ kind }) => kind !== without)
    .map(({ line }) => line)
    .join('');

describe('line diff', () => {
  it('gives both texts back, with nothing but the shortest edit', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const edits = lineEdits(linesOf(before), linesOf(after));
        assert.equal(side(edits, 'added'), before);
        assert.equal(side(edits, 'removed'), after);
        const kept = edits.filter(({ kind }) => kind === 'same').length;
        assert.equal(kept, longestCommon(linesOf(before), linesOf(after)));
      }),
      { seed: testSeed },
    );
  });

  it('cuts the changed places out with three lines around them', () => {
    const before = Array.from({ length: 20 }, (_, index) => `${index}\n`);
    const after = before.map((line) => (line === '10\n' ? 'ten\n' : line));
    const [hunk, ...rest] = hunks(lineEdits(before, after));
    assert.deepEqual(rest, []);
    assert.deepEqual([hunk?.beforeStart, hunk?.beforeCount, hunk?.afterStart, hunk?.afterCount], [8, 7, 8, 7]);
  });

  it('numbers an added file from line 0 as diff -u does', () => {
    const [hunk] = hunks(lineEdits([], ['x\n']));
    assert.deepEqual([hunk?.beforeStart, hunk?.beforeCount, hunk?.afterStart, hunk?.afterCount], [0, 0, 1, 1]);
  });

  it('stays quick on texts that share nothing', () => {
    const lines = (prefix: string) => Array.from({ length: 20_000 }, (_, index) => `${prefix}${index}\n`);
    const edits = lineEdits(lines('a'), lines('b'));
    assert.equal(edits.length, 40_000);
  });
});

function longestCommon(a: readonly string[], b: readonly string[]): number {
  const row = new Array<number>(b.length + 1).fill(0);
  for (const line of a) {
    let diagonal = 0;
    for (let index = 1; index <= b.length; index += 1) {
      const above = row[index] ?? 0;
      row[index] = line === b[index - 1] ? diagonal + 1 : Math.max(above, row[index - 1] ?? 0);
      diagonal = above;
    }
  }
  return row[b.length] ?? 0;
}
