/** `SPEC=TARGET[:rw][:grants=FILE]` of `ctx exec --mount`, and the process that serves each: outside of the jail, and ended with it. */

import type { ChildProcess } from 'node:child_process';
import { accessSync, closeSync, constants } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { realPath as realPathOf } from '../../base/canonical-path.js';
import { startProgram } from '../../base/child-process.js';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import { ctxProgram } from '../../base/native-program.js';
import { flag, having, integer, list, oneOf, optional, parsedAs, text, word } from '../../base/shape.js';
import { fuseLibrary } from '../../fuse/mount.js';
import type { JailIdentity } from '../../jail/plan.js';
import type { AskedTree, TreeOutcome, TreeServing, WrittenTree } from '../../proxy/asked-tree.js';
import { planOf } from '../../vfs/read-plan.js';
import { engineForms, parseSpecification } from '../../vfs/specification.js';
import { backingOf, enginesOf, type TreePlan, withEngines } from '../../vfs/tree-plan.js';
import { checkGrantsFile } from './followed-grants.js';

export interface TreePrograms {
  /** Where relative paths begin. */
  readonly directory: string;
  /** Whose refusals by grants are recorded; without one, the person's. */
  readonly agent?: string | undefined;
  /** Path of `fuse.node`. */
  readonly library: string;
  /** Of the person, whose tokens for remote files may be in it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** As long as `ctx vfs unmount` waits: until everything is on the disk. */
const endMilliseconds = 60_000;

const form = `SPEC=TARGET[:rw][:grants=FILE], where SPEC is one of ${engineForms.join(', ')} and TARGET an absolute path`;
const grantsWord = ':grants=';

/** At the last `=/` before any grants: a SPEC may have one, too. EINVAL */
export function parseTree(text: string, directory: string): WrittenTree {
  const words = text.lastIndexOf(grantsWord);
  const tree = words < 0 ? text : text.slice(0, words);
  const grants = words < 0 ? undefined : text.slice(words + grantsWord.length);
  const at = tree.lastIndexOf('=/');
  if (at < 0 || grants === '') {
    throw new ErrnoError('EINVAL', { operation: '--mount', path: text, reason: `expected ${form}` });
  }
  const [specification, place] = [tree.slice(0, at), tree.slice(at + 1)];
  const writable = place.endsWith(':rw');
  const target = writable ? place.slice(0, -3) : place;
  return checkedTree({ specification, target, writable, ...(grants === undefined ? {} : { grants }) }, directory);
}

/** EINVAL */
function checkedTree(tree: WrittenTree, directory: string): WrittenTree {
  parseSpecification(tree.specification, directory);
  return tree;
}

/** By their real paths, which are compared with what must stay hidden and then opened: no others are. */
function withRealPaths(plan: TreePlan): TreePlan {
  return withEngines(plan, (engine) => {
    if (engine.engine === 'host') return { ...engine, path: realPath(engine.path) };
    return engine.engine === 'chunked' ? { ...engine, file: realFile(engine.file) } : engine;
  });
}

/** Of a file that is not there yet, by its directory's. */
function realFile(file: string): string {
  try {
    return realPathOf(file);
  } catch {
    return join(realPath(dirname(file)), basename(file));
  }
}

function realPath(path: string): string {
  try {
    return realPathOf(path);
  } catch (error) {
    throw fromSystemError(error, '--mount', path);
  }
}

/** By its real path, read once: what is wrong with it is said before anything is started. */
function checkedGrants(path: string): string {
  checkGrantsFile(path);
  return realPath(path);
}

function refuseWithoutDevice(): void {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
  } catch (cause) {
    throw new ErrnoError('ENOSYS', {
      operation: '--mount',
      path: '/dev/fuse',
      reason: 'it cannot be opened, and mounts need it',
      remedy: 'modprobe fuse, or give /dev/fuse to this container or user; ctx doctor says what is missing',
      cause,
    });
  }
}

/** What is wrong with a text is said before anything is started. */
export function askedTrees(asked: readonly (string | WrittenTree)[], programs: TreePrograms): readonly AskedTree[] {
  const { directory } = programs;
  const parsed = asked.map((tree) =>
    typeof tree === 'string' ? parseTree(tree, directory) : checkedTree(tree, directory),
  );
  refuseWithoutDevice();
  return parsed.map(({ specification, target, writable, grants: written }) => {
    const grants = written === undefined ? undefined : checkedGrants(resolve(directory, written));
    const plan = withRealPaths(planOf(specification, programs.directory));
    let problem: string | undefined;
    let outcome: TreeOutcome | undefined;
    return {
      specification,
      target,
      writable,
      grants,
      backings: enginesOf(plan).flatMap((engine) => backingOf(engine) ?? []),
      lasts: enginesOf(plan).some(({ engine }) => engine !== 'memory'),
      start: (identity: JailIdentity) =>
        startServer(programs, { specification, plan, target, writable, grants }, identity, {
          failed: (how) => {
            problem = `the server of ${target} (${specification}) ended with ${how}: the command got errors there`;
          },
          ended: (last) => {
            outcome = last;
          },
        }),
      problem: () => problem,
      outcome: () => outcome,
    };
  });
}

