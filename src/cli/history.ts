/** `ctx rollback`, `ctx checkpoint ...`, `ctx fork ...`. */
import { visible } from '../base/visible-text.js';
import { type ForkRequest, lookAtFork } from '../proxy/fork-verbs.js';
import {
  allForks,
  chooseFork,
  deleteMoment,
  listMoments,
  lookAtMoment,
  type Moment,
  makeFork,
  removeFork,
  rollBackFork,
  saveMoment,
} from '../proxy/history-verbs.js';
import { changeLines, counted } from './change-text.js';
import { currentDirectory } from './current-directory.js';
import { painter, printJson } from './output.js';
import { shownPaths } from './shown-paths.js';
import type { Arguments, Run } from './verb.js';

const changesShown = 20;

function requestOf(call: Arguments, fork = call.value('fork')): ForkRequest {
  return { cwd: currentDirectory(), wait: call.flag('wait'), fork };
}

/** `{ version: 1, ... }` on one line, or the lines for people. */
function answer(call: Arguments, value: Readonly<Record<string, unknown>>, lines: readonly string[]): number {
  if (call.flag('json')) printJson({ version: 1, ...value });
  else for (const line of lines) process.stdout.write(`${line}\n`);
  return 0;
}

const nameOf = ({ id, name }: Moment) => (name === undefined ? String(id) : `${id} ${name}`);

function momentLine(moment: Moment): string {
  const paint = painter(process.stdout);
  const { id, name, made, reason, automatic, undone } = moment;
  const when = made.replace('T', ' ').slice(0, 19);
  const what = automatic ? `before: ${visible(reason)}` : visible(name ?? reason);
  const text = `  ${String(id).padStart(4)}  ${when}  ${what}`;
  return undone === true ? paint('dim', `${text}  (undone)`) : text;
}

/** The first word is always the checkpoint; what follows are paths. */
export const rollback: Run = async (call, host) => {
  const [first, ...rest] = call.words;
  const paths = shownPaths(await host(), rest);
  const rolled = await rollBackFork(await host(), { ...requestOf(call), checkpoint: first, paths });
  const paint = painter(process.stdout);
  const { undone, pending, to } = rolled;
  return answer(call, { ...rolled }, [
    `${paint('green', 'rolled back')} to ${nameOf(to)}: ${counted(undone.length, 'change')} undone, ${pending} pending`,
    ...changeLines(undone, paint, changesShown),
  ]);
};

export const save: Run = async (call, host) => {
  const moment = await saveMoment(await host(), requestOf(call), call.words[0]);
  return answer(call, { checkpoint: moment }, [
    `${painter(process.stdout)('green', 'saved')} checkpoint ${nameOf(moment)}`,
  ]);
};

export const list: Run = async (call, host) => {
  const moments = await listMoments(await host(), requestOf(call));
  return answer(call, { checkpoints: moments }, moments.map(momentLine));
};

export const info: Run = async (call, host) => {
  const { moment, changes } = await lookAtMoment(await host(), requestOf(call), call.words[0] ?? '');
  const since = `  ${counted(changes.length, 'change')} since then`;
  const lines = [momentLine(moment), since, ...changeLines(changes, painter(process.stdout), changesShown)];
  return answer(call, { checkpoint: moment, changes }, lines);
};

export const remove: Run = async (call, host) => {
  const moment = await deleteMoment(await host(), requestOf(call), call.words[0] ?? '');
  return answer(call, { deleted: moment }, [
    `${painter(process.stdout)('green', 'deleted')} checkpoint ${nameOf(moment)}`,
  ]);
};

export const forkCreate: Run = async (call, host) => {
  const { name, meta, problems } = await makeFork(await host(), currentDirectory(), call.words[0], call.value('from'));
  for (const { path, reason } of problems) {
    process.stderr.write(`  ${painter(process.stderr)('yellow', `${visible(path)}: ${visible(reason)}`)}\n`);
  }
  const paint = painter(process.stdout);
  return answer(call, { fork: name, from: meta.from ?? null, problems }, [
    `${paint('green', 'made')} fork ${name} of ${meta.from ?? 'your directory'}: ctx exec --fork ${name}, ctx fork use ${name}`,
  ]);
};

export const forkList: Run = async (call, host) => {
  const forks = allForks(await host(), currentDirectory());
  const lines = forks.map(({ name, current, from, checkpoints }) => {
    const source = from === undefined ? '' : `  of ${from}`;
    return `${current ? '*' : ' '} ${name}${source}  ${counted(checkpoints, 'checkpoint')}`;
  });
  return answer(call, { forks }, lines);
};

export const forkInfo: Run = async (call, host) => {
  const status = await lookAtFork(await host(), requestOf(call, call.words[0]));
  const summary = allForks(await host(), currentDirectory()).find(({ name }) => name === status.fork);
  const { changes, layers, clashes } = status;
  return answer(call, { ...summary, ...status, changes: changes.length }, [
    `${status.fork}${summary?.from === undefined ? '' : ` of ${summary.from}`}, ${counted(layers, 'layer')}`,
    `  ${counted(changes.length, 'change')}, ${counted(clashes.length, 'clash')}, ${counted(status.checkpoints, 'checkpoint')}`,
  ]);
};

export const forkUse: Run = async (call, host) => {
  const [name = ''] = call.words;
  await chooseFork(await host(), currentDirectory(), name);
  return answer(call, { current: name }, [`commands here now work on fork ${name}`]);
};

export const forkDelete: Run = async (call, host) => {
  const [name = ''] = call.words;
  await removeFork(await host(), currentDirectory(), name);
  return answer(call, { deleted: name }, [`${painter(process.stdout)('green', 'deleted')} fork ${name}`]);
};
