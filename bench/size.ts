/**
 * Trees of every shape: each verb's time, processor time and peak memory, against `cp -a`, `find` and `rm -rf` of the same tree.
 *
 * Small by default; `CTX_BENCH_FULL=1` makes the trees those of an attack: minutes, and some gigabytes of disk. The peak is the most that
 * one process had, of ctx and all that ended with it; the processor time is that of all of them, and on a busy machine says more than the
 * clock. What frees a store in the background is in neither. `CTX_BENCH_DIRECTORY` is where the trees are made. A command that fails is
 * followed by what it said: `cp` cannot copy paths that are longer than the kernel takes.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';

const isFull = process.env['CTX_BENCH_FULL'] === '1';
const program = resolve(import.meta.dirname, '../../../bin/ctx');

/** Made by a command inside, and once more outside for those it is compared with. */
interface Shape {
  readonly name: string;
  readonly script: string;
  /** What the person has before that. */
  readonly before?: string;
  /** The script takes away what was there: compared with a copy of that. */
  readonly deletes?: boolean;
}

const chain = (levels: number, bytes: number) => `
for level in range(${levels}):
    os.mkdir("d" * ${bytes})
    os.chdir("d" * ${bytes})
open("bottom", "w").close()`;

const files = (count: number, each: number, body: string) => `
for number in range(${count}):
    directory = f"d{number // ${each}}"
    if number % ${each} == 0:
        os.makedirs(directory, exist_ok=True)
    ${body}`;

const size = (small: number, full: number) => (isFull ? full : small);

const smallFiles = (count: number, letter: string) =>
  files(count, 100, `open(f"{directory}/{number}", "w").write("${letter}" * 200)`);

const shapes: readonly Shape[] = [
  { name: `deep: ${size(1_000, 20_000)} levels, names of 200 bytes`, script: chain(size(1_000, 20_000), 200) },
  { name: `shallow names: ${size(1_000, 20_000)} levels, names of 2 bytes`, script: chain(size(1_000, 20_000), 2) },
  {
    name: `wide: ${size(5_000, 1_000_000)} names in one directory`,
    script: files(size(5_000, 1_000_000), 1e9, 'open(f"{directory}/{number}", "w").close()'),
  },
  {
    name: `long: ${size(2_000, 100_000)} names of 250 bytes`,
    script: files(size(2_000, 100_000), 100, 'open(f"{directory}/{number:0250}", "w").close()'),
  },
  {
    name: `tiny: ${size(5_000, 150_000)} files of 200 bytes`,
    script: smallFiles(size(5_000, 150_000), 'x'),
  },
  {
    name: `changed: ${size(5_000, 50_000)} files of 200 bytes that were there`,
    before: smallFiles(size(5_000, 50_000), 'x'),
    script: smallFiles(size(5_000, 50_000), 'y'),
  },
  {
    name: `deleted: ${size(5_000, 50_000)} files of 200 bytes that were there`,
    before: smallFiles(size(5_000, 50_000), 'x'),
    script: `
import shutil
for name in os.listdir("."):
    if name != "mine":
        shutil.rmtree(name)`,
    deletes: true,
  },
  {
    name: `hard links: ${size(2_000, 1_000_000)} names of files with 100 each`,
    script: files(
      size(2_000, 1_000_000),
      100,
      'os.link(f"{directory}/0", f"{directory}/{number}") if number % 100 else open(f"{directory}/0", "w").write("x")',
    ),
  },
  {
    name: `sparse: ${size(4, 20)} files of 1 GiB with 1 byte each`,
    script: `
for number in range(${size(4, 20)}):
    with open(f"sparse{number}", "w") as file:
        file.seek((1 << 30) - 1)
        file.write("x")`,
  },
];

interface Measured {
  readonly seconds: number;
  readonly processorSeconds: number;
  readonly megabytes: number;
  readonly code: number | null;
  /** Of one that failed. */
  readonly said?: string | undefined;
}

