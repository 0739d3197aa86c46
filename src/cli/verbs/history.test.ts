/** Checkpoints and forks as the verbs have them, one call after the other: what each prints, and what is refused. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Calls } from '../../../test/support/calls.js';

const calls = new Calls();
after(() => calls.end());

const shell = (text: string) => ['exec', '--', 'sh', '-c', text];
const automatic = { made: 'TIME', automatic: true, clashes: [] };
const file = { type: 'file', mode: 0o644, content: true, stamp: '' };

test('a fork has a checkpoint before each command and those that are asked for, and goes back to each', async () => {
  calls.write('a', 'one\n');
  const first = { id: 1, ...automatic, reason: 'sh -c echo more >> a' };
  const second = { id: 2, ...automatic, reason: 'sh -c echo new > n' };
  const own = { id: 3, name: 'before', made: 'TIME', automatic: false, reason: 'ctx checkpoint save', clashes: [] };
  const added = { ...file, kind: 'added', size: 4, path: 'n' };
  await calls.all([
    ['status', 'ENOENT'],
    ['checkpoint list', 'ENOENT'],
    [shell('echo more >> a'), 0],
    [shell('echo new > n'), 0],
    ['checkpoint save before', 0, 'saved checkpoint 3 before\n'],
    ['checkpoint save before', 'EEXIST'],
    ['checkpoint save 7', 'EINVAL'],
    ['checkpoint save', 0, { checkpoint: { ...own, id: 4, name: undefined } }],
    ['checkpoint delete 4', 0, 'deleted checkpoint 4\n'],
    [shell('rm a; ln -s n l'), 0],
    [
      'checkpoint list',
      0,
      { checkpoints: [first, second, own, { id: 5, ...automatic, reason: 'sh -c rm a; ln -s n l' }] },
    ],
    [
      'checkpoint info 2',
      0,
      '     2  TIME  before: sh -c echo new > n\n  3 changes since then\n  D a\n  A l  symlink\n  A n  4 B\n',
    ],
    [
      'checkpoint info before',
      0,
      {
        checkpoint: own,
        changes: [
          { ...file, kind: 'deleted', size: 9, path: 'a' },
          { ...file, kind: 'added', type: 'symlink', mode: 0o777, size: 1, path: 'l' },
        ],
      },
    ],
    ['checkpoint info nine', 'ENOENT'],
    ['rollback', 0, 'rolled back to 5: 2 changes undone, 2 pending\n  D a\n  A l  symlink\n'],
    ['rollback', 0, { to: second, undone: [added], unmatched: [], pending: 1, trees: [] }],
    ['rollback before n', 0, 'rolled back to 3 before: 1 change undone, 2 pending\n  D n\n'],
    ['rollback before n', 0, { to: { ...own, undone: true }, undone: [], unmatched: ['n'], pending: 2, trees: [] }],
    ['rollback 99', 'ENOENT'],
    [
      'checkpoint restore 1',
      0,
      {
        to: first,
        undone: [{ ...file, kind: 'modified', size: 9, path: 'a' }, added],
        unmatched: [],
        pending: 0,
        trees: [],
      },
    ],
    ['rollback', 'ENOENT'],
    ['checkpoint delete before', 0, 'deleted checkpoint 3 before\n'],
    ['checkpoint delete before', 'ENOENT'],
    ['checkpoint delete 2', 0, { deleted: { ...second, undone: true } }],
    [
      'checkpoint list',
      0,
      /^ {5}1 {2}TIME {2}before: sh -c echo more >> a\n {5}5 .* \(undone\)\n {5}6 {2}TIME {2}before: rollback to 5 {2}\(undone\)\n/,
    ],
  ]);
  assert.equal(calls.file('a'), 'one\n');
});

test('a fork is made of a fork, a checkpoint or the directory, is chosen, and is deleted', async () => {
  calls.enter('forks');
  const made = (name: string, from?: string) => ({
    ...{ name, current: false, created: 'TIME', layers: 1, checkpoints: 0 },
    ...(from === undefined ? {} : { from }),
  });
  const of = { origin: 'HERE', vault: 'ID', temporary: { bytes: 0, files: 0 }, freeing: 0, running: [], waiting: 0 };
  await calls.all([
    [shell('echo idea > i'), 0],
    ['fork create idea', 0, 'made fork idea of main: ctx exec --fork idea, ctx fork use idea\n'],
    ['fork create idea', 'EEXIST'],
    ['fork create', 0, { fork: 'fork-1', from: 'main', problems: [] }],
    ['fork create clean --from origin', 0, { fork: 'clean', from: null, problems: [] }],
    ['fork create old --from main@1', 0, { fork: 'old', from: 'main@1', problems: [] }],
    ['fork create older --from @1', 0, 'made fork older of main@1: ctx exec --fork older, ctx fork use older\n'],
    ['fork create x --from nine', 'ENOENT'],
    ['fork create x --from main@99', 'ENOENT'],
    ['fork create a/b', 'EINVAL'],
    ['diff --names --fork idea', 0, '  A i  5 B\n'],
    ['diff --names --fork clean', 0],
    ['diff --names --fork nine', 'ENOENT'],
    ['fork info', 0, /^main, 2 layers\n {2}1 change, 0 clashes, \d checkpoints?\n$/],
    ['fork info idea', 0, { ...made('idea', 'main'), ...of, layers: 2, fork: 'idea', changes: 1, clashes: [] }],
    ['fork info clean', 0, { ...made('clean'), ...of, fork: 'clean', changes: 0, clashes: [] }],
    ['fork info nine', 'ENOENT'],
    ['fork use idea', 0, 'commands here now work on fork idea\n'],
    [shell('rm i'), 0],
    ['diff --names', 0],
    ['diff --names --fork main', 0, '  A i  5 B\n'],
    ['fork use nine', 'ENOENT'],
    ['fork use main', 0, { current: 'main' }],
    ['fork delete main', 'EINVAL'],
    ['fork delete clean', 0, 'deleted fork clean\n'],
    ['fork delete old', 0, { deleted: 'old' }],
    ['fork delete nine', 'ENOENT'],
    ['fork delete older', 0, /./],
    [
      'fork list',
      0,
      /^ {2}fork-1 {2}of main {2}0 checkpoints\n {2}idea {2}of main {2}1 checkpoint\n\* main {2}\d+ checkpoints?\n$/,
    ],
  ]);
  const { forks } = JSON.parse((await calls.run(['fork', 'list', '--json'])).stdout);
  assert.deepEqual(
    forks.map(({ name, current }: { name: string; current: boolean }) => [name, current]),
    [
      ['fork-1', false],
      ['idea', false],
      ['main', true],
    ],
  );
});
