/**
 * Puts a tree at a directory of this machine: fusermount3 mounts, for root and for everybody else, and hands over the kernel's
 * end. A shell waits for our end of a pipe to be closed, however this process ends, and takes the mount away.
 */
import type { ChildProcess } from 'node:child_process';
import { closeSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { realPath } from '../base/canonical-path.js';
import { startProgram } from '../base/child-process.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { systemPath } from '../base/system-programs.js';
import { shellWord } from '../base/visible-text.js';
import type { FuseLibrary } from './fuse-library.js';
import { mountRemedy } from './refused-mount.js';

export { type FuseLibrary, fuseLibrary } from './fuse-library.js';

export interface Mounted {
  readonly descriptor: number;
  /** Closes our ends; resolves when the mount is gone. */
  end(): Promise<void>;
}

export interface MountOptions {
  readonly directory: string;
  readonly writable: boolean;
  /** Others than this user may use it: root's alone. */
  readonly everybody: boolean;
  /** No program of it is executed. */
  readonly noExecution?: boolean | undefined;
}

const remedy = 'install fuse3 (apt-get install fuse3); ctx doctor says what is missing';
/** As the kernel's list of mounts shows it, with the process that serves it. */
const sourceOf = (server: number) => `ctx-${server}`;
const sourceName = /^ctx-(\d+)$/;

/** The directory by its real path. ENOENT ENOTDIR ENOTEMPTY EBUSY, before anything is mounted. */
export function mountPoint(directory: string): string {
  try {
    const path = realPath(directory);
    if (!statSync(path).isDirectory()) refuse('ENOTDIR', directory, 'expected a directory to mount on');
    if (mountsAt(path).length > 0) refuse('EBUSY', directory, 'something is mounted there already', 'unmount it first');
    if (readdirSync(path).length > 0)
      refuse('ENOTEMPTY', directory, 'expected an empty directory', 'mount on a new one');
    return path;
  } catch (error) {
    if (hasCode(error, 'ENOENT'))
      refuse('ENOENT', directory, 'there is no such directory', `make it first: mkdir ${shellWord(directory)}`);
    throw fromSystemError(error, 'mount', directory);
  }
}

/** Of fusermount3, which the kernel did not start. */
export function notStarted(operation: string, cause: Error): ErrnoError {
  if (hasCode(cause, 'ENOENT')) {
    return new ErrnoError('ENOSYS', { operation, reason: `fusermount3 is not in ${systemPath}`, remedy, cause });
  }
  const { code, reason } = fromSystemError(cause, operation);
  return new ErrnoError(code, { operation, reason: `fusermount3 could not be started: ${reason}`, cause });
}

export async function mountFuse(library: FuseLibrary, options: MountOptions): Promise<Mounted> {
  // First of all: there is no time at which a mount would stay.
  const watcher = await watch(options.directory);
  try {
    const descriptor = await handedOver(library, options, watcher);
    const end = async () => {
      closeSync(descriptor);
      await watcher.end();
    };
    return { descriptor, end };
  } catch (error) {
    await watcher.end();
    throw error;
  }
}

/** The kernel's end of what is mounted. */
async function handedOver(library: FuseLibrary, options: MountOptions, watcher: Watcher): Promise<number> {
  const pair = library.pair();
  if (typeof pair === 'number') throw refuse('EMFILE', options.directory, `no socket could be made (errno ${-pair})`);
  const [ours, theirs] = pair;
  try {
    const complaints = collected(await asked(options, theirs));
    const descriptor = library.receive(ours);
    if (descriptor >= 0) {
      complaints.stop();
      return descriptor;
    }
    await watcher.end();
    if (descriptor === -constants.errno.EMFILE) refuse('EMFILE', options.directory, 'too many files are open');
    const text = await complaints.text();
    const how = mountRemedy(text, process.geteuid?.() ?? 0);
    throw refuse('EPERM', options.directory, `fusermount3 refused: ${text || 'it said nothing'}`, how);
  } finally {
    closeSync(ours);
  }
}

/** `theirs` is closed here, however that went. */
async function asked(options: MountOptions, theirs: number): Promise<ChildProcess> {
  const execution = options.noExecution === true ? ['noexec'] : [];
  const words = [options.writable ? 'rw' : 'ro', 'nosuid', 'nodev', ...execution, 'default_permissions'];
  const named = [`fsname=${sourceOf(process.pid)}`, 'subtype=ctx', ...(options.everybody ? ['allow_other'] : [])];
  let child: ChildProcess;
  try {
    child = startProgram('fusermount3', ['-o', [...words, ...named].join(','), '--', options.directory], {
      stdio: ['ignore', 'ignore', 'pipe', theirs],
      env: { PATH: systemPath, _FUSE_COMMFD: '3' },
    });
  } finally {
    closeSync(theirs);
  }
  await begun(child);
  return child;
}

async function begun(child: ChildProcess): Promise<void> {
  const failed = await new Promise<Error | undefined>((resolve) => {
    child.once('spawn', () => resolve(undefined));
    child.once('error', resolve);
  });
  if (failed !== undefined) throw notStarted('mount', failed);
}

/**
 * Lazily, since the process that has a file of it open would keep a dead mount; and only what is ours, since another
 * may be there by then. fusermount3 has a watcher of its own, which for anybody but root leaves a mount that is in use.
 */
const unmountAfterwards =
  'read line; grep -q " - fuse.ctx $0 " /proc/self/mountinfo && exec fusermount3 -u -z -q -- "$1"; exit 0';

interface Watcher {
  end(): Promise<void>;
}

async function watch(directory: string): Promise<Watcher> {
  const child = startProgram('/bin/sh', ['-c', unmountAfterwards, sourceOf(process.pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    env: { PATH: systemPath },
    // Not with the signals of our terminal: it ends after us.
    detached: true,
  });
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  child.unref();
  await begun(child);
  return {
    end: async () => {
      child.ref();
      child.stdin.destroy();
      await gone;
    },
  };
}

function collected(child: ChildProcess) {
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    if (text.length < 4_096) text += chunk.toString();
  });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  return {
    text: async () => {
      await ended;
      return text.trim().replace(/^fusermount3: /, '');
    },
    stop: () => child.stderr?.destroy(),
  };
}