/** A program of ctx that it does not wait for ends with it: it becomes a child of this one, and is counted. */
const measure = `import ctypes, os, resource, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
code = subprocess.call(sys.argv[2:], stdout=subprocess.DEVNULL)
for attempt in range(20):
    time.sleep(0.005)
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        break
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(f"{used.ru_maxrss} {used.ru_utime + used.ru_stime}")
sys.exit(code)`;

/** The first line, without the names of a deep tree. */
const firstLine = (text: string) => (text.split('\n')[0] ?? '').replaceAll(/(.)\1{20,}[^ ]*/g, '$1...').slice(0, 80);

function run(place: string, cwd: string, argv: readonly string[]): Measured {
  const note = join(place, 'peak');
  const env = { ...process.env, CTX_DATA: join(place, 'store') };
  const start = performance.now();
  const { status, stderr } = spawnSync('python3', ['-c', measure, note, ...argv], { cwd, env, encoding: 'utf8' });
  const seconds = (performance.now() - start) / 1000;
  const [kilobytes = Number.NaN, processorSeconds = Number.NaN] = readFileSync(note, 'utf8').split(' ').map(Number);
  return {
    seconds,
    processorSeconds,
    megabytes: kilobytes / 1024,
    code: status,
    said: status === 0 ? undefined : firstLine(stderr),
  };
}

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

function rowsOf(shape: Shape): readonly (readonly [string, Measured])[] {
  const place = mkdtempSync(join(process.env['CTX_BENCH_DIRECTORY'] ?? tmpdir(), 'ctx-size-'));
  try {
    const [project, plain] = [join(place, 'project'), join(place, 'plain')];
    for (const directory of [project, plain]) mkdirSync(directory);
    writeFileSync(join(project, 'mine'), 'mine\n');
    const python = (script: string) => ['python3', '-c', `import os${script}`];
    const making = python(shape.script);
    const rows: [string, Measured][] = [];
    const row = (name: string, cwd: string, argv: readonly string[]) => void rows.push([name, run(place, cwd, argv)]);
    for (const directory of shape.before === undefined ? [] : [project, plain]) {
      run(place, directory, python(shape.before ?? ''));
    }
    if (shape.deletes !== true) row('outside', plain, making);
    row('cp -a', place, ['cp', '-a', 'plain', 'copy']);
    // What an apply waits for, and cp does not.
    row('sync -f', place, ['sync', '-f', 'copy']);
    row('find', place, ['find', 'plain', '-ls']);
    if (shape.deletes === true) row('outside', plain, making);
    row('rm -rf', place, ['rm', '-rf', 'copy']);
    row('ctx exec', project, [program, 'exec', '--', ...making]);
    for (const words of verbs) row(`ctx ${words.join(' ')}`, project, [program, ...words]);
    return rows;
  } finally {
    // Node's own removal knows no path that is longer than the kernel takes.
    spawnSync('rm', ['-rf', place]);
    rmSync(place, { recursive: true, force: true });
  }
}

const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const chosen = shapes.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.startsWith(word)));
const table = chosen.map((shape) => {
  const rows = rowsOf(shape);
  if (!process.argv.includes('--json')) {
    console.log(`\n${shape.name}`);
    console.log(
      `  ${''.padEnd(26)} ${'clock'.padStart(10)} ${'processor'.padStart(10)} ${'of cp -a'.padStart(10)} ${'peak'.padStart(9)}`,
    );
    const copy = rows.find(([name]) => name === 'cp -a')?.[1].processorSeconds ?? Number.NaN;
    for (const [name, { seconds, processorSeconds, megabytes, code, said }] of rows) {
      const end = code === 0 ? '' : `  ended with ${code}: ${said}`;
      const columns = [
        `${seconds.toFixed(2)} s`,
        `${processorSeconds.toFixed(2)} s`,
        `${(processorSeconds / copy).toFixed(1)}x`,
      ];
      const shown = columns.map((text) => text.padStart(10)).join(' ');
      console.log(`  ${name.padEnd(26)} ${shown} ${`${megabytes.toFixed(0)} MB`.padStart(9)}${end}`);
    }
  }
  return { shape: shape.name, rows: rows.map(([name, measured]) => ({ name, ...measured })) };
});
if (process.argv.includes('--json')) console.log(JSON.stringify(table));
