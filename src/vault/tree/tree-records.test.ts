/** Each record of an apply, wherever the person has left its place by then: what is told, and what is there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { freshPlace, program } from './tree-fixture.js';
import { splitFields } from './tree-program.js';

const { at, write } = freshPlace();
const path = 'a/b/f';

/** What becomes of the place, which was as it was looked at. */
const places: Readonly<Record<string, () => void>> = {
  'as it was': () => undefined,
  'without the file': () => rmSync(at('origin/a/b/f')),
  'without its directory': () => rmSync(at('origin/a/b'), { recursive: true }),
  'without the one above': () => rmSync(at('origin/a'), { recursive: true }),
  'below a file': () => {
    rmSync(at('origin/a/b'), { recursive: true });
    writeFileSync(at('origin/a/b'), '');
  },
  'far below a file': () => {
    rmSync(at('origin/a'), { recursive: true });
    writeFileSync(at('origin/a'), '');
  },
  'below a link': () => {
    renameSync(at('origin/a/b'), at('outside'));
    symlinkSync(at('outside'), at('origin/a/b'));
  },
  'far below a link': () => {
    renameSync(at('origin/a'), at('outside'));
    symlinkSync(at('outside'), at('origin/a'));
  },
};

function run(input: readonly string[], words: readonly string[] = []) {
  const all = ['apply', '--upper', at('upper'), '--to', at('origin'), ...words];
  const { status, stdout, stderr } = spawnSync(program, all, { input: input.map((each) => `${each}\0`).join('') });
  return { status, told: splitFields(stdout), why: splitFields(stderr) };
}
function make(place: string): void {
  for (const side of ['origin', 'kept', 'upper', 'outside']) rmSync(at(side), { recursive: true, force: true });
  for (const side of ['origin', 'kept']) write(`${side}/${path}`, 'old');
  write(`upper/${path}`, 'new');
  places[place]?.();
}
const outside = (place: string) =>
  place.endsWith('a link') ? readFileSync(at('outside', place.startsWith('far') ? 'b/f' : 'f'), 'utf8') : 'old';

describe('a record of an apply', () => {
  const putting = ['put', 'keep', 'age'];
  const silent = ['touch', 'weigh', 'know', 'sweep'];

  it('is done where the place is as it was looked at, or has nothing to be removed; else it is a clash', () => {
    for (const place of Object.keys(places)) {
      for (const action of [...putting, 'remove', ...silent]) {
        make(place);
        const { status, told, why } = run([action, path], ['--layer', at('kept'), '--forward']);
        const what = `${action}, ${place}: ${told.join(' ')} ${why.join(' ')}`;
        assert.equal(status, 0, what);
        const verdict = place === 'as it was' || action === 'remove' ? 'done' : 'clash';
        // At the end comes the time that later times follow.
        assert.deepEqual(told.slice(0, -2), silent.includes(action) ? [] : [path, verdict], what);
        assert.equal(outside(place), 'old', what);
        if (place === 'as it was' && putting.includes(action))
          assert.equal(readFileSync(at('origin', path), 'utf8'), 'new', what);
      }
    }
  });

  it('fails where the directory of the place is missing, if nothing was looked at; what is to go is gone', () => {
    for (const place of Object.keys(places)) {
      const isThere = ['as it was', 'without the file'].includes(place);
      for (const action of [...putting, 'remove']) {
        make(place);
        const { status, told, why } = run([action, path]);
        const what = `${action}, ${place}: ${told.join(' ')} ${why.join(' ')}`;
        if (isThere || action === 'remove') {
          assert.deepEqual({ status, told, why }, { status: 0, told: [path, 'done'], why: [] }, what);
        } else {
          const [code = '', ...rest] = why;
          assert.deepEqual([status, told, rest], [1, [], ['open parent', path]], what);
          assert.ok((place.includes('without') ? ['ENOENT'] : ['ENOTDIR', 'ELOOP']).includes(code), what);
        }
        assert.equal(outside(place), 'old', what);
      }
    }
  });

  it('is refused where it is of no kind, has no path, or one that leaves the tree', () => {
    make('as it was');
    mkdirSync(at('upper/d'));
    const refused: readonly (readonly [readonly string[], string])[] = [
      [['none', path], path],
      [['', path], path],
      [['put'], ''],
      [['put', path, 'remove'], ''],
      ...[...putting, 'remove', ...silent].flatMap((action) =>
        ['../f', '/f', 'a/../f', '', 'a//f', ...(action === 'put' ? [] : ['.'])].map(
          (wrong) => [[action, wrong], wrong] as const,
        ),
      ),
    ];
    for (const [input, wrong] of refused) {
      const { status, why } = run(input, ['--layer', at('kept')]);
      assert.deepEqual([status, why], [1, ['EINVAL', 'apply', wrong]], input.join(' '));
    }
  });
});
