import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import type { CommandChange } from '../../sdk/changes.js';
import { changeLines, counted, sizeText } from './change-text.js';
import type { Paint } from './output.js';

const plain: Paint = (_colour, text) => text;
const named: Paint = (colour, text) => `<${colour}>${text}</>`;

function change(path: string, more: Partial<CommandChange> = {}): CommandChange {
  const whole = { kind: 'added', type: 'file', mode: 0o644, size: 12, content: true, stamp: '', path, ...more };
  return whole as CommandChange;
}

describe('a change as people read it', () => {
  it('is its kind, its path and what is worth knowing of it', () => {
    const changes = [
      change('new.txt'),
      change('big.bin', { kind: 'modified', size: 1_234_567 }),
      change('run.sh', { kind: 'modified', mode: 0o755, content: false }),
      change('gone.txt', { kind: 'deleted' }),
      change('back.txt', { kind: 'restored' } as Partial<CommandChange>),
      change('lib', { type: 'directory', size: 0 }),
      change('link', { type: 'symlink' }),
      change('pipe', { type: 'fifo' }),
    ];
    assert.deepEqual(changeLines(changes, plain), [
      '  A new.txt  12 B',
      '  M big.bin  1.2 MB',
      '  M run.sh  mode 755',
      '  D gone.txt',
      '  R back.txt',
      '  A lib/',
      '  A link  symlink',
      '  A pipe  fifo',
    ]);
  });

  it('is coloured by its kind, the remark dimmed', () => {
    assert.deepEqual(changeLines([change('a')], named), ['  <green>A a</>  <dim>12 B</>']);
    const renamed = { ...change('a'), renamedFrom: 'b\n' };
    assert.deepEqual(changeLines([renamed], named), ['  <green>A a</>  <dim>12 B, renamed from b\\n</>']);
  });

  it("sums git's own files up in one line, first", () => {
    const changes = [
      change('a'),
      change('.git/index'),
      change(`.git/objects/aa/${'b'.repeat(38)}`),
      change('.gitignore'),
    ];
    assert.deepEqual(changeLines(changes, plain), ['  M .git/  2 paths', '  A a  12 B', '  A .gitignore  12 B']);
  });

  it('says how many are not shown', () => {
    const changes = Array.from({ length: 5 }, (_, index) => change(`f${index}`));
    assert.deepEqual(changeLines(changes, plain, 3).slice(2), ['  A f2  12 B', '  and 2 more: ctx diff']);
    assert.equal(changeLines(changes, plain, 3, '').at(-1), '  and 2 more');
    assert.equal(changeLines(changes, plain, 5).length, 5);
  });

  it('is one line without control characters, whatever an agent named the file', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (path) => {
        const lines = changeLines([change(path)], plain);
        assert.equal(lines.length, 1);
        assert.doesNotMatch(lines[0] ?? '', /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/);
      }),
      seeded(500),
    );
  });
});

describe('a size', () => {
  it('is said in the unit people think in', () => {
    assert.deepEqual([0, 999, 1000, 9949, 9950, 99_499, 999_499, 999_500, 2e9, 5e15].map(sizeText), [
      '0 B',
      '999 B',
      '1.0 kB',
      '9.9 kB',
      '10 kB',
      '99 kB',
      '999 kB',
      '1.0 MB',
      '2.0 GB',
      '5000 TB',
    ]);
  });

  it('never shrinks while the bytes grow, and never takes more than seven characters below a petabyte', () => {
    const value = (text: string) =>
      Number.parseFloat(text) * 1000 ** ['B', 'kB', 'MB', 'GB', 'TB'].indexOf(text.split(' ')[1] ?? '');
    const bytes = fc.oneof(
      fc.nat({ max: 2e6 }),
      fc.maxSafeNat().map((size) => size % 1e15),
    );
    fc.assert(
      fc.property(bytes, bytes, (one, other) => {
        const [small, large] = one < other ? [one, other] : [other, one];
        assert.ok(value(sizeText(small)) <= value(sizeText(large)));
        assert.ok(sizeText(large).length <= 7, sizeText(large));
      }),
      seeded(500),
    );
  });
});

describe('a count', () => {
  it('has its noun in the right number', () => {
    assert.deepEqual([counted(0, 'path'), counted(1, 'path'), counted(2, 'path')], ['0 paths', '1 path', '2 paths']);
  });
});
