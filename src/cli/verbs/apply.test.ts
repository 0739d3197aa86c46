/** `ctx diff`, `apply` and `drop`: what each shows and writes, what is refused with nothing written, and the exit code of each end. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { Calls } from '../../../test/support/calls.js';

const calls = new Calls();
after(() => calls.end());

const workflow = '.github/workflows/w.yml';
const shell = (text: string) => ['exec', '--', 'sh', '-c', text];
const put = (path: string) => ({ action: 'put', path });
const remove = (path: string) => ({ action: 'remove', path });
const held =
  /^ {2}1 change held back, still in the fork:\n {4}\.github\/workflows\/w\.yml {2}.+\n {2}try: .*--allow-sensitive\n$/;

let projects = 0;
beforeEach(() => calls.enter(`project-${projects++}`));

/** Everything that the fork changed: what both did, a deletion, and a file that a program obeys. */
async function changed(): Promise<void> {
  for (const [name, text] of Object.entries({ a: 'one\n', b: 'two\n', 'd/c': 'x\n' })) calls.write(name, text);
  const script = `echo fork > a; echo fork > b; echo n > d/n; rm d/c; mkdir -p .github/workflows; echo on > ${workflow}`;
  await calls.check([shell(script), 0]);
}

const nothing = {
  ...{ done: false, complete: false, applied: [], conflicts: ['a', 'b'], aside: [], unmatched: [], problems: [] },
  ...{ heldBack: [workflow], withheld: [workflow], heldUnits: [] },
  sensitive: [{ path: workflow, why: 'a build server runs it' }],
};
const partial = { withheld: [], conflicts: [], heldBack: ['.github', '.github/workflows', workflow, 'a', 'b'] };
const quiet = [remove('d/c'), put('.github'), put('.github/workflows')];

test('a diff shows every change by line or by name, of all paths or some, since any checkpoint', async () => {
  calls.write('a', 'one\n');
  calls.write('gone', '1\n');
  const diff = (name: string, mode: string, from: string, to: string, lines: string) =>
    `diff --git a/${name} b/${name}\n${mode}--- ${from}\n+++ ${to}\n${lines}`;
  const a = diff('a', '', 'a/a', 'b/a', '@@ -1,1 +1,2 @@\n one\n+more\n');
  const gone = diff('gone', 'deleted file mode 100644\n', 'a/gone', '/dev/null', '@@ -1,1 +0,0 @@\n-1\n');
  const n = diff('n', 'new file mode 100644\n', '/dev/null', 'b/n', '@@ -0,0 +1,1 @@\n+new\n');
  const change = { type: 'file', mode: 0o644, content: true, stamp: '' };
  await calls.all([
    [shell('echo more >> a; rm gone'), 0],
    [shell('echo new > n'), 0],
    ['diff', 0, a + gone + n],
    ['diff --full', 0, a + gone + n],
    ['diff --no-pager', 0, a + gone + n],
    ['diff n', 0, n],
    ['diff n a --full', 0, a + n],
    ['diff nosuch', 0],
    ['diff --since 2', 0, n],
    ['diff --since 99', 'ENOENT'],
    ['diff --names', 0, '  M a  9 B\n  D gone\n  A n  4 B\n'],
    ['diff --names n', 0, '  A n  4 B\n'],
    ['diff --names --since 2', 0, '  A n  4 B\n'],
    [
      'diff --since 2',
      0,
      {
        ...{ origin: 'HERE', vault: 'ID', fork: 'main', layers: 2, clashes: [], checkpoints: 2 },
        ...{ temporary: { bytes: 0, files: 0 }, freeing: 0, running: [], waiting: 0 },
        changes: [{ ...change, kind: 'added', size: 4, path: 'n' }],
      },
    ],
    [
      'status',
      0,
      'HERE\n  fork      main of vault ID, on 2 layers\n  pending   3 changes: ctx diff, ctx apply, ctx drop\n',
    ],
    [
      'status',
      0,
      {
        ...{ origin: 'HERE', vault: 'ID', fork: 'main', layers: 2, clashes: [], checkpoints: 2, changes: 3 },
        ...{ temporary: { bytes: 0, files: 0 }, freeing: 0, running: [], waiting: 0 },
      },
    ],
    ['drop', 0, { dropped: 3 }],
    ['drop', 0, 'dropped 0 changes\n'],
    ['diff', 0],
    ['status', 0, /\n {2}pending {3}nothing\n$/],
    [shell('echo temporary > /tmp/t; echo 2 > n'), 0],
    ['status', 0, /\n {2}pending {3}1 change: .*\n {2}\/tmp {6}1 file, \S+ \S+: kept until ctx drop\n$/],
    ['drop', 0, 'dropped 1 change\n'],
  ]);
});

