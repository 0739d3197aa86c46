/** Lists of changes in which directories that are new, or gone, as a whole are one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { heldOfTree } from '../../base/limits/store.js';
import { TreeFolder } from './fold-trees.js';
import type { Change, FoldedChange } from './tree-jobs.js';

const change = (path: string, kind: Change['kind'] = 'added'): Change => {
  const type = path.endsWith('/') ? 'directory' : 'file';
  return { kind, type, mode: 0o644, size: 0, content: true, stamp: '', path: path.replace(/\/$/, '') };
};

const rules = {
  least: 2,
  most: 1_000_000,
  isPlain: ({ path }: Change) => !path.includes('odd'),
  isProduct: (path: string) => path.endsWith('.o'),
};

const shown = ({ path, tree }: FoldedChange) =>
  tree === undefined ? path : `${path}/ ${tree.entries}${tree.products ? ' products' : ''}`;

function folded(changes: readonly Change[], mixed?: ReadonlySet<string>, more: Partial<typeof rules> = {}) {
  const folder = new TreeFolder({ ...rules, ...more }, mixed);
  for (const each of changes) folder.take(each);
  return { list: folder.end().map(shown), lost: [...folder.lost] };
}

describe('folding', () => {
  it('makes one change of a new directory with all below it, and of one that is gone', () => {
    const gone = ['g/', 'g/x', 'g/y'].map((path) => change(path, 'deleted'));
    const list = [...['d/', 'd/a', 'd/e/', 'd/e/b.o', 'd/e/c', 'd.txt'].map((path) => change(path)), ...gone];
    assert.deepEqual(folded(list), { list: ['d/ 4 products', 'd.txt', 'g/ 2'], lost: [] });
  });

  it('leaves small directories, and those that were there, as they are', () => {
    const list = [change('m/', 'modified'), change('m/a'), change('m/b'), change('s/'), change('s/a')];
    assert.deepEqual(folded(list).list, ['m', 'm/a', 'm/b', 's', 's/a']);
  });

  it('lists what is not plain, and the directories that hold it, and folds the others', () => {
    const list = ['d/', 'd/a/', 'd/a/1', 'd/a/2', 'd/b/', 'd/b/odd', 'd/c/', 'd/c/1', 'd/c/2', 'd/z'];
    assert.deepEqual(folded(list.map((path) => change(path))).list, ['d', 'd/a/ 2', 'd/b', 'd/b/odd', 'd/c/ 2', 'd/z']);
  });

  it('folds nothing of which not all is listed', () => {
    const list = [change('d/'), { ...change('d/deep/'), unlisted: 9 }, change('d/x'), change('d/y')];
    assert.deepEqual(folded(list).list, ['d', 'd/deep', 'd/x', 'd/y']);
  });

  it('folds no directory that is itself not plain', () => {
    assert.deepEqual(folded(['odd/', 'odd-not/', 'odd/1'].map((path) => change(path))).list, [
      'odd',
      'odd-not',
      'odd/1',
    ]);
  });

  it('lets the entries of a large one go, and says so where one of them was needed', () => {
    const many = Array.from({ length: heldOfTree + 5 }, (_, at) => change(`w/${at}`));
    assert.deepEqual(folded([change('w/'), ...many], undefined, { most: heldOfTree + 1 }), {
      list: [`w/ ${heldOfTree + 5}`],
      lost: [],
    });
    const late = [change('w/'), ...many, change('w/odd')];
    assert.deepEqual(folded(late).lost, ['w']);
    const again = folded(late, new Set(['w']));
    assert.deepEqual([again.lost, again.list.length], [[], heldOfTree + 7]);
  });

  it('refuses a list that is longer than memory allows', () => {
    const list = Array.from({ length: 20 }, (_, at) => change(`f${at}`));
    assert.throws(() => folded(list, undefined, { most: 10 }), { code: 'E2BIG' });
  });
});
