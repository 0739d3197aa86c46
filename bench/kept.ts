/**
 * Many kept jails of one user: processes, memory in total, the time of a start, and of a command in the first and the last.
 *
 * Memory is PSS of everything that the kept jails consist of, so that shared pages count once. `CTX_BENCH_JAILS=1,10` asks for other
 * numbers. The times are those of `bin/ctx`, median of 15; `bench/proxy` holds a command in a kept jail against others.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { familyOf, memoryOf, readProcessTable } from '../src/base/process-table.js';
import { ctxProgram, setStage } from './stage/stage.js';

const counts = (process.env['CTX_BENCH_JAILS'] ?? '1,10,30,100').split(',').map(Number);
const rounds = 15;

interface Listed {
  readonly jails: readonly { readonly pid: number; readonly keeper?: number }[];
}

function median(times: readonly number[]): number {
  return [...times].sort((left, right) => left - right)[Math.floor(times.length / 2)] ?? Number.NaN;
}

const stage = setStage('kept');

function ctx(cwd: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(ctxProgram, words, { cwd, env: stage.environment, encoding: 'utf8' });
  if (status !== 0) throw new Error(`ctx ${words.join(' ')}: ${status} ${stderr}`);
  return stdout;
}

function timed(act: () => unknown): number {
  const start = performance.now();
  act();
  return performance.now() - start;
}

function cost(): { readonly processes: number; readonly bytes: number } {
  const { jails } = JSON.parse(ctx(stage.project, 'jail', 'list', '--json')) as Listed;
  const table = readProcessTable();
  const all = [...new Set(jails.flatMap(({ pid, keeper }) => familyOf(table, keeper ?? pid)))];
  return { processes: all.length, bytes: all.reduce((sum, pid) => sum + memoryOf(pid), 0) };
}

const projects: string[] = [];

function startUpTo(count: number): readonly number[] {
  const times: number[] = [];
  while (projects.length < count) {
    const project = join(stage.project, String(projects.length));
    mkdirSync(project);
    projects.push(project);
    times.push(timed(() => ctx(project, 'jail', 'start')));
  }
  return times;
}

function commandIn(project: string | undefined): number {
  const run = () => ctx(project ?? '', 'jail', 'exec', '--', 'true');
  run();
  return median(Array.from({ length: rounds }, () => timed(run)));
}

try {
  console.log(
    '| kept jails | processes | PSS, MB | MB each | a start, ms | a command in the first, ms | in the last, ms |',
  );
  console.log('|---|---|---|---|---|---|---|');
  for (const count of counts) {
    const starts = startUpTo(count);
    const [first, last] = [commandIn(projects[0]), commandIn(projects.at(-1))];
    const { processes, bytes } = cost();
    const mega = bytes / 2 ** 20;
    const cells = [count, processes, mega.toFixed(1), (mega / count).toFixed(2), median(starts).toFixed(0)];
    console.log(`| ${[...cells, first.toFixed(1), last.toFixed(1)].join(' | ')} |`);
  }
} finally {
  for (const project of projects) ctx(project, 'jail', 'stop');
  stage.end();
}
