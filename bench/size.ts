/**
 * Trees of every shape: each verb's time, processor time and peak memory, against `cp -a`, `find` and `rm -rf` of the same tree.
 *
 * Small by default; `CTX_BENCH_FULL=1` makes the trees those of an attack: an hour, and up to 60 GB of disk, one shape after the other.
 * `npm run bench -- size NAME` makes one. The peak is the most that one process had, of ctx and all that ended with it; the processor
 * time is that of all of them, and on a busy machine says more than the clock. What frees a store in the background is in neither.
 * `CTX_BENCH_DIRECTORY` is where the trees are made. A command that fails is followed by what it said: `cp` cannot copy paths that are
 * longer than the kernel takes, and `find -ls` walks from the top again for each entry that is deep: it has a limit of time.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Measured, measured } from './size/measured.js';
import { type Shape, shapesAt } from './size/shapes.js';

const base = process.env['CTX_BENCH_DIRECTORY'] ?? tmpdir();
const isJson = process.argv.includes('--json');
const program = resolve(import.meta.dirname, '../../../bin/ctx');
const walker = resolve(import.meta.dirname, '../../native/tree');

/** Seconds: after that a row is ended, and says so. */
const limits = { others: 120, ours: 1200 } as const;
/** What the issue of trees at any size allows a verb. */
const mostMegabytes = 200;

const verbs: readonly (readonly string[])[] = [
  ['status'],
  ['diff', '--names'],
  ['apply'],
  ['apply', '--undo'],
  ['checkpoint', 'save', 'here'],
  ['rollback', 'here'],
  ['fsck'],
  ['drop'],
  ['gc'],
];

/** No path of it may be longer than the kernel takes, which neither Node nor rm can delete: the walker of ours can. */
function removeTree(path: string): void {
  const { status, stderr } = spawnSync(walker, ['delete', path], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${path} stays: ${stderr}`);
}

function header(shape: Shape): void {
  if (isJson) return;
  const names = ['clock', 'processor', 'of cp -a'].map((name) => name.padStart(10)).join(' ');
  console.log(`\n${shape.name}\n  ${''.padEnd(26)} ${names} ${'peak'.padStart(9)}`);
}

function show(name: string, row: Measured, copy: number): void {
  if (isJson) return;
  const { seconds, processorSeconds, megabytes, code, said } = row;
  const columns = [`${seconds.toFixed(2)} s`, `${processorSeconds.toFixed(2)} s`];
  const times = [...columns, `${(processorSeconds / copy).toFixed(1)}x`].map((text) => text.padStart(10)).join(' ');
  const much = name.startsWith('ctx') && megabytes > mostMegabytes ? `  more than ${mostMegabytes} MB` : '';
  const end = code === 0 ? '' : `  ended with ${code}: ${said}`;
  console.log(`  ${name.padEnd(26)} ${times} ${`${megabytes.toFixed(0)} MB`.padStart(9)}${much}${end}`);
}

function rowsOf(shape: Shape): readonly (readonly [string, Measured])[] {
  const place = mkdtempSync(join(base, 'ctx-size-'));
  try {
    const [project, plain] = [join(place, 'project'), join(place, 'plain')];
    for (const directory of [project, plain]) mkdirSync(directory);
    writeFileSync(join(project, 'mine'), 'mine\n');
    const python = (script: string) => ['python3', '-c', `import os${script}`];
    const making = python(shape.script);
    const rows: [string, Measured][] = [];
    let copy = Number.NaN;
    const row = (name: string, cwd: string, argv: readonly string[], limit: number = limits.others) => {
      const found = measured(place, cwd, limit, argv);
      if (name === 'cp -a') copy = found.processorSeconds;
      rows.push([name, found]);
      show(name, found, copy);
    };
    header(shape);
    for (const directory of shape.before === undefined ? [] : [project, plain]) {
      measured(place, directory, limits.ours, python(shape.before ?? ''));
    }
    if (shape.deletes !== true) row('outside', plain, making, limits.ours);
    row('cp -a', place, ['cp', '-a', 'plain', 'copy'], limits.ours);
    // What an apply waits for, and cp does not.
    row('sync -f', place, ['sync', '-f', 'copy'], limits.ours);
    row('find', place, ['find', 'plain', '-ls']);
    if (shape.deletes === true) row('outside', plain, making);
    row('rm -rf', place, ['rm', '-rf', 'copy']);
    // The disk has to have room for what follows.
    for (const tree of ['copy', 'plain']) removeTree(join(place, tree));
    row('ctx exec', project, [program, 'exec', '--', ...making], limits.ours);
    for (const words of verbs) row(`ctx ${words.join(' ')}`, project, [program, ...words], limits.ours);
    return rows;
  } finally {
    removeTree(place);
  }
}

const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const chosen = shapesAt(base).filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.startsWith(word)));
const table = chosen.map((shape) => ({
  shape: shape.name,
  rows: rowsOf(shape).map(([name, row]) => ({ name, ...row })),
}));
if (isJson) console.log(JSON.stringify(table));