test('a path that both changed is a conflict: nothing is written until a side is chosen for each', async () => {
  await changed();
  calls.write('a', 'mine\n');
  calls.write('b', 'mine\n');
  await calls.all([
    ['apply', 1, '', /^ctx: apply: .* 2 paths; .*\(EBUSY\)\n {2}a\n {2}b\n {2}try: .*\n {2}1 change held back/],
    ['apply', 1, { ...nothing, planned: [...quiet, put('d/n')] }],
    ['status', 0, /\n {2}conflict {2}.* a\n {2}conflict {2}.* b\n$/],
    [
      'apply --dry-run',
      1,
      '  remove d/c\n  put .github\n  put .github/workflows\n  put d/n\n  conflict a\n  conflict b\n4 steps, nothing was written\n',
      held,
    ],
    ['apply --dry-run --conflicts ours', 3, { ...nothing, planned: [...quiet, put('d/n')] }],
    ['apply --dry-run --conflicts theirs', 3, { ...nothing, planned: [...quiet, put('a'), put('b'), put('d/n')] }],
    ['apply --dry-run --ours a', 1, { ...nothing, planned: [...quiet, put('d/n')] }],
    ['apply --dry-run --ours a d', 0, { ...nothing, complete: true, ...partial, planned: [remove('d/c'), put('d/n')] }],
    ['apply --conflicts both', 'EINVAL'],
  ]);
  assert.equal(calls.file('a'), 'mine\n');
  assert.equal(calls.file('d/c'), 'x\n');
  assert.equal(calls.file('d/n'), undefined);
  await calls.check([
    'apply --ours a --theirs b',
    3,
    { ...nothing, done: true, applied: [...quiet, put('b'), put('d/n')] },
  ]);
  assert.deepEqual(
    ['a', 'b', 'd/c', 'd/n', workflow].map((name) => calls.file(name)),
    [...['mine\n', 'fork\n', undefined, 'n\n', undefined]],
  );
  await calls.all([
    ['apply', 3, 'applied 0 changes\n', held],
    ['apply nosuch', 0, 'applied 0 changes\n', /^ {2}nothing is pending at nosuch\n$/],
    ['apply --allow-sensitive', 0, /^applied \d changes?\n$/],
  ]);
  assert.equal(calls.file(workflow), 'on\n');
});

test('what only the person may change is held back without a word of how to allow it', async () => {
  const note = (last: string) =>
    new RegExp(`2 changes held back, still in the fork:\\n {4}\\.ctx/.+\\n {4}.+\\n {2}try: .*${last}.*\\n$`);
  await calls.all([
    [shell(`mkdir -p .ctx; echo 'hosts = ["any"]' > .ctx/project.toml`), 0],
    [
      'apply',
      3,
      'applied 0 changes\n',
      /1 change held back, still in the fork:\n.+\n {2}try: .*change \.ctx yourself.*\n$/,
    ],
    [shell(`mkdir -p .github/workflows; echo on > ${workflow}`), 0],
    ['apply', 3, 'applied 2 changes\n', note('ctx apply --allow-sensitive')],
  ]);
  assert.equal(calls.file('.ctx/project.toml'), undefined);
});

test('what is left as yours is counted, and the rest is applied', async () => {
  await changed();
  calls.write('a', 'mine\n');
  await calls.check(['apply --conflicts ours', 3, 'applied 5 changes, 1 path left as yours\n', held]);
  assert.deepEqual([calls.file('a'), calls.file('b')], ['mine\n', 'fork\n']);
});

test('an undo takes back the whole of the last apply, and nothing that was saved since', async () => {
  await changed();
  const taken = { done: true, conflicts: [], left: [], aside: [], problems: [], later: null };
  await calls.all([
    ['apply --undo', 'ENOENT'],
    ['apply d', 0, 'applied 2 changes\n'],
    ...[
      '--dry-run',
      '--to x',
      'd',
      '--conflicts theirs',
      '--conflicts refuse',
      '--ours a',
      '--theirs a',
      '--allow-sensitive',
    ].map((extra) => [`apply --undo ${extra}`, 'EINVAL'] as const),
  ]);
  assert.equal(calls.file('d/n'), 'n\n');
  await calls.check(['apply --undo', 0, { ...taken, undone: [remove('d/n'), put('d/c')], pending: 7 }]);
  assert.deepEqual([calls.file('d/n'), calls.file('d/c')], [undefined, 'x\n']);
  await calls.all([
    ['apply d', 0, 'applied 2 changes\n'],
    ['apply --undo', 0, 'undone 2 steps, 7 pending again\n'],
    ['apply d', 0, 'applied 2 changes\n'],
  ]);
  calls.write('d/n', 'later\n');
  await calls.all([
    ['apply --undo', 1, '', /^ctx: apply --undo: .* 1 path .*\(EBUSY\)\n {2}d\/n\n {2}try: .*\n$/],
    ['apply --undo', 1, { ...taken, done: false, undone: [], conflicts: ['d/n'], pending: 5 }],
    [
      'apply --undo --conflicts ours',
      0,
      'undone 1 step, 7 pending again\n',
      /^ {2}left as you saved it, .*:\n {4}d\/n\n$/,
    ],
  ]);
  assert.deepEqual([calls.file('d/n'), calls.file('d/c')], ['later\n', 'x\n']);
});

test('what commands changed since an apply goes with its undo, which says how it comes back', async () => {
  await changed();
  await calls.all([
    ['apply d', 0, 'applied 2 changes\n'],
    [shell('echo later > l'), 0],
    ['apply --undo', 0, /^undone 2 steps, 7 pending again\n.* ctx rollback 4 .*\n$/],
    ['rollback 4', 0, /./],
    ['diff --names l', 0, '  A l  6 B\n'],
  ]);
});

test('changes are written into another directory, where what differs is a conflict', async () => {
  await changed();
  const out = join(calls.directory, `out-${projects}`);
  await calls.check([['apply', '--to', out], 'ENOENT']);
  mkdirSync(out);
  await calls.all([
    [['apply', '--to', out], 1, '', /^ctx: apply: .* 2 paths; .*\(EBUSY\)\n/],
    [['apply', '--to', out, '--conflicts', 'theirs', 'a'], 0, 'applied 1 change\n'],
  ]);
  assert.equal(readFileSync(join(out, 'a'), 'utf8'), 'fork\n');
  assert.equal(calls.file('a'), 'one\n');
  await calls.all([
    ['apply --undo', 'ENOENT'],
    ['status', 0, /pending {3}7 changes/],
  ]);
});
