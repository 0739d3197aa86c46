/**
 * Limits a whole jail shares: memory, processes, processors. A control group is made for one launch, the jail program enters
 * it before it does anything else, and it is removed at the end. Version 2 where it has the controllers, else version 1;
 * a limit that this host cannot hold is refused, never ignored.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ErrnoCode, ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { uniqueName } from '../base/unique-name.js';

export interface GroupLimits {
  /** Bytes. */
  readonly memory?: number | undefined;
  readonly pids?: number | undefined;
  /** Processors; fractions allowed. */
  readonly cpu?: number | undefined;
}

export type Controller = 'memory' | 'pids' | 'cpu';
const controllers: readonly Controller[] = ['memory', 'pids', 'cpu'];

/** Where new groups can be made, by controller; version 2 has one place for all. */
export interface GroupPlaces {
  readonly version: 1 | 2;
  readonly places: ReadonlyMap<Controller, string>;
}

const period = 100_000;

interface Setting {
  readonly controller: Controller;
  readonly file: string;
  readonly value: string;
  /** Hosts without swap accounting lack it: then there is no swap to limit. */
  readonly optional?: boolean;
}

/** Pure: what is written for which limit. */
export function groupSettings(version: 1 | 2, limits: GroupLimits): readonly Setting[] {
  const { memory, pids, cpu } = limits;
  const quota = cpu === undefined ? '' : String(Math.max(1000, Math.round(cpu * period)));
  const settings: (Setting | undefined)[] = [
    memory === undefined
      ? undefined
      : { controller: 'memory', file: version === 2 ? 'memory.max' : 'memory.limit_in_bytes', value: String(memory) },
    memory === undefined
      ? undefined
      : version === 2
        ? { controller: 'memory', file: 'memory.swap.max', value: '0', optional: true }
        : { controller: 'memory', file: 'memory.memsw.limit_in_bytes', value: String(memory), optional: true },
    pids === undefined ? undefined : { controller: 'pids', file: 'pids.max', value: String(pids) },
    cpu === undefined
      ? undefined
      : version === 2
        ? { controller: 'cpu', file: 'cpu.max', value: `${quota} ${period}` }
        : { controller: 'cpu', file: 'cpu.cfs_quota_us', value: quota },
  ];
  return settings.filter((setting) => setting !== undefined);
}

/** Where the mounts and this process's own groups are, from the texts of /proc/self/mountinfo and /proc/self/cgroup. Pure. */
export function groupPlaces(mountinfo: string, membership: string): GroupPlaces | undefined {
  const own = new Map<string, string>();
  for (const line of membership.split('\n')) {
    const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (names !== undefined && path !== undefined) for (const name of names.split(',')) own.set(name, path);
  }
  const places = new Map<Controller, string>();
  let unified: string | undefined;
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', mountPoint = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    const within = (path: string) => join(mountPoint, path.startsWith(root) ? path.slice(root.length) : path);
    if (type === 'cgroup2') {
      const path = own.get('') ?? '/';
      // A group that holds processes cannot hand controllers down, so ours stands beside it.
      unified ??= path === '/' ? within('/') : dirname(within(path));
    }
    if (type === 'cgroup') {
      for (const controller of controllers) {
        if (options.split(',').includes(controller)) places.set(controller, within(own.get(controller) ?? '/'));
      }
    }
  }
  if (places.size > 0) return { version: 1, places };
  if (unified === undefined) return undefined;
  const place = unified;
  return { version: 2, places: new Map(controllers.map((controller) => [controller, place])) };
}

export interface GroupUsage {
  readonly used: number;
  /** The kernel has refused or killed something to keep the limit. */
  readonly held: boolean;
}

export interface Group {
  /** The directories the jail enters. */
  readonly directories: readonly string[];
  /** Now. */
  usage(): { readonly memory: GroupUsage; readonly pids: GroupUsage };
  /** What was hit, in words for the report; empty where nothing was. */
  events(): readonly string[];
  /** Everything inside must be dead. */
  remove(): void;
}

function unavailable(reason: string, cause?: unknown): ErrnoError {
  return new ErrnoError('ENOTSUP', {
    operation: 'limit',
    reason: `this host cannot hold a limit of memory, processes or processors for you: ${reason}`,
    remedy: 'run under `systemd-run --user --scope -p Delegate=yes`, or as root; `ctx doctor` shows the controllers',
    cause,
  });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return '';
    throw fromSystemError(error, 'read', path);
  }
}

