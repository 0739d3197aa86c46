/** `ctx apply`: the fork's changes become the person's. */
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import type { ApplyOptions, ApplyReport, ConflictChoice, Fork } from '../../sdk/workspace/fork.js';
import { countSteps, isControl, stepText } from '../../sdk/workspace/steps.js';
import { forkHere } from '../input/fork-here.js';
import { interruptibly } from '../text/apply-progress.js';
import { counted } from '../text/change-text.js';
import { painter, print, printError, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';

function printSensitive({ sensitive, withheld, heldUnits }: ApplyReport): void {
  if (withheld.length === 0) return;
  const held = new Set(withheld);
  const unitOf = new Map(heldUnits.flatMap(({ path, because }) => because.map((each) => [each, path] as const)));
  const paint = painter(process.stderr);
  const whole = (path: string) => {
    const unit = unitOf.get(path);
    return unit === undefined ? '' : `; ${visible(unit)}/ is held back as a whole`;
  };
  const left = sensitive.filter(({ path }) => held.has(path));
  const lines = [
    paint('yellow', `  ${counted(withheld.length, 'change')} held back, still in the fork:`),
    ...left.map(({ path, why }) => `    ${visible(path)}  ${paint('dim', `${why}${whole(path)}`)}`),
    `${paint('dim', '  try:')} look at them with ctx diff, then ${
      withheld.every(isControl)
        ? 'change .ctx yourself: apply never writes there, and ctx drop discards them'
        : 'ctx apply --allow-sensitive'
    }`,
  ];
  printError(`${lines.join('\n')}\n`);
}

/** Undecided conflicts and what could not be done are failures; what is held back is not, but must not look like all of it. */
function exitCodeOf({ done, undecided, complete }: ApplyReport, dryRun: boolean): number {
  if (!done && !(dryRun && undecided.length === 0)) return ExitCode.failed;
  return complete ? ExitCode.ok : ExitCode.partly;
}

function printDone(answer: ApplyReport, choice: ConflictChoice): void {
  const paint = painter(process.stdout);
  const { steps, conflicts, problems } = answer;
  const kept = conflicts.length > 0 && choice === 'ours' ? `, ${counted(conflicts.length, 'path')} left as yours` : '';
  print(`${paint('green', 'applied')} ${counted(countSteps(steps), 'change')}${kept}\n`);
  printProblems(problems);
}

function printProblems(problems: ApplyReport['problems']): void {
  for (const { path, reason } of problems) {
    printError(`  ${painter(process.stderr)('yellow', `left out: ${visible(path)} (${visible(reason)})`)}\n`);
  }
}

function printPlan({ steps, undecided }: ApplyReport): void {
  const paint = painter(process.stdout);
  for (const step of steps) {
    print(`  ${paint(step.action === 'put' ? 'green' : 'red', step.action)} ${visible(stepText(step))}\n`);
  }
  for (const path of undecided) print(`  ${paint('red', 'conflict')} ${visible(path)}\n`);
  print(`${counted(countSteps(steps), 'step')}, nothing was written\n`);
}

const asideLines = (aside: readonly string[]) =>
  aside.map((path) => `  an earlier save of yours is in ${visible(path)}`);

/** Their saves stay; the rest was written. */
function printSaved({ undecided, written, aside }: ApplyReport): void {
  const paint = painter(process.stderr);
  const lines = [
    `${paint('red', 'ctx:')} apply: you saved ${counted(undecided.length, 'path')} while ctx was writing; your versions stay, ${counted(countSteps(written), 'other change')} applied (EBUSY)`,
    ...undecided.map((path) => `  ${visible(path)}`),
    ...asideLines(aside),
    `${paint('dim', '  try:')} ctx apply again, with --conflicts ours or --conflicts theirs; a program that keeps a file open has to close it`,
  ];
  printError(`${lines.join('\n')}\n`);
}

function printRefusal(answer: ApplyReport): void {
  const { undecided } = answer;
  if (answer.written.length > 0 || answer.aside.length > 0) {
    printSaved(answer);
    return;
  }
  const paint = painter(process.stderr);
  const lines = [
    `${paint('red', 'ctx:')} apply: both you and the fork changed ${counted(undecided.length, 'path')}; nothing was written (EBUSY)`,
    ...undecided.map((path) => `  ${visible(path)}`),
    `${paint('dim', '  try:')} --conflicts ours keeps yours, --conflicts theirs takes the fork's`,
  ];
  printError(`${lines.join('\n')}\n`);
}

/** An undo takes back all of the last apply: whatever chooses or only looks would be passed over. Your own changes may be left. */
function refuseChoices(call: Arguments): void {
  const isLeaving = call.value('conflicts') === 'ours';
  const choices = ['to', ...(isLeaving ? [] : ['conflicts']), 'ours', 'theirs'];
  const named = choices.find((name) => call.values(name).length > 0);
  const switched = ['dry-run', 'allow-sensitive'].find((name) => call.flag(name));
  const chosen = named ?? switched;
  const extra = call.words.length > 0 ? 'PATH' : chosen === undefined ? undefined : `--${chosen}`;
  if (extra === undefined) return;
  const reason = `expected --undo alone, got ${extra} too: it takes back the whole of the last apply into this directory`;
  throw new ErrnoError('EINVAL', { operation: 'apply', reason, remedy: 'ctx apply --undo' });
}

/** Paths that were asked for and have no change. */
function printUnmatched({ unmatched }: ApplyReport): void {
  const paint = painter(process.stderr);
  for (const path of unmatched) {
    printError(`  ${paint('yellow', `nothing is pending at ${visible(path)}`)}\n`);
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
  const isChosen = call.value('conflicts') === 'ours';
  const { done, conflicts, pending, written, left, aside, problems, later } = await interruptibly(
    'apply --undo',
    (told) => fork.undoApply({ ...told, conflicts: isChosen ? 'ours' : 'refuse' }),
  );
  const exitCode = done && (left.length === 0 || isChosen) ? ExitCode.ok : ExitCode.failed;
  if (call.flag('json')) {
    printJson({ version: 1, done, undone: written, conflicts, left, aside, problems, pending, later });
    return exitCode;
  }
  const paint = painter(process.stderr);
  if (!done) {
    const lines = [
      `${paint('red', 'ctx:')} apply --undo: you changed ${counted(conflicts.length, 'path')} since; nothing was written (EBUSY)`,
      ...conflicts.map((path) => `  ${visible(path)}`),
      `${paint('dim', '  try:')} ctx apply --undo --conflicts ours keeps yours and undoes the rest`,
    ];
    printError(`${lines.join('\n')}\n`);
    return exitCode;
  }
  print(
    `${painter(process.stdout)('green', 'undone')} ${counted(countSteps(written), 'step')}, ${pending} pending again\n`,
  );
  if (later !== null) {
    print(
      `  what commands changed since that apply is not in the fork any more: ctx rollback ${later} brings it back\n`,
    );
  }
  printProblems(problems);
  if (left.length > 0) {
    const lines = [
      `  ${paint('yellow', `left as you saved ${left.length === 1 ? 'it' : 'them'}, a conflict for the next apply:`)}`,
      ...left.map((path) => `    ${visible(path)}`),
      ...asideLines(aside),
    ];
    printError(`${lines.join('\n')}\n`);
  }
  return exitCode;
}

export const run: Run = async (call, host) => {
  const choices = choicesOf(call);
  if (call.flag('undo')) refuseChoices(call);
  const fork = await forkHere(call, host);
  if (call.flag('undo')) return undo(call, fork);
  const answer = await interruptibly('apply', (told) => fork.apply({ ...choices, ...told }));
  const exitCode = exitCodeOf(answer, choices.dryRun);
  if (call.flag('json')) {
    const { done, steps, conflicts, undecided, sensitive, heldBack, withheld, heldUnits, complete } = answer;
    const { unmatched, problems, written, aside } = answer;
    printJson({
      version: 1,
      done,
      complete,
      [done ? 'applied' : 'planned']: steps,
      ...(done ? {} : { applied: written }),
      conflicts: [...new Set([...conflicts, ...(written.length > 0 ? undecided : [])])],
      aside,
      sensitive,
      heldBack,
      withheld,
      heldUnits,
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
