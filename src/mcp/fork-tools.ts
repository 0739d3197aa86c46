/** The fork: what it changes, its checkpoints, and the request that a person keep it. */
import { ErrnoError } from '../base/errno.js';
import { countChanges } from '../sdk/changes.js';
import type { ApplyReport, RolledBack } from '../sdk/workspace/fork.js';
import { countSteps, stepText } from '../sdk/workspace/steps.js';
import { text, words } from './input.js';
import { counted, nameText, shortened } from './texts.js';
import type { McpTool, ToolAnswer } from './tool.js';

const diffTool: McpTool = {
  name: 'diff',
  title: 'Show what changed',
  description: "What the fork changes in the person's directory, as a unified diff.",
  input: {
    fields: {
      paths: words('only these files and directories'),
      since: text('a checkpoint, by number or name: only what changed after it'),
    },
  },
  effect: 'reads',
  async run(input, { workspace }) {
    const style = { paint: (_colour: string, shown: string) => shown, escaped: true };
    const asked = { paths: input.words('paths') ?? [], since: input.optionalText('since') };
    const found = await workspace.diff({ ...asked, style });
    if (found.changes.length === 0) return { text: '[no changes]' };
    const left = found.left > 0 ? `\n[and ${counted(found.left, 'more file')}: name paths]` : '';
    return {
      text:
        `${shortened(found.text).trimEnd()}${left}` ||
        `[${counted(countChanges(found.changes), 'change')}, none of text]`,
    };
  },
};

const checkpointTool: McpTool = {
  name: 'checkpoint',
  title: 'Save a checkpoint',
  description:
    'Saves a checkpoint of the fork, for rollback and diff. There is an unnamed one before every command anyway.',
  input: { fields: { name: text('a name; every checkpoint has a number, too') } },
  effect: 'changes the fork',
  async run(input, { workspace }) {
    const { id, name } = await workspace.checkpoint(input.optionalText('name'));
    return { text: `checkpoint ${id}${name === undefined ? '' : ` ${name}`}`, facts: { id, name } };
  },
};

/** Of single paths no command is undone as a whole. */
function rolledBack({ to, undone: changes, unmatched, trees, pending }: RolledBack, isPartial: boolean): ToolAnswer {
  const undone = changes.map(({ kind, path }) => ({ kind, path }));
  const together = isPartial || to.beside === undefined ? [] : [to.reason, ...to.beside];
  return {
    text: [
      `back to checkpoint ${to.id}, ${counted(countChanges(changes), 'change')} undone`,
      ...(together.length === 0 ? [] : [`these ran at the same time and were undone together: ${together.join('; ')}`]),
      ...undone.slice(0, 40).map(({ kind, path }) => `undone: ${kind} ${nameText(path)}`),
      ...unmatched.map((path) => `nothing has changed since then at ${nameText(path)}`),
      ...trees.map(({ file, problem }) =>
        problem === null ? `also took back ${file}` : `could not take back ${file}: ${problem}`,
      ),
    ].join('\n'),
    facts: { checkpoint: to.id, undone, unmatched, trees, pending },
  };
}

const rollbackTool: McpTool = {
  name: 'rollback',
  title: 'Undo',
  description:
    'Undoes the last command or write that changed anything, or goes back to a checkpoint; of some paths, or of all.',
  input: {
    fields: { checkpoint: text('by number or name'), paths: words('only these files and directories') },
  },
  effect: 'changes the fork',
  async run(input, { workspace }) {
    const paths = input.words('paths') ?? [];
    const rolled = await workspace.rollback({ checkpoint: input.optionalText('checkpoint'), paths });
    return rolledBack(rolled, paths.length > 0);
  },
};

/** A save that came while it was writing stays, and the rest is written. */
function conflictReason({ undecided, written, aside }: ApplyReport): string {
  const paths = undecided.map(nameText).join(', ');
  if (written.length === 0 && aside.length === 0)
    return `the person changed these too, so nothing was written: ${paths}`;
  const earlier = aside.length === 0 ? '' : `; earlier saves of theirs are in ${aside.map(nameText).join(', ')}`;
  const rest = counted(countSteps(written), 'other change');
  return `the person saved these meanwhile, and their versions stay: ${paths}; ${rest} applied${earlier}`;
}

function applied(report: ApplyReport): ToolAnswer {
  const { done, steps, undecided, heldBack, withheld, heldUnits, unmatched, problems, complete } = report;
  if (undecided.length > 0) {
    throw new ErrnoError('EBUSY', {
      operation: 'apply',
      reason: conflictReason(report),
      remedy:
        'roll these paths back and do the work again on their version, or ask the person to choose: ctx apply --conflicts',
    });
  }
  const held =
    withheld.length === 0
      ? []
      : [
          `held back, for the person alone to apply (ctx apply --allow-sensitive): ${withheld.map(nameText).join(', ')}`,
        ];
  const unasked = heldBack.length - withheld.length;
  const rest = unasked > 0 ? [`still in the fork, not asked for: ${counted(unasked, 'change')}`] : [];
  const head = done ? `applied ${counted(countSteps(steps), 'change')}` : 'nothing to apply';
  return {
    text: [
      head,
      ...(done ? steps.map((step) => `${step.action} ${nameText(stepText(step))}`) : []),
      ...problems.map(({ path, reason }) => `left out: ${nameText(path)} (${reason})`),
      ...unmatched.map((path) => `nothing is pending at ${nameText(path)}`),
      ...held,
      ...rest,
    ].join('\n'),
    facts: { done, complete, steps: done ? steps : [], heldBack, withheld, heldUnits, unmatched, problems },
  };
}

const applyTool: McpTool = {
  name: 'apply',
  title: 'Ask to keep the changes',
  description:
    "Asks the person to have the fork's changes written into their directory, and waits for their answer. " +
    'Only the person can approve it.',
  input: { fields: { paths: words('only these files and directories') } },
  effect: 'changes the directory',
  async run(input, { workspace, signal, asked }) {
    const paths = input.words('paths');
    const answer = await workspace.askToApply({
      ...(paths === undefined ? {} : { paths }),
      signal,
      onApproval: async (request) => {
        asked(request);
        return undefined;
      },
    });
    return applied(answer);
  },
};

export const forkTools: readonly McpTool[] = [diffTool, checkpointTool, rollbackTool, applyTool];