export interface MountLine {
  readonly source: string;
  readonly type: string;
  /** The process that serves it, where it is one of ours. */
  readonly server: number | undefined;
}

interface MountEntry extends MountLine {
  /** Its directory, a character a byte. */
  readonly at: string;
}

function allMounts(): readonly MountEntry[] {
  return readFileSync('/proc/self/mountinfo', 'latin1')
    .split('\n')
    .flatMap((line) => {
      const fields = line.split(' ');
      const dash = fields.indexOf('-');
      if (dash < 0) return [];
      const [type = '', source = ''] = fields.slice(dash + 1);
      const server = type === 'fuse.ctx' ? sourceName.exec(source)?.[1] : undefined;
      const at = unescaped(fields[4] ?? '');
      return [{ at, source, type, server: server === undefined ? undefined : Number(server) }];
    });
}

/** What is mounted at a path, the topmost last. */
export function mountsAt(path: string): readonly MountLine[] {
  const wanted = Buffer.from(path).toString('latin1');
  return allMounts().filter(({ at }) => at === wanted);
}

/** Every mount of ours on this machine, no matter who serves it. */
export function ownMounts(): readonly { readonly directory: string; readonly server: number }[] {
  return allMounts().flatMap(({ at, server }) => {
    const directory = Buffer.from(at, 'latin1').toString();
    return server === undefined ? [] : [{ directory, server }];
  });
}

/** The kernel writes blanks and backslashes of paths in octal. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function refuse(
  code: 'EBUSY' | 'EMFILE' | 'ENOENT' | 'ENOTDIR' | 'ENOTEMPTY' | 'EPERM',
  path: string,
  reason: string,
  what?: string,
): never {
  throw new ErrnoError(code, { operation: 'mount', path, reason, remedy: what });
}
