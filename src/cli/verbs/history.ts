/** `ctx rollback`, `ctx checkpoint ...`, `ctx fork ...`. */
import { ErrnoError } from '../../base/errno.js';
import { commandsBesideNamed } from '../../base/limits/commands.js';
import { shellWord, visible } from '../../base/visible-text.js';
import { countChanges } from '../../sdk/changes.js';
import type { CheckpointSummary } from '../../sdk/workspace/fork.js';
import { forkHere } from '../input/fork-here.js';
import { changeLines, counted } from '../text/change-text.js';
import { painter, print, printError, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';

const changesShown = 20;

/** `{ version: 1, ... }` on one line, or the lines for people. */
function answer(call: Arguments, value: Readonly<Record<string, unknown>>, lines: readonly string[]): number {
  if (call.flag('json')) printJson({ version: 1, ...value });
  else for (const line of lines) print(`${line}\n`);
  return 0;
}

const nameOf = ({ id, name }: CheckpointSummary) => (name === undefined ? String(id) : `${id} ${name}`);

function checkpointLine(checkpoint: CheckpointSummary): string {
  const paint = painter(process.stdout);
  const { id, name, made, reason, automatic, undone } = checkpoint;
  const when = made.replace('T', ' ').slice(0, 19);
  const what = automatic ? `before: ${visible(reason)}` : visible(name ?? reason);
  const others = checkpoint.beside ?? [];
  const least = others.length < commandsBesideNamed ? '' : 'at least ';
  const beside = others.length === 0 ? '' : ` and ${least}${counted(others.length, 'other')} beside it`;
  const text = `  ${String(id).padStart(4)}  ${when}  ${what}${beside}`;
  return undone === true ? paint('dim', `${text}  (undone)`) : text;
}

/** A person may have meant a path by the first word. */
function withWhereToPutPaths(error: unknown, first: string): unknown {
  if (!(error instanceof ErrnoError) || error.operation !== 'find the checkpoint') return error;
  const { code, operation, reason, remedy } = error;
  const paths = `single paths come after a checkpoint: ctx rollback CHECKPOINT ${first.startsWith('-') ? '-- ' : ''}${shellWord(first)}`;
  return new ErrnoError(code, { operation, reason, remedy: `${remedy}; ${paths}`, cause: error });
}

/** The first word is always the checkpoint; what follows are paths. */
export const rollback: Run = async (call, host) => {
  const [first, ...rest] = call.words;
  const fork = await forkHere(call, host);
  const rolled = await fork.rollback({ checkpoint: first, paths: rest }).catch((error: unknown) => {
    throw first === undefined ? error : withWhereToPutPaths(error, first);
  });
  const paint = painter(process.stdout);
  const { undone, pending, to } = rolled;
  const { beside = [] } = to;
  if (!call.flag('json')) {
    const warn = painter(process.stderr);
    for (const path of rolled.unmatched)
      printError(`  ${warn('yellow', `nothing has changed since then at ${visible(path)}`)}\n`);
  }
  const more = beside.length < commandsBesideNamed ? [] : ['and those that came later'];
  const together = [...[to.reason, ...beside].map((command) => visible(command)), ...more].join('; ');
  return answer(call, { ...rolled }, [
    `${paint('green', 'rolled back')} to ${nameOf(to)}: ${counted(countChanges(undone), 'change')} undone, ${pending} pending`,
    // Of single paths no one is undone as a whole.
    ...(to.beside === undefined || rest.length > 0
      ? []
      : [`  these ran at the same time and were undone together: ${together}`]),
    // They are in no diff any more.
    ...changeLines(undone, paint, changesShown, ''),
    ...rolled.trees.map(({ file, problem }) =>
      problem === null
        ? `  also took back ${visible(file)}`
        : paint('red', `  could not take back ${visible(file)}: ${visible(problem)}`),
    ),
  ]);
};

export const save: Run = async (call, host) => {
  const checkpoint = await (await forkHere(call, host)).checkpoint(call.words[0]);
  return answer(call, { checkpoint }, [
    `${painter(process.stdout)('green', 'saved')} checkpoint ${nameOf(checkpoint)}`,
  ]);
};

export const list: Run = async (call, host) => {
  const checkpoints = await (await forkHere(call, host)).checkpoints();
  return answer(call, { checkpoints }, checkpoints.map(checkpointLine));
};

export const info: Run = async (call, host) => {
  const { checkpoint, changes } = await (await forkHere(call, host)).lookAtCheckpoint(call.words[0] ?? '');
  const since = `  ${counted(countChanges(changes), 'change')} since then`;
  const all = `: ctx diff --since ${checkpoint.id}`;
  const shown = changeLines(changes, painter(process.stdout), changesShown, all);
  const lines = [checkpointLine(checkpoint), since, ...shown];
  return answer(call, { checkpoint, changes }, lines);
};

export const remove: Run = async (call, host) => {
  const checkpoint = await (await forkHere(call, host)).deleteCheckpoint(call.words[0] ?? '');
  return answer(call, { deleted: checkpoint }, [
    `${painter(process.stdout)('green', 'deleted')} checkpoint ${nameOf(checkpoint)}`,
  ]);
};

export const forkCreate: Run = async (call, host) => {
  const made = (await forkHere(call, host)).createFork(call.words[0], { from: call.value('from') });
  const { name, meta, problems } = await made;
  for (const { path, reason } of problems) {
    printError(`  ${painter(process.stderr)('yellow', `${visible(path)}: ${visible(reason)}`)}\n`);
  }
  const paint = painter(process.stdout);
  return answer(call, { fork: name, from: meta.from ?? null, problems }, [
    `${paint('green', 'made')} fork ${name} of ${meta.from ?? 'your directory'}: ctx exec --fork ${name}, ctx fork use ${name}`,
  ]);
};

export const forkList: Run = async (call, host) => {
  const forks = await (await forkHere(call, host)).forks();
  const lines = forks.map(({ name, current, from, checkpoints }) => {
    const source = from === undefined ? '' : `  of ${from}`;
    return `${current ? '*' : ' '} ${name}${source}  ${counted(checkpoints, 'checkpoint')}`;
  });
  return answer(call, { forks }, lines);
};

export const forkInfo: Run = async (call, host) => {
  const fork = await forkHere(call, host, call.words[0]);
  const status = await fork.status();
  const summary = (await fork.forks()).find(({ name }) => name === status.fork);
  const { changes, layers, clashes } = status;
  return answer(call, { ...summary, ...status, changes: countChanges(changes) }, [
    `${status.fork}${summary?.from === undefined ? '' : ` of ${summary.from}`}, ${counted(layers, 'layer')}`,
    `  ${counted(countChanges(changes), 'change')}, ${counted(clashes.length, 'clash', 'clashes')}, ${counted(status.checkpoints, 'checkpoint')}`,
  ]);
};

export const forkUse: Run = async (call, host) => {
  const [name = ''] = call.words;
  await (await forkHere(call, host)).useFork(name);
  return answer(call, { current: name }, [`commands here now work on fork ${name}`]);
};

export const forkDelete: Run = async (call, host) => {
  const [name = ''] = call.words;
  await (await forkHere(call, host)).deleteFork(name);
  return answer(call, { deleted: name }, [`${painter(process.stdout)('green', 'deleted')} fork ${name}`]);
};
