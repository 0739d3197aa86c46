/** `ctx apply`: the fork's changes become the person's. */
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import type { Answer, ApplyOptions, ConflictChoice, Fork } from '../sdk/fork.js';
import { counted } from './change-text.js';
import { forkHere } from './fork-here.js';
import { painter, printJson } from './output.js';
import type { Arguments, Run } from './verb.js';

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

/** An undo takes back all of the last apply: whatever chooses or only looks would be passed over. */
function refuseChoices(call: Arguments): void {
  const named = ['to', 'conflicts', 'ours', 'theirs'].find((name) => call.values(name).length > 0);
  const switched = ['dry-run', 'allow-sensitive'].find((name) => call.flag(name));
  const chosen = named ?? switched;
  const extra = call.words.length > 0 ? 'PATH' : chosen === undefined ? undefined : `--${chosen}`;
  if (extra === undefined) return;
  const reason = `expected --undo alone, got ${extra} too: it takes back the whole of the last apply into this directory`;
  throw new ErrnoError('EINVAL', { operation: 'apply', reason, remedy: 'ctx apply --undo' });
}

/** Paths that were asked for and have no change. */
function printUnmatched({ unmatched }: Answer): void {
  const paint = painter(process.stderr);
  for (const path of unmatched) {
    process.stderr.write(`  ${paint('yellow', `nothing is pending at ${visible(path)}`)}\n`);
  }
}

function choicesOf(call: Arguments) {
  return {
    conflicts: (call.value('conflicts') ?? 'refuse') as ConflictChoice,
    ours: call.values('ours'),
    theirs: call.values('theirs'),
    paths: call.words.length === 0 ? undefined : call.words,
    allowSensitive: call.flag('allow-sensitive'),
    dryRun: call.flag('dry-run'),
    to: call.value('to'),
  } satisfies ApplyOptions;
}

async function undo(call: Arguments, fork: Fork): Promise<number> {
  const { done, steps, conflicts, pending } = await fork.undoApply();
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

export const run: Run = async (call, host) => {
  const choices = choicesOf(call);
  if (call.flag('undo')) refuseChoices(call);
  const fork = await forkHere(call, host);
  if (call.flag('undo')) return undo(call, fork);
  const answer = await fork.apply(choices);
  const exitCode = answer.done || (choices.dryRun && answer.undecided.length === 0) ? ExitCode.ok : ExitCode.failed;
  if (call.flag('json')) {
    const { done, steps, conflicts, sensitive, heldBack, unmatched, problems } = answer;
    printJson({
      version: 1,
      done,
      [done ? 'applied' : 'planned']: steps,
      ...(done ? {} : { applied: [] }),
      conflicts,
      sensitive,
      heldBack,
      unmatched,
      problems,
    });
    return exitCode;
  }
  if (choices.dryRun) printPlan(answer);
  else if (answer.done) printDone(answer, choices.conflicts);
  else printRefusal(answer);
  printUnmatched(answer);
  printSensitive(answer);
  return exitCode;
};
