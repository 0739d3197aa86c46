/** What must not stay behind: mounts, and processes of a jail. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { until } from './process.js';

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // ended meanwhile, or not ours to look into
  }
}

/** Where it has its mounts; undefined where that is not ours to ask. */
function mountsOf(process: string): string | undefined {
  try {
    return readlinkSync(`/proc/${process}/ns/mnt`);
  } catch {
    return undefined;
  }
}

/**
 * Processes whose mounts name `directory`: those of a jail made for it. Mount points with spaces are escaped: a plain name it is.
 * Most processes have the mounts that this one has: to read the list of each takes ten times as long as to ask where it has them.
 */
export function processesMounting(directory: string): number[] {
  // The whole path: others have a `project-1` too, and it is not a part of `project-12`.
  const name = new RegExp(`${directory.replaceAll('.', '\\.')}(?:[/\\s]|$)`, 'm');
  const isNamedBy = (process: string) => name.test(read(`/proc/${process}/mountinfo`));
  const own = isNamedBy('self') ? undefined : mountsOf('self');
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => (own === undefined || mountsOf(entry) !== own) && isNamedBy(entry))
    .map(Number);
}

/** Processes that keep the filesystem of this device number busy: by a directory they are in, an open file or a program. */
export function processesUsing(device: number): number[] {
  const isOn = (path: string) => {
    try {
      return statSync(path).dev === device;
    } catch {
      return false; // ended meanwhile, or not ours to look into
    }
  };
  const open = (process: string) => {
    try {
      return readdirSync(`/proc/${process}/fd`).map((name) => `fd/${name}`);
    } catch {
      return [];
    }
  };
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => ['cwd', 'root', 'exe', ...open(entry)].some((name) => isOn(`/proc/${entry}/${name}`)))
    .map(Number);
}

/** What outlives a verb on purpose: it frees what was thrown away, after all other work of the machine. */
export function processesEmptying(directory: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => read(`/proc/${entry}/cmdline`).includes(`/tree\0empty\0${directory}/`))
    .map(Number);
}

/** Its number and its words, for anyone who has to find out where it comes from. */
export function describeProcess(pid: number): string {
  return `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()}`;
}

/**
 * Everything inside is killed before a verb ends, but a killed verb leaves that to the kernel: it may take a short
 * time.
 */
export async function assertNothingLeft(directory: string): Promise<void> {
  await until(() => processesMounting(directory).length === 0, `no process has a mount of ${directory}`);
  assert.ok(!read('/proc/self/mountinfo').includes(basename(directory)), `something is mounted in ${directory}`);
}

/** Tests of one store run side by side, and each throws things away: what is there now may be another's. */
export async function trashIsEmptied(store: string): Promise<void> {
  await until(() => readdirSync(join(store, 'trash')).length === 0, 'the trash is empty');
}
