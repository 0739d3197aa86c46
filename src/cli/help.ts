/** Help texts, made from the table of verbs. Pure. */
import { groupOf } from './find-verb.js';
import type { Option, Verb } from './verb.js';
import { type VerbGroup, verbGroups } from './verb-groups.js';

function columns(
  rows: readonly (readonly [string, string])[],
  width = Math.max(...rows.map(([left]) => left.length)),
): string {
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}

function optionUsage({ name, value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

/** One line a noun: a verb with its summary, or the verbs of the noun. */
function groupRows({ verbs }: VerbGroup): readonly (readonly [string, string])[] {
  const nouns = [...new Set(verbs.map((verb) => groupOf(verb) ?? verb.name))];
  return nouns.map((noun) => {
    const own = verbs.filter((verb) => groupOf(verb) === noun);
    const single = verbs.find((verb) => verb.name === noun);
    const words = new Set(own.map(({ name }) => name.split(' ')[1] ?? ''));
    return [noun, single?.summary ?? [...words].join(', ')];
  });
}

export function overview(verbs: readonly Verb[], version: string): string {
  const groups = verbGroups(verbs);
  const rows = groups.map(groupRows);
  const width = Math.max(...rows.flat().map(([left]) => left.length));
  const sections = groups.map(({ title }, index) => `${title}:\n${columns(rows[index] ?? [], width)}`);
  return `ctx ${version}: run commands and AI agents in a jail, on a fork of your directory

usage: ctx VERB [OPTION...] [OPERAND...]

${sections.join('\n\n')}

  ctx VERB --help   more on a verb        ctx --version   the version

In any project:
  ctx exec -- npm test   run it, confined, on a fork of this directory
  ctx diff               see what it changed
  ctx apply              keep that, or  ctx drop  to forget it
`;
}

/** The verbs of one noun: `ctx agent new`, `ctx agent show`. */
export function groupUsage(group: string, verbs: readonly Verb[]): string {
  const rows = verbs.map((verb): readonly [string, string] => [verb.name, verb.summary]);
  return `ctx ${group}: its verbs\n\nusage: ctx ${group} VERB [OPTION...] [OPERAND...]\n\n${columns(rows)}\n\n  ctx ${group} VERB --help   more on a verb\n`;
}

export function usage(verb: Verb): string {
  const rows = [...verb.options, { name: 'help', summary: 'show this' }].map((option): readonly [string, string] => [
    optionUsage(option),
    option.summary,
  ]);
  const paragraphs = [
    `ctx ${verb.name}: ${verb.summary}`,
    `usage: ctx ${verb.name} [OPTION...]${verb.operands === undefined ? '' : ` ${verb.operands}`}`,
    columns(rows),
    ...(verb.details === undefined ? [] : [verb.details.join('\n')]),
    `examples:\n${verb.examples.map((line) => `  ${line}`).join('\n')}`,
  ];
  return `${paragraphs.join('\n\n')}\n`;
}
