/** `ctx prepare` and `ctx inspect`: before a command and after it. */
import { existsSync } from 'node:fs';
import { ExitCode } from '../../base/errno.js';
import { visible, visibleCommand } from '../../base/visible-text.js';
import type { InspectedRun } from '../../sdk/workspace/fork.js';
import { optionsOf } from '../input/asked-options.js';
import { forkHere } from '../input/fork-here.js';
import { workspaceHere } from '../input/workspace-here.js';
import { counted, sizeText } from '../text/change-text.js';
import { type Paint, painter, print, printError, printJson, terminal } from '../text/output.js';
import { progressLine } from '../text/progress.js';
import type { Run } from '../verb.js';

export const prepare: Run = async (call, host) => {
  const options = optionsOf(call);
  const progress = progressLine(terminal('stderr'), 'ctx: importing this directory');
  try {
    const workspace = await workspaceHere(host, { ...options, onProgress: progress.update });
    const prepared = await workspace.prepare();
    progress.clear();
    if (call.flag('json')) {
      printJson({ version: 1, ...prepared });
      return ExitCode.ok;
    }
    const { workspace: made, imported, entered, clashes, problems } = prepared;
    const paint = painter(process.stdout);
    const what = imported ? 'imported' : counted(entered.length, 'edit of yours', 'edits of yours');
    print(`${paint('green', 'ready')}  fork ${made.fork} of ${visible(made.origin)}, ${what}\n`);
    for (const path of clashes) print(`  both you and the fork changed ${visible(path)}\n`);
    for (const { path, reason } of problems) {
      printError(`  not in the fork: ${visible(path)} (${visible(reason)})\n`);
    }
    return ExitCode.ok;
  } finally {
    progress.clear();
  }
};

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function endingOf({ state, facts }: InspectedRun): string {
  if (state === 'denied') return `denied (${String(facts['error'])}): ${String(facts['reason'])}`;
  if (state !== 'ended') return state === 'failed' ? `failed (${String(facts['error'])})` : state;
  if (facts['timedOut'] === true) return 'timed out';
  return typeof facts['signal'] === 'string' ? `killed by ${facts['signal']}` : `exit ${String(facts['exitCode'])}`;
}

function lineOf(run: InspectedRun, paint: Paint): string {
  const changes = strings(run.facts['changes']).length;
  const command = visibleCommand(strings(run.facts['argv']));
  return `${run.run}  ${paint('dim', run.begunAt)}  ${endingOf(run)}  ${counted(changes, 'change')}  ${command}\n`;
}

/** Output that the report had no room for: where it is, unless it has been deleted since. */
function outputRows(outputs: unknown): readonly (readonly [string, string])[] {
  const files = Object.entries((outputs ?? {}) as Readonly<Record<string, { path: string; bytes: number }>>);
  return files.map(([name, { path, bytes }]) => {
    const what = existsSync(path) ? `${sizeText(bytes)} in ${path}` : `${sizeText(bytes)}, deleted since`;
    return ['output', `${name}: ${what}`];
  });
}

function detailsOf(run: InspectedRun, paint: Paint): string {
  const { facts, record } = run;
  const decision = facts['decision'] as { readonly [name: string]: unknown } | undefined;
  const isOne = record.end === null || run.state === 'denied';
  const end = isOne ? '' : `, ${record.end.chain}:${record.end.seq}`;
  const by = `${String(decision?.['action'])} by ${String(decision?.['rule'])}: ${String(decision?.['reason'])}`;
  const rows: readonly (readonly [string, string])[] = [
    ['run', run.run],
    ['command', visibleCommand(strings(facts['argv']))],
    ['in', `${String(facts['directory'])}, ${run.object}`],
    ['for', `${run.agent ?? 'no agent'}${run.session === null ? '' : `, session ${run.session}`}`],
    ['decision', decision === undefined ? '-' : by],
    ...(typeof facts['keptJail'] === 'string' ? [['kept jail', facts['keptJail']] as const] : []),
    ['checkpoint', String(facts['checkpoint'] ?? '-')],
    ['time', `${run.begunAt} to ${run.endedAt ?? '-'}`],
    ['ending', endingOf(run)],
    ['record', `${record.begin.chain}:${record.begin.seq}${end}`],
    ...outputRows(facts['outputs']),
    ...strings(facts['limitsReached']).map((text) => ['limit', text] as const),
    ...strings(facts['connections']).map((text) => ['connection', text] as const),
    ...strings(facts['changes']).map((text) => ['change', text] as const),
  ];
  return rows.map(([name, value]) => `${paint('dim', name.padEnd(10))}  ${visible(value)}\n`).join('');
}

/** Without a word the last run of the fork in use; with a fork's name its runs; with a run's name that one. */
export const inspect: Run = async (call, hostOf) => {
  const fork = await forkHere(call, hostOf);
  const paint = painter(process.stdout);
  const [wanted] = call.words;
  const runs = wanted === undefined ? undefined : await fork.runs(wanted);
  if (runs !== undefined) {
    if (call.flag('json')) printJson({ version: 1, fork: wanted, runs });
    else for (const run of runs) print(lineOf(run, paint));
    return ExitCode.ok;
  }
  const found = await fork.findRun(wanted);
  if (call.flag('json')) printJson({ version: 1, ...found });
  else print(detailsOf(found, paint));
  return ExitCode.ok;
};
