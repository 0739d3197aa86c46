import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { changesBetween } from './fork.js';
import type { Change } from './tree.js';

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('added' as const, 'modified' as const, 'deleted' as const),
  type: fc.constantFrom('file' as const, 'directory' as const, 'symlink' as const),
  mode: fc.constantFrom(0o644, 0o755),
  size: fc.nat({ max: 1 }),
  content: fc.boolean(),
  stamp: fc.constantFrom('', '1.1', '1.2'),
  path: fc.constantFrom('a', 'b', 'a/b', 'a b', 'ü\n'),
});
const list = fc.uniqueArray(change, { selector: ({ path }) => path });

const one: Change = {
  kind: 'modified',
  type: 'file',
  mode: 0o644,
  size: 5,
  content: true,
  stamp: '7.100',
  path: 'src/a.ts',
};

describe('what one command changed', () => {
  it('is nothing where the fork holds what it held before', () => {
    fc.assert(
      fc.property(list, (changes) => {
        assert.deepEqual(changesBetween(changes, [...changes]), []);
      }),
      seeded(100),
    );
  });

  it('is everything where the fork held nothing before', () => {
    fc.assert(
      fc.property(list, (changes) => {
        assert.deepEqual(changesBetween([], changes), changes);
      }),
      seeded(100),
    );
  });

  it('is, path by path, what is new, other or gone', () => {
    fc.assert(
      fc.property(list, list, (before, after) => {
        const found = changesBetween(before, after);
        assert.equal(new Set(found.map(({ path }) => path)).size, found.length);
        const at = (changes: readonly Change[], path: string) => changes.find((each) => each.path === path);
        for (const path of new Set([...before, ...after].map((each) => each.path))) {
          const [old, now] = [at(before, path), at(after, path)];
          const reported = found.find((each) => each.path === path);
          if (now === undefined) assert.deepEqual(reported, { ...old, kind: 'restored' });
          else if (JSON.stringify(old) === JSON.stringify(now)) assert.equal(reported, undefined);
          else assert.deepEqual(reported, now);
        }
      }),
      seeded(500),
    );
  });

  it('includes a file written again to the same size', () => {
    const again = { ...one, stamp: '7.200' };
    assert.deepEqual(changesBetween([one], [again]), [again]);
  });

  it('includes a file put back as the directory has it', () => {
    assert.deepEqual(changesBetween([one], []), [{ ...one, kind: 'restored' }]);
  });
});
