/** What the jail program reports: NUL-ended lines, each about one command by its number. Pure. */
import { constants } from 'node:os';
import { type ErrnoCode, ErrnoError } from '../base/errno.js';

/** A system call the filter refused, by number: how often, and when first and last, in milliseconds since 1970. */
export interface RefusedCall {
  readonly number: number;
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

/** Directories that were there before and were renamed: the overlay can do that only by copying what is in them. */
export interface CopiedForRename {
  readonly directories: number;
  readonly files: number;
  readonly bytes: number;
  readonly milliseconds: number;
}

export interface Outcome {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly userMicroseconds: number;
  readonly systemMicroseconds: number;
  readonly peakMemoryKilobytes: number;
  readonly copiedForRename: CopiedForRename;
  readonly refusedCalls: readonly RefusedCall[];
  /** As many processes and threads as it may have were seen. */
  readonly crowded?: { readonly threads: number; readonly most: number } | undefined;
  /** Caches that were read-only. */
  readonly heldCaches?: readonly HeldCache[];
  /** Output that could not be passed on: the rest of it is lost. */
  readonly outputError?: OutputError;
}

export interface OutputError {
  readonly stream: 'stdout' | 'stderr';
  readonly code: ErrnoCode;
}

/** Files that were deleted and are still held by what runs inside. */
export interface HeldFiles {
  readonly bytes: number;
  readonly files: number;
  /** There are more whose size no one can tell: mapped ones, and descriptors under way in a socket. */
  readonly hidden: boolean;
}

/** A cache that the jail shows read-only, since another jail has it to write. */
export interface HeldCache {
  readonly path: string;
  /** The process of ours that has it, as `ctx ps` names it, and where that was started; unknown where it has ended meanwhile. */
  readonly holder?: { readonly pid: number; readonly directory: string };
}

export interface Report {
  /** 0 is the jail itself, or the one command of a jail that is not kept. */
  readonly id: number;
  readonly what: string;
  readonly rest: string;
}

/** The whole lines of `text`, and what is left of a line that has not ended. */
export function splitReports(text: string): { readonly reports: readonly Report[]; readonly left: string } {
  const lines = text.split('\0');
  const left = lines.pop() ?? '';
  const reports = lines.map((line): Report => {
    const [, id = '', what = '', rest = ''] = /^(\d+) (\S+) ?(.*)$/s.exec(line) ?? [];
    return { id: Number(id), what, rest };
  });
  return { reports, left };
}

/** Of two names for one number the first: EAGAIN, not EWOULDBLOCK. */
const errnoNames = new Map(
  Object.entries(constants.errno)
    .reverse()
    .map(([name, number]) => [number, name as ErrnoCode]),
);
const signalNames = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** What a person can do about an operation that this host refuses. */
const remedies: Readonly<Record<string, string>> = {
  namespaces: 'this host does not let you make namespaces; `ctx doctor` names the setting',
  'map-self': 'this host does not let you use user namespaces; `ctx doctor` names the setting',
  overlay: 'the store must be on a filesystem that can hold overlay layers; `ctx doctor` checks it, CTX_DATA moves it',
  landlock: 'this kernel has no Landlock: `ctx doctor` has the remedy, `--weaken landlock` runs without it',
  seccomp: 'this kernel has no seccomp filters: `ctx doctor` has the remedy, `--weaken seccomp` runs without it',
  proc: 'this /proc is masked (a container?); `ctx doctor` names the remedy',
};

/** What can have been written by an agent: the private home, and the fork where an agent's mounts are in it. */
const plantedLink =
  "there is a link where something must be mounted: name where it leads, or remove it; in the private home `ctx drop` makes a fork's anew, `ctx run --fresh` a profile's";

const crowded = 'you may have too few processes and threads left: raise ulimit -u, or end other processes of yours';

const manyOpen =
  'too many files may be open, or under way in sockets of yours: raise ulimit -n, or end other processes of yours';

const replaced = 'the path has changed since it was granted; look at it and try again';

/** Of a step that is asked to mount something it is said, too, where there are as many mounts as there may be. */
const full = 'make room on the filesystem of the store, for example: ctx drop; where there is room, raise fs.mount-max';

const usedUp =
  'remove files of yours on the filesystem of the store: the most that you may have there is reached (quota)';

const remediesByCode: Partial<Record<ErrnoCode, string>> = {
  ELOOP: plantedLink,
  ESTALE: replaced,
  EAGAIN: crowded,
  EMFILE: manyOpen,
  ENOSPC: full,
  EDQUOT: usedUp,
};

/** The kernel has no room for a namespace where there are as many as its settings allow. */
const countedByKernel = new Set(['namespaces', 'map-self']);

function remedyOf(step: string, code: ErrnoCode): string | undefined {
  const isOfDisk = code !== 'ENOSPC' || !countedByKernel.has(step);
  return (isOfDisk ? remediesByCode[code] : undefined) ?? remedies[step];
}

/** The kernel says the same of both. */
const orInterpreter = 'no such program in the jail, or its first line (#!) names one that is not there';

/** Steps that put one thing over another, which has to be of its kind: the kernel lays no file over a directory. */
const puts: ReadonlySet<string> = new Set(['bind', 'again', 'fuse', 'overlay', 'cache']);

const otherKind = {
  reason:
    'the mount does not fit there: a directory needs a directory and a file a file, and here the path, or what is above it, is of the other kind',
  remedy:
    'nothing was run; `ctx surface` lists the mounts: give this one another target. `ctx diff` shows whether a command changed what is at the path',
};

const remedyOfMissing = (program: string) =>
  /\s/.test(program) && !program.includes('/')
    ? 'give a program and its arguments as words of their own; --shell TEXT takes a text for the shell'
    : `install it under /usr, or put its directory on your PATH${program.includes('/') ? '; a #! line ends without a carriage return (CRLF)' : ''}`;

const tooLong = {
  reason: 'its arguments are too long: Linux takes 128 KiB for each, and mostly 2 MiB for all with the environment',
  remedy: 'write what is long to a file first, or give it as input on stdin',
};

export function refusalOf({ rest: line }: Report): ErrnoError {
  const [, name = '', number = '', ...rest] = line.split(' ');
  const code = errnoNames.get(Number(number)) ?? 'EIO';
  const what = rest.join(' ');
  if (name === 'command') {
    const about = { operation: 'exec', path: what };
    if (code === 'ENOENT') {
      const reason = what.includes('/') ? orInterpreter : 'no such program in the jail';
      return new ErrnoError(code, { ...about, reason, remedy: remedyOfMissing(what) });
    }
    if (code === 'E2BIG') return new ErrnoError(code, { ...about, ...tooLong });
    return new ErrnoError(code, { ...about, reason: 'the program cannot be executed' });
  }
  if (name === 'directory-of-command' && (code === 'ENOENT' || code === 'ENOTDIR')) {
    return new ErrnoError(code, {
      operation: 'start in',
      path: what,
      reason: code === 'ENOENT' ? 'the fork has no such directory' : 'expected a directory',
      remedy: 'start in another one; `ctx diff` shows whether a command removed that one',
    });
  }
  if (name === 'request') {
    return new ErrnoError(code, {
      operation: 'jail',
      reason: what,
      remedy: code === 'ELOOP' || code === 'EMFILE' ? remediesByCode[code] : undefined,
    });
  }
  if (puts.has(name) && (code === 'ENOTDIR' || code === 'EISDIR')) {
    return new ErrnoError(code, { operation: 'mount on', path: what, ...otherKind });
  }
  return new ErrnoError(code, {
    operation: `jail ${name}`,
    path: what,
    reason: 'the kernel refused this step of making the jail',
    remedy: remedyOf(name, code),
  });
}

/** Undefined for every other report. */
export function heldOf({ what, rest }: Report): HeldFiles | undefined {
  if (what !== 'held') return undefined;
  const [bytes = 0, files = 0, hidden = 0] = rest.split(' ').map(Number);
  return { bytes, files, hidden: hidden !== 0 };
}

function refusedCall({ rest }: Report): RefusedCall {
  const [number = 0, count = 0, first = 0, last = 0] = rest.split(' ').map(Number);
  return { number, count, first, last };
}

function crowdedOf(reports: readonly Report[]): Pick<Outcome, 'crowded'> {
  const crowded = reports.find(({ what }) => what === 'crowded');
  if (crowded === undefined) return {};
  const [threads = 0, most = 0] = crowded.rest.split(' ').map(Number);
  return { crowded: { threads, most } };
}

function outputErrorOf(reports: readonly Report[]): Pick<Outcome, 'outputError'> {
  const unwritten = reports.find(({ what }) => what === 'unwritten');
  if (unwritten === undefined) return {};
  const [stream, number] = unwritten.rest.split(' ').map(Number);
  return { outputError: { stream: stream === 1 ? 'stdout' : 'stderr', code: errnoNames.get(number ?? 0) ?? 'EIO' } };
}

function copiedForRenameOf(reports: readonly Report[]): CopiedForRename {
  const renamed = reports.find(({ what }) => what === 'renamed');
  const [directories = 0, files = 0, bytes = 0, milliseconds = 0] = renamed?.rest.split(' ').map(Number) ?? [];
  return { directories, files, bytes, milliseconds };
}

/** From the reports about one command, of which one says how it ended; undefined where none does. Throws where it did not start. */
export function outcomeOf(reports: readonly Report[]): Outcome | undefined {
  const failed = reports.find(({ what }) => what === 'failed');
  if (failed !== undefined) throw refusalOf(failed);
  const exited = reports.find(({ what }) => what === 'exited');
  if (exited === undefined) return undefined;
  const [status = 0, user = 0, system = 0, memory = 0] = exited.rest.split(' ').map(Number);
  const signalNumber = status & 0x7f;
  return {
    exitCode: signalNumber === 0 ? (status >> 8) & 0xff : null,
    signal: signalNumber === 0 ? null : (signalNames.get(signalNumber) ?? 'SIGKILL'),
    userMicroseconds: user,
    systemMicroseconds: system,
    peakMemoryKilobytes: memory,
    copiedForRename: copiedForRenameOf(reports),
    ...crowdedOf(reports),
    ...outputErrorOf(reports),
    refusedCalls: reports.filter(({ what }) => what === 'refused').map(refusedCall),
  };
}
