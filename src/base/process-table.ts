/**
 * Processes of this machine as /proc shows them at one time: who started whom, since when, and what they hold in
 * memory.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { type ErrnoCode, fromSystemError, hasCode } from './errno.js';
import { decodePath } from './path-bytes.js';

export interface ProcessEntry {
  readonly parent: number;
  /** ISO 8601. */
  readonly since: string;
}

export type ProcessTable = ReadonlyMap<number, ProcessEntry>;

/** Of what the kernel tells in ticks: the same on every Linux, whatever its own clock. */
const ticksPerSecond = 100;
const startField = 19;

/** Ended meanwhile, or not ours to look into. */
const notShown: readonly ErrnoCode[] = ['ENOENT', 'ESRCH', 'EACCES', 'EPERM'];

/** Empty where it is not shown. Where it cannot be read, as by a process with too many files open, nothing is known of it: that throws. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (notShown.some((code) => hasCode(error, code))) return '';
    throw fromSystemError(error, 'look at a process', path);
  }
}

function bootMilliseconds(): number {
  return Number(/^btime (\d+)$/m.exec(textOf('/proc/stat'))?.[1] ?? 0) * 1000;
}

/** When it was started, in the kernel's own count: another process of the same number has another. Undefined where there is none that lives. */
export function startOf(pid: number): string | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat === '' || /^[ZX]/.test(fields[0] ?? '') ? undefined : fields[startField];
}

/** By Ctrl-Z, or SIGSTOP: it goes on when somebody continues it. */
export function isStopped(pid: number): boolean {
  return /\) T [^)]*$/.test(textOf(`/proc/${pid}/stat`));
}

/** Whose it is; undefined where it has ended. */
export function ownerOf(pid: number): number | undefined {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
}

/** The environment that it was started with; empty where that is not ours to see. */
export function environmentOf(pid: number): Readonly<Record<string, string>> {
  const pairs = textOf(`/proc/${pid}/environ`)
    .split('\0')
    .filter((pair) => pair.includes('='));
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}

export function readProcessTable(): ProcessTable {
  const boot = bootMilliseconds();
  const table = new Map<number, ProcessEntry>();
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    const stat = textOf(`/proc/${name}/stat`);
    // A name may hold spaces and brackets: fields begin after the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [, parent = '', ...rest] = fields;
    const ticks = Number(rest[startField - 2]);
    if (parent === '' || Number.isNaN(ticks)) continue;
    const since = new Date(boot + (ticks * 1000) / ticksPerSecond).toISOString();
    table.set(Number(name), { parent: Number(parent), since });
  }
  return table;
}

/** A process and all that it and its children started. */
export function familyOf(table: ProcessTable, pid: number): readonly number[] {
  const family = table.has(pid) ? [pid] : [];
  for (const member of family) {
    for (const [other, { parent }] of table) if (parent === member && !family.includes(other)) family.push(other);
  }
  return family;
}

/** What would be free if it ended: shared pages count in part, where the kernel lets us see that, and else in full. */
export function memoryOf(pid: number): number {
  const kilobytes =
    /^Pss: +(\d+) kB$/m.exec(textOf(`/proc/${pid}/smaps_rollup`))?.[1] ??
    /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** The words that a process was started with. */
export function wordsOf(pid: number): readonly string[] {
  return textOf(`/proc/${pid}/cmdline`).split('\0').slice(0, -1);
}

/** Whoever's it is. */
export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

/** As the kernel has it, from the program on, each word ended by a NUL. */
const ofThisProcess = (): Buffer => readFileSync('/proc/self/cmdline');

/**
 * `given` as Node has it, in which U+FFFD is in the place of every byte that is not UTF-8: as a path that names another file. Such words
 * come back escaped (`path-bytes`).
 */
export function exactWords(given: readonly string[], commandLine: () => Buffer = ofThisProcess): readonly string[] {
  if (!given.some((word) => word.includes('\ufffd'))) return given;
  return decodePath(commandLine())
    .split('\0')
    .slice(-given.length - 1, -1);
}