interface Told {
  failed(how: string): void;
  ended(outcome: TreeOutcome): void;
}

interface Served {
  readonly specification: string;
  readonly plan: TreePlan;
  readonly target: string;
  readonly writable: boolean;
  readonly grants: string | undefined;
}

async function startServer(
  { library, directory, environment, agent }: TreePrograms,
  { specification, plan, target, writable, grants }: Served,
  identity: JailIdentity,
  told: Told,
): Promise<TreeServing> {
  const pair = fuseLibrary(library).pair();
  if (typeof pair === 'number') {
    throw new ErrnoError('EMFILE', { operation: '--mount', reason: `no socket could be made (errno ${-pair})` });
  }
  const [channel, theirs] = pair;
  // Of a shifted jail the kernel is told who they are outside.
  const { uid, gid } = identity.kind === 'shifted' ? (identity.outside ?? identity) : identity;
  const whose = agent === undefined ? '' : `:${agent}`;
  const jail = `--jail=${uid}:${gid}:${identity.kind === 'shifted' ? identity.shift : 0}${whose}`;
  const guarded = grants === undefined ? [] : [`--grants=${grants}`];
  const flags = ['--json', '--foreground', jail, ...(writable ? ['--writable'] : []), ...guarded];
  let child: ChildProcess;
  try {
    child = startProgram(process.execPath, [ctxProgram(), 'vfs', 'mount', ...flags, '--', specification, target], {
      cwd: directory,
      env: { ...environment },
      // In a session of its own: a terminal's signals are for the command, which may still want its files.
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore', theirs],
    });
  } catch (error) {
    closeSync(channel);
    throw error;
  } finally {
    closeSync(theirs);
  }
  // One that has ended before it has read it says so by its end.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(JSON.stringify(plan));
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
  child.once('exit', (code, signal) => {
    if (signal !== null) told.failed(signal);
    else if (code !== 0) told.failed(`exit code ${code}`);
  });
  try {
    await opened(child, told);
  } catch (error) {
    closeSync(channel);
    throw error;
  }
  return { channel, ended: () => endOf(child, exited), kill: () => void child.kill('SIGKILL') };
}

type Refused = Pick<ErrnoError, 'code' | 'operation' | 'path' | 'reason' | 'remedy'>;

const answerShape = having({
  error: optional(having({ code: word, operation: text, path: optional(text), reason: text, remedy: optional(text) })),
});
const outcomeShape = having({
  changes: list(having({ kind: oneOf('added', 'modified', 'deleted'), path: text })),
  more: integer(0),
  undo: list(having({ file: word, before: word, after: integer(0) })),
  undoable: flag,
});

function refusedIn(line: string): Refused | undefined {
  const said = parsedAs<{ readonly error?: Refused }>(line, answerShape);
  if (said !== undefined) return said.error;
  const reason = `its server said: ${line}`;
  return { code: 'EIO', operation: '--mount', path: undefined, reason, remedy: undefined };
}

/** Resolves with its first word, what it says instead is our error; its last one is what it has to say of the tree. */
function opened(child: ChildProcess, told: Told): Promise<void> {
  let text = '';
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const [first, second, ...rest] = text.split('\n');
      if (second === undefined) return;
      const error = refusedIn(first ?? '');
      if (error !== undefined) return reject(new ErrnoError(error.code, error));
      resolve();
      if (rest.length === 0) return;
      const outcome = parsedAs<TreeOutcome>(second, outcomeShape);
      if (outcome === undefined) told.failed('an answer that cannot be read');
      else told.ended(outcome);
    });
    child.once('error', (error) => reject(fromSystemError(error, 'start the server of a mount')));
    child.once('close', (code, signal) => {
      reject(new ErrnoError('EIO', { operation: '--mount', reason: `its server ended at once (${signal ?? code})` }));
    });
  });
}

async function endOf(child: ChildProcess, exited: Promise<void>): Promise<void> {
  const late = setTimeout(() => child.kill('SIGKILL'), endMilliseconds);
  await exited;
  clearTimeout(late);
}
