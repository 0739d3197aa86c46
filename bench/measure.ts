/**
 * Measures several subjects against one anchor, in one run.
 *
 * Rounds are interleaved (each subject once a round, the order turning), so that a machine that slows down slows all of
 * them. What is compared is medians; the ratio to the anchor is what a claim rests on, not the times.
 */

import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { availableParallelism, loadavg, release, tmpdir } from 'node:os';

export interface Subject {
  readonly name: string;
  /** What is timed. */
  readonly run: () => unknown;
  /** Runs before each timed run, untimed. */
  readonly before?: () => unknown;
  /** Runs after each timed run, untimed. */
  readonly after?: () => unknown;
  /** Runs of this one alone before the first round: code that is called all day long is measured warm. */
  readonly warmUpRuns?: number;
}

export interface Measurement {
  /** The claim, in one line. */
  readonly title: string;
  /** The name of the subject that ratios are against. */
  readonly anchor: string;
  readonly subjects: readonly Subject[];
  readonly rounds: number;
  readonly warmUpRounds?: number;
  /** The directory the subjects work in: its filesystem is stated. */
  readonly directory?: string;
  /** Whatever a reader has to know to believe the numbers. */
  readonly notes?: readonly string[];
}

export interface Result {
  readonly name: string;
  readonly median: number;
  readonly p90: number;
  readonly minimum: number;
  readonly ratio: number;
}

export interface MachineFacts {
  readonly processors: number;
  readonly architecture: string;
  readonly kernel: string;
  readonly node: string;
  readonly directory: string;
  readonly filesystem: string;
  /** Of the last minute, before the first run and after the last one: what others did meanwhile makes part of each number. */
  readonly load: readonly [before: number, after: number];
}

export interface Report {
  readonly title: string;
  readonly anchor: string;
  readonly rounds: number;
  readonly machine: MachineFacts;
  readonly notes: readonly string[];
  readonly unit: 'ms';
  readonly results: readonly Result[];
}

export async function measure(measurement: Measurement): Promise<Report> {
  const { subjects, anchor, rounds, warmUpRounds = 2 } = measurement;
  if (!subjects.some(({ name }) => name === anchor)) throw new Error(`the anchor '${anchor}' is not a subject`);
  const load = loadOfMinute();
  const times = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
  for (const subject of subjects) {
    for (let run = 0; run < (subject.warmUpRuns ?? 0); run += 1) await time(subject);
  }
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    const turn = ((round % subjects.length) + subjects.length) % subjects.length;
    for (const subject of [...subjects.slice(turn), ...subjects.slice(0, turn)]) {
      const elapsed = await time(subject);
      if (round >= 0) times.get(subject.name)?.push(elapsed);
    }
  }
  const base = quantile(times.get(anchor) ?? [], 0.5);
  return {
    title: measurement.title,
    anchor,
    rounds,
    machine: machineFacts(measurement.directory ?? tmpdir(), load),
    notes: measurement.notes ?? [],
    unit: 'ms',
    results: [...times].map(([name, values]) => ({
      name,
      median: quantile(values, 0.5),
      p90: quantile(values, 0.9),
      minimum: quantile(values, 0),
      ratio: quantile(values, 0.5) / base,
    })),
  };
}

async function time({ run, before, after }: Subject): Promise<number> {
  await before?.();
  const started = performance.now();
  const outcome = run();
  // Awaiting what is not a promise would charge a turn of the loop to a synchronous subject.
  if (outcome instanceof Promise) await outcome;
  const elapsed = performance.now() - started;
  await after?.();
  return elapsed;
}

/** By linear interpolation between the two nearest values. */
export function quantile(values: readonly number[], fraction: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  const place = (sorted.length - 1) * fraction;
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}

/** Prints the report as a table, or as JSON where the command line has `--json`. */
export function print(report: Report, json = process.argv.includes('--json')): void {
  process.stdout.write(json ? `${JSON.stringify(report, undefined, 2)}\n` : table(report));
}

export function table(report: Report): string {
  const { processors, architecture, kernel, node, directory, filesystem, load } = report.machine;
  const rows = report.results.map(({ name, median, p90, minimum, ratio }) => [
    name === report.anchor ? `${name} (anchor)` : name,
    milliseconds(median),
    `${ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2)}x`,
    `${milliseconds(minimum)} .. ${milliseconds(p90)}`,
  ]);
  const header = ['', 'median', 'ratio', 'minimum .. p90'];
  const widths = header.map((title, column) =>
    Math.max(...[header, ...rows].map((row) => (row[column] ?? title).length)),
  );
  const lines = [header, ...rows].map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  return [
    report.title,
    '',
    ...lines.map((line) => `  ${line.trimEnd()}`),
    '',
    `${report.rounds} interleaved rounds; ${processors} processors, ${architecture}, Linux ${kernel}, Node ${node}; ${filesystem} at ${directory}`,
    `load ${load.map((value) => value.toFixed(1)).join(' before, ')} after`,
    ...report.notes,
    '',
  ].join('\n');
}

function milliseconds(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} ms`;
}

const filesystemNames: Readonly<Record<number, string>> = {
  61267: 'ext4',
  16914836: 'tmpfs',
  2435016766: 'btrfs',
  1481003842: 'xfs',
  2035054128: 'overlayfs',
  801189825: 'zfs',
  26985: 'nfs',
};

const loadOfMinute = () => loadavg()[0] ?? Number.NaN;

function machineFacts(directory: string, before: number): MachineFacts {
  const { type } = statfsSync(directory);
  return {
    processors: availableParallelism(),
    architecture: process.arch,
    kernel: release(),
    node: process.versions.node,
    directory,
    filesystem: filesystemNames[type] ?? `filesystem 0x${type.toString(16)}`,
    load: [before, loadOfMinute()],
  };
}

/** For subjects that start processes: without what makes Node start slowly on some machines and not on others. */
export function coldStartEnvironment(): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS: _certificates, NODE_OPTIONS: _options, ...environment } = process.env;
  return environment;
}

export const coldStartNote = 'Processes are started without NODE_EXTRA_CA_CERTS and NODE_OPTIONS.';

/** A subject that starts a program, waits for its end, and fails where it fails. */
export function program(name: string, command: string, args: readonly string[], directory?: string): Subject {
  const env = coldStartEnvironment();
  return {
    name,
    run: () => execFileSync(command, args, { env, cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] }),
  };
}
