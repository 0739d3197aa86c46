/** `ctx prepare` and `ctx inspect`: before a command and after it. */
import { find } from '../audit/query.js';
import { directoryReader } from '../audit/reader.js';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible, visibleCommand } from '../base/visible-text.js';
import { accessAt } from '../proxy/history-verbs.js';
import type { Host } from '../proxy/host.js';
import { prepareFork } from '../proxy/prepare.js';
import { type InspectedRun, runsOf } from '../proxy/recorded-runs.js';
import { forkNames } from '../vault/forks.js';
import { mainFork } from '../vault/layout.js';
import { readVaultMeta } from '../vault/vault-meta.js';
import { grantsOf } from './asked-grants.js';
import { counted } from './change-text.js';
import { currentDirectory } from './current-directory.js';
import { type Paint, painter, printJson } from './output.js';
import { progressLine } from './progress.js';
import type { Run } from './verb.js';

export const prepare: Run = async (call, host) => {
  const grants = grantsOf(call);
  const progress = progressLine(process.stderr, 'ctx: importing this directory');
  try {
    const prepared = await prepareFork(await host(), {
      ...grants,
      cwd: currentDirectory(),
      fork: call.value('fork'),
      wait: call.flag('wait'),
      onProgress: progress.update,
    });
    progress.clear();
    if (call.flag('json')) {
      printJson({ version: 1, ...prepared });
      return ExitCode.ok;
    }
    const { workspace, imported, entered, clashes, problems } = prepared;
    const paint = painter(process.stdout);
    const what = imported ? 'imported' : counted(entered.length, 'edit of yours', 'edits of yours');
    process.stdout.write(
      `${paint('green', 'ready')}  fork ${workspace.fork} of ${visible(workspace.origin)}, ${what}\n`,
    );
    for (const path of clashes) process.stdout.write(`  both you and the fork changed ${visible(path)}\n`);
    for (const { path, reason } of problems) {
      process.stderr.write(`  not in the fork: ${visible(path)} (${visible(reason)})\n`);
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
  if (state !== 'ended') return state === 'failed' ? `failed (${String(facts['error'])})` : state;
  if (facts['timedOut'] === true) return 'timed out';
  return typeof facts['signal'] === 'string' ? `killed by ${facts['signal']}` : `exit ${String(facts['exitCode'])}`;
}

function lineOf(run: InspectedRun, paint: Paint): string {
  const changes = strings(run.facts['changes']).length;
  const command = visibleCommand(strings(run.facts['argv']));
  return `${run.run}  ${paint('dim', run.begunAt)}  ${endingOf(run)}  ${counted(changes, 'change')}  ${command}\n`;
}

function detailsOf(run: InspectedRun, paint: Paint): string {
  const { facts, record } = run;
  const decision = facts['decision'] as { readonly [name: string]: unknown } | undefined;
  const end = record.end === null ? '' : `, ${record.end.chain}:${record.end.seq}`;
  const rows: readonly (readonly [string, string])[] = [
    ['run', run.run],
    ['command', visibleCommand(strings(facts['argv']))],
    ['in', `${String(facts['directory'])}, ${run.object}`],
    ['for', `${run.agent ?? 'nobody'}${run.session === null ? '' : `, session ${run.session}`}`],
    ['decision', `${String(decision?.['action'])} by ${String(decision?.['rule'])}: ${String(decision?.['reason'])}`],
    ['checkpoint', String(facts['checkpoint'] ?? '-')],
    ['time', `${run.begunAt} to ${run.endedAt ?? '-'}`],
    ['ending', endingOf(run)],
    ['record', `${record.begin.chain}:${record.begin.seq}${end}`],
    ...strings(facts['limitsReached']).map((text) => ['limit', text] as const),
    ...strings(facts['connections']).map((text) => ['connection', text] as const),
    ...strings(facts['changes']).map((text) => ['change', text] as const),
  ];
  return rows.map(([name, value]) => `${paint('dim', name.padEnd(10))}  ${visible(value)}\n`).join('');
}

function runsHere(host: Host, object: string): readonly InspectedRun[] {
  const all = runsOf(find(directoryReader(host.audit.record), { type: 'exec' }));
  return all.filter((run) => run.object === object);
}

function noRun(reason: string): ErrnoError {
  return new ErrnoError('ENOENT', {
    operation: 'ctx inspect',
    reason,
    remedy: 'ctx inspect FORK lists the runs of a fork, ctx fork list the forks',
  });
}

/** Without a word the last run of the fork in use; with a fork's name its runs; with a run's name that one. */
export const inspect: Run = async (call, hostOf) => {
  const host = await hostOf();
  const paint = painter(process.stdout);
  const [wanted] = call.words;
  const access = accessAt(host, currentDirectory());
  const objectOf = (fork: string) => `fork/${access.id}/${fork}`;
  if (wanted !== undefined && forkNames(access).includes(wanted)) {
    const runs = runsHere(host, objectOf(wanted));
    if (call.flag('json')) printJson({ version: 1, fork: wanted, runs });
    else for (const run of runs) process.stdout.write(lineOf(run, paint));
    return ExitCode.ok;
  }
  const current = readVaultMeta(access.paths.meta)?.current ?? mainFork;
  const found =
    wanted === undefined
      ? runsHere(host, objectOf(current)).at(-1)
      : runsOf(find(directoryReader(host.audit.record), { type: 'exec' })).find(({ run }) => run === wanted);
  if (found === undefined) {
    throw noRun(
      wanted === undefined ? 'no command has run in this fork' : `no run and no fork here is called '${wanted}'`,
    );
  }
  if (call.flag('json')) printJson({ version: 1, ...found });
  else process.stdout.write(detailsOf(found, paint));
  return ExitCode.ok;
};
