import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CommandChange } from './changes.js';
import { renameCandidates, renamesAmong } from './renames.js';

const change = (kind: CommandChange['kind'], path: string, size: number, more: Partial<CommandChange> = {}) =>
  ({ kind, type: 'file', mode: 0o644, size, content: true, stamp: '', path, ...more }) as CommandChange;

describe('a renamed file', () => {
  it('is looked for among files that are gone and files that are new, of a size that both have', () => {
    const wanted = [change('deleted', 'a', 5), change('restored', 'b', 5), change('added', 'c', 5)];
    const others = [
      ...[change('deleted', 'd', 6), change('added', 'e', 7), change('added', 'f', 0), change('deleted', 'g', 0)],
      ...[
        change('modified', 'h', 5),
        change('restored', 'i', 5, { stamp: '1.2' }),
        change('added', 'j', 5, { type: 'symlink' }),
      ],
      change('deleted', 'k', 5, { type: 'directory', unlisted: 9 }),
    ];
    assert.deepEqual(renameCandidates([...others, ...wanted]), wanted);
    assert.deepEqual(renameCandidates(others), []);
  });

  it('has the content of the one that is gone: the same last name first, each of those once, and nothing that is unknown', () => {
    const file = (kind: 'added' | 'deleted', path: string, digest: string) => ({
      change: change(kind, path, 1),
      digest,
    });
    const files = [
      ...[file('deleted', 'old/one', 'x'), file('deleted', 'old/two', 'x'), file('deleted', 'lost', '')],
      ...[file('added', 'new/first', 'x'), file('added', 'new/one', 'x'), file('added', 'new/third', 'x')],
      ...[file('added', 'other', 'y'), file('added', 'unknown', '')],
    ];
    const found = [...renamesAmong(files)].map(([{ path }, from]) => [path, from]);
    assert.deepEqual(found, [
      ['new/one', 'old/one'],
      ['new/first', 'old/two'],
    ]);
  });
});
