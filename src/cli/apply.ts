/** `ctx apply`: the fork's changes become the person's. */
import { resolve } from 'node:path';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import { type ForkRequest, keepFork } from '../proxy/fork-verbs.js';
import type { Host } from '../proxy/host.js';
import type { Applied, ApplyRequest } from '../vault/apply.js';
import type { ConflictChoice } from '../vault/apply-plan.js';
import { counted } from './change-text.js';
import { currentDirectory } from './current-directory.js';
import { painter, printJson } from './output.js';
import { shownPaths } from './shown-paths.js';
import type { Arguments, Run } from './verb.js';

type Answer = Omit<Applied, 'fork'>;

function printSensitive({ sensitive, heldBack }: Answer): void {
  const held = new Set(heldBack);
  const left = sensitive.filter(({ path }) => held.has(path));
  if (left.length === 0) return;
  const paint = painter(process.stderr);
  const lines = [
    paint('yellow', `  ${counted(left.length, 'sensitive change')} held back, still in the fork:`),
    ...left.map(({ path, why }) => `    ${visible(path)}  ${paint('dim', why)}`),
    `${paint('dim', '  try:')} look at them with ctx diff, then ctx apply --allow-sensitive`,
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
}

function printDone(answer: Answer, choice: ConflictChoice): void {
  const paint = painter(process.stdout);
  const { steps, conflicts, problems } = answer;
  const kept = conflicts.length > 0 && choice === 'ours' ? `, ${counted(conflicts.length, 'path')} left as yours` : '';
  process.stdout.write(`${paint('green', 'applied')} ${counted(steps.length, 'change')}${kept}\n`);
  for (const { path, reason } of problems) {
    process.stderr.write(`  ${painter(process.stderr)('yellow', `left out: ${visible(path)} (${visible(reason)})`)}\n`);
  }
}

function printPlan({ steps, undecided }: Answer): void {
  const paint = painter(process.stdout);
  for (const { action, path } of steps) {
    process.stdout.write(`  ${paint(action === 'put' ? 'green' : 'red', action)} ${visible(path)}\n`);
  }
  for (const path of undecided) process.stdout.write(`  ${paint('red', 'conflict')} ${visible(path)}\n`);
  process.stdout.write(`${counted(steps.length, 'step')}, nothing was written\n`);
}

function printRefusal({ undecided }: Answer): void {
  const paint = painter(process.stderr);
  const lines = [
    `${paint('red', 'ctx:')} apply: both you and the fork changed ${counted(undecided.length, 'path')}; nothing was written (EBUSY)`,
    ...undecided.map((path) => `  ${visible(path)}`),
    `${paint('dim', '  try:')} --conflicts ours keeps yours, --conflicts theirs takes the fork's`,
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
}

function choicesOf(call: Arguments, host: Host) {
  return {
    conflicts: (call.value('conflicts') ?? 'refuse') as ConflictChoice,
    ours: shownPaths(host, call.values('ours')),
    theirs: shownPaths(host, call.values('theirs')),
    only: call.words.length === 0 ? undefined : shownPaths(host, call.words),
    allowSensitive: call.flag('allow-sensitive'),
    dryRun: call.flag('dry-run'),
  };
}

async function undo(call: Arguments, host: Host, request: ForkRequest): Promise<number> {
  const { undoLastApply } = await import('../proxy/vault-verbs.js');
  const { done, steps, conflicts, pending } = await undoLastApply(host, request);
  if (call.flag('json')) printJson({ version: 1, done, undone: done ? steps : [], conflicts, pending });
  else if (done) {
    const paint = painter(process.stdout);
    process.stdout.write(`${paint('green', 'undone')} ${counted(steps.length, 'step')}, ${pending} pending again\n`);
  } else {
    const paint = painter(process.stderr);
    const head = `${paint('red', 'ctx:')} apply --undo: you changed ${counted(conflicts.length, 'path')} since; nothing was written (EBUSY)`;
    process.stderr.write(`${[head, ...conflicts.map((path) => `  ${visible(path)}`)].join('\n')}\n`);
  }
  return done ? ExitCode.ok : ExitCode.failed;
}

async function keepElsewhere(host: Host, request: ForkRequest, to: string, choices: ApplyRequest): Promise<Answer> {
  const { applyForkTo } = await import('../proxy/apply-to.js');
  return applyForkTo(host, request, resolve(request.cwd, to), choices);
}

export const run: Run = async (call, makeHost) => {
  const host = await makeHost();
  const request: ForkRequest = { cwd: currentDirectory(), wait: call.flag('wait'), fork: call.value('fork') };
  const to = call.value('to');
  if (call.flag('undo') && to !== undefined) {
    const reason = 'expected --undo or --to: what --to wrote is not kept to be undone';
    throw new ErrnoError('EINVAL', { operation: 'apply', reason });
  }
  if (call.flag('undo')) return undo(call, host, request);
  const choices = choicesOf(call, host);
  const answer =
    to === undefined ? await keepFork(host, request, choices) : await keepElsewhere(host, request, to, choices);
  const exitCode = answer.done || (choices.dryRun && answer.undecided.length === 0) ? ExitCode.ok : ExitCode.failed;
  if (call.flag('json')) {
    const { done, steps, conflicts, sensitive, heldBack, problems } = answer;
    printJson({
      version: 1,
      done,
      [done ? 'applied' : 'planned']: steps,
      ...(done ? {} : { applied: [] }),
      conflicts,
      sensitive,
      heldBack,
      problems,
    });
    return exitCode;
  }
  if (choices.dryRun) printPlan(answer);
  else if (answer.done) printDone(answer, choices.conflicts);
  else printRefusal(answer);
  printSensitive(answer);
  return exitCode;
};
