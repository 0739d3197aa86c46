/**
 * Limits a whole jail shares: memory, processes, processors. A control group is made for one launch, the jail program enters
 * it before it does anything else, and it is removed at the end. Version 2 where it has the controllers, else version 1;
 * a limit that this host cannot hold is refused, never ignored.
 */
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type ErrnoCode, ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { type FileLock, loadFileLock } from '../base/file-lock.js';
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
      // A group that holds processes cannot hand controllers down, so ours is beside it.
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

/** What is seen of a group from one time on. */
export interface GroupView {
  /** Now. */
  usage(): { readonly memory: GroupUsage; readonly pids: GroupUsage };
  /** What was hit, in words for the report; empty where nothing was. */
  events(): readonly string[];
}

export interface ControlGroup extends GroupView {
  /** The directories the jail enters. */
  readonly directories: readonly string[];
  /** From now on: of one command of several that share it. */
  since(): GroupView;
  /** Everything inside must be dead. */
  remove(): void;
}

function unavailable(reason: string, cause?: unknown): ErrnoError {
  return new ErrnoError('ENOTSUP', {
    operation: 'limit',
    reason: `this host cannot enforce a limit of memory or processors for you: ${reason}`,
    remedy:
      'run under `systemd-run --user --scope -p Delegate=yes`, or as root; `ctx doctor` shows the controllers; a limit of .ctx/project.toml is left out by --no-project',
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

/** How often the kernel has held a limit, since the group was made. */
interface GroupCounters {
  readonly killed: number;
  readonly forks: number;
  readonly throttled: number;
}

const nothingHeld: GroupCounters = { killed: 0, forks: 0, throttled: 0 };

function countersOf(directories: Directories, before: GroupCounters): GroupCounters {
  const read = (controller: Controller, ...files: string[]) => textOf(directories, controller, ...files);
  return {
    killed: counter(read('memory', 'memory.events', 'memory.oom_control'), 'oom_kill') - before.killed,
    forks: counter(read('pids', 'pids.events'), 'max') - before.forks,
    throttled: counter(read('cpu', 'cpu.stat'), 'nr_throttled') - before.throttled,
  };
}

/**
 * What files are cached in is given back when it is asked for: it fills every limit in time, and is not a sign of need.
 */
function usageOf(directories: Directories, before: GroupCounters): ReturnType<GroupView['usage']> {
  const stat = textOf(directories, 'memory', 'memory.stat');
  const cached = ['inactive_file', 'active_file'].reduce(
    (sum, name) => sum + (counter(stat, `total_${name}`) || counter(stat, name)),
    0,
  );
  const memory = Number(textOf(directories, 'memory', 'memory.current', 'memory.usage_in_bytes'));
  const { killed, forks } = countersOf(directories, before);
  return {
    memory: { used: Math.max(0, memory - cached), held: killed > 0 },
    pids: { used: Number(textOf(directories, 'pids', 'pids.current')), held: forks > 0 },
  };
}

function eventsOf({ killed, forks, throttled }: GroupCounters): string[] {
  return [
    ...(killed > 0 ? [`memory limit reached: the kernel killed ${killed} of its processes`] : []),
    ...(forks > 0 ? [`process limit reached: ${forks} ${forks === 1 ? 'fork' : 'forks'} refused`] : []),
    ...(throttled > 0 ? [`processor limit reached: throttled ${throttled} ${throttled === 1 ? 'time' : 'times'}`] : []),
  ];
}

/** Of the group in these directories: all of it, and from one time on. */
export function viewOf(
  directories: Directories,
  before: GroupCounters = nothingHeld,
): Pick<ControlGroup, 'usage' | 'events' | 'since'> {
  return {
    usage: () => usageOf(directories, before),
    events: () => eventsOf(countersOf(directories, before)),
    since: () => viewOf(directories, countersOf(directories, nothingHeld)),
  };
}

/** By `uniqueName`. */
const groupName = /^ctx-[0-9a-z]+-[0-9a-z]+-[0-9a-z]+$/;

/** Its jail is still ending, another ctx removed it, or it is another user's. */
const notOursToRemove: readonly ErrnoCode[] = ['EBUSY', 'ENOENT', 'EACCES', 'EPERM'];

/** The directory, open and locked; undefined where another process has it. */
function lockGroup(lock: FileLock, directory: string): number | undefined {
  const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    lock.hold(descriptor, directory);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    if (hasCode(error, 'EAGAIN')) return undefined;
    throw error;
  }
}

/**
 * A killed ctx cannot remove its group; the next one does. Who lives holds the lock of its group: a process number says nothing, in
 * another pid namespace it is somebody else's. The kernel removes none that still holds a process.
 */
function removeAbandoned(lock: FileLock, place: string): void {
  for (const name of readdirSync(place)) {
    if (!groupName.test(name)) continue;
    try {
      const descriptor = lockGroup(lock, join(place, name));
      if (descriptor === undefined) continue;
      try {
        rmdirSync(join(place, name));
      } finally {
        closeSync(descriptor);
      }
    } catch (error) {
      if (!notOursToRemove.some((code) => hasCode(error, code))) throw error;
    }
  }
}

/** Another ctx may have the new one, or may have removed it, before it is locked. */
const groupTries = 16;

/** Makes the directory and locks it: until the descriptor is closed no one else removes it. */
function makeLocked(lock: FileLock, directory: string): number {
  for (let tries = 1; ; tries++) {
    try {
      mkdirSync(directory);
    } catch (error) {
      if (!hasCode(error, 'EEXIST') || tries === 1) throw error;
    }
    try {
      const descriptor = lockGroup(lock, directory);
      if (descriptor !== undefined && fstatSync(descriptor).ino === statSync(directory, { throwIfNoEntry: false })?.ino)
        return descriptor;
      if (descriptor !== undefined) closeSync(descriptor);
    } catch (error) {
      if (!hasCode(error, 'ENOENT') || tries === groupTries) throw error;
    }
    if (tries === groupTries) throw unavailable('a new control group is held by another process');
  }
}

function mayMakeGroups(place: string | undefined): boolean {
  if (place === undefined) return false;
  try {
    accessSync(place, constants.W_OK);
    return true;
  } catch {
    return false; // whatever the reason: the other way holds it
  }
}

/**
 * What a group is needed for: processes are held by the kernel's limit of a user namespace's processes as well (the plan's `limit`),
 * so where this user may make no group they need none.
 */
function heldByGroup(limits: GroupLimits, found: GroupPlaces | undefined): readonly Controller[] {
  return controllers.filter(
    (controller) =>
      limits[controller] !== undefined && (controller !== 'pids' || mayMakeGroups(found?.places.get(controller))),
  );
}

/** Undefined where nothing is limited, or nothing that takes a group. `library` is `native/flock.node`. */
export function makeGroup(limits: GroupLimits, library: string): ControlGroup | undefined {
  if (controllers.every((controller) => limits[controller] === undefined)) return undefined;
  const found = groupPlaces(readText('/proc/self/mountinfo'), readText('/proc/self/cgroup'));
  const wanted = heldByGroup(limits, found);
  if (wanted.length === 0) return undefined;
  if (found === undefined) throw unavailable('no cgroup filesystem is mounted');
  const name = `ctx-${uniqueName()}`;
  const directories = new Map<Controller, string>();
  for (const controller of wanted) {
    const place = found.places.get(controller);
    if (place === undefined) throw unavailable(`there is no ${controller} controller`);
    directories.set(controller, join(place, name));
  }
  const unique = [...new Set(directories.values())];
  const lock = loadFileLock(library, 0, 'control group');
  const held: number[] = [];
  const remove = () => {
    for (const descriptor of held.splice(0)) closeSync(descriptor);
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
      removeAbandoned(lock, dirname(directory));
      held.push(makeLocked(lock, directory));
    }
    for (const setting of groupSettings(found.version, limits).filter(({ controller }) =>
      directories.has(controller),
    )) {
      write(join(directories.get(setting.controller) ?? '', setting.file), setting);
    }
  } catch (error) {
    remove();
    throw error instanceof ErrnoError ? error : unavailable('a control group cannot be made', error);
  }
  return { ...viewOf(directories), directories: unique, remove };
}

/** Which limits this user's commands can be held to, found by making a group for each. */
export function holdableLimits(library: string): readonly Controller[] {
  const ample = { memory: 2 ** 40, pids: 10_000, cpu: 1 } as const;
  return controllers.filter((controller) => {
    try {
      const group = makeGroup({ [controller]: ample[controller] }, library);
      group?.remove();
      return controller === 'pids' || group !== undefined;
    } catch (error) {
      if (hasCode(error, 'ENOTSUP')) return false;
      throw error;
    }
  });
}