function write(path: string, setting: Setting): void {
  try {
    writeFileSync(path, setting.value);
  } catch (error) {
    if (
      setting.optional === true &&
      (hasCode(error, 'ENOENT') || hasCode(error, 'EACCES') || hasCode(error, 'ENOTSUP'))
    )
      return;
    throw unavailable(`${setting.file} cannot be set`, error);
  }
}

function counter(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

type Directories = ReadonlyMap<Controller, string>;

/** The text of whichever of the files this version has. */
function textOf(directories: Directories, controller: Controller, ...files: string[]): string {
  const directory = directories.get(controller);
  return directory === undefined ? '' : files.map((file) => readText(join(directory, file))).join('\n');
}

const killsOf = (directories: Directories) =>
  counter(textOf(directories, 'memory', 'memory.events', 'memory.oom_control'), 'oom_kill');
const refusedForksOf = (directories: Directories) => counter(textOf(directories, 'pids', 'pids.events'), 'max');

/** What files are cached in is given back when it is asked for: it fills every limit in time, and is no sign of need. */
function usageOf(directories: Directories): ReturnType<Group['usage']> {
  const stat = textOf(directories, 'memory', 'memory.stat');
  const cached = ['inactive_file', 'active_file'].reduce(
    (sum, name) => sum + (counter(stat, `total_${name}`) || counter(stat, name)),
    0,
  );
  const memory = Number(textOf(directories, 'memory', 'memory.current', 'memory.usage_in_bytes'));
  return {
    memory: { used: Math.max(0, memory - cached), held: killsOf(directories) > 0 },
    pids: { used: Number(textOf(directories, 'pids', 'pids.current')), held: refusedForksOf(directories) > 0 },
  };
}

function eventsOf(directories: Directories): string[] {
  const read = (controller: Controller, ...files: string[]) => textOf(directories, controller, ...files);
  const killed = killsOf(directories);
  const forks = refusedForksOf(directories);
  const throttled = counter(read('cpu', 'cpu.stat'), 'nr_throttled');
  return [
    ...(killed > 0 ? [`memory limit reached: the kernel killed ${killed} of its processes`] : []),
    ...(forks > 0 ? [`process limit reached: ${forks} forks refused`] : []),
    ...(throttled > 0 ? [`processor limit reached: throttled ${throttled} times`] : []),
  ];
}

/** By `uniqueName`, which begins with the number of the process that made it. */
const groupName = /^ctx-([0-9a-z]+)-[0-9a-z]+-[0-9a-z]+$/;

/** Its jail is still ending, another ctx removed it, or it is another user's. */
const notOursToRemove: readonly ErrnoCode[] = ['EBUSY', 'ENOENT', 'EACCES', 'EPERM'];

/**
 * A killed ctx cannot remove its group; the next one does. The kernel removes none that still holds a process, so a group
 * that is in use stays, whoever asks.
 */
function removeAbandoned(place: string): void {
  for (const name of readdirSync(place)) {
    const owner = groupName.exec(name)?.[1];
    if (owner === undefined || existsSync(`/proc/${Number.parseInt(owner, 36)}`)) continue;
    try {
      rmdirSync(join(place, name));
    } catch (error) {
      if (!notOursToRemove.some((code) => hasCode(error, code))) throw error;
    }
  }
}

/** Undefined where nothing is limited. */
export function makeGroup(limits: GroupLimits): Group | undefined {
  const wanted = controllers.filter((controller) => limits[controller] !== undefined);
  if (wanted.length === 0) return undefined;
  const found = groupPlaces(readText('/proc/self/mountinfo'), readText('/proc/self/cgroup'));
  if (found === undefined) throw unavailable('no cgroup filesystem is mounted');
  const name = `ctx-${uniqueName()}`;
  const directories = new Map<Controller, string>();
  for (const controller of wanted) {
    const place = found.places.get(controller);
    if (place === undefined) throw unavailable(`there is no ${controller} controller`);
    directories.set(controller, join(place, name));
  }
  const unique = [...new Set(directories.values())];
  const remove = () => {
    for (const directory of unique) {
      try {
        rmdirSync(directory);
      } catch (error) {
        if (!hasCode(error, 'ENOENT')) throw fromSystemError(error, 'remove the control group', directory);
      }
    }
  };
  try {
    for (const directory of unique) {
      removeAbandoned(dirname(directory));
      mkdirSync(directory);
    }
    for (const setting of groupSettings(found.version, limits)) {
      write(join(directories.get(setting.controller) ?? '', setting.file), setting);
    }
  } catch (error) {
    remove();
    throw error instanceof ErrnoError ? error : unavailable('a control group cannot be made', error);
  }
  return { directories: unique, usage: () => usageOf(directories), events: () => eventsOf(directories), remove };
}
