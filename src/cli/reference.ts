/** The reference of all verbs, from their own table: docs/cli.md and the manual page docs/ctx.1. Pure. */
import type { Option, Verb } from './verb.js';
import { type VerbGroup, verbGroups } from './verb-groups.js';

const exitCodes: readonly (readonly [string, string])[] = [
  ['0', 'it worked'],
  ['1', 'it failed'],
  ['2', 'bad input: the message says what was expected'],
  ['3', 'not all of it was done: `ctx apply` held changes back, `ctx gc` or `ctx vault list` could not read a vault'],
  ['13', 'denied'],
  ['69', 'unavailable: this host, or a service, does not offer what is needed'],
  ['70', 'the keeper or the kept jail that ran the call was killed; or a bug in ctx, which says so'],
  ['130', 'interrupted, as by Ctrl-C'],
  ['141', 'the reader of the output has gone'],
  ['126, 127', 'of `exec` and `run`: the command is not executable, or not found'],
  ['128 + N', 'of `exec` and `run`: the command was killed by signal N'],
  ['any other', 'of `exec` and `run`: the command’s own'],
];

const note = 'This file is generated from the table of verbs; `npm test` says when it is out of date.';

function usageLine({ name, operands }: Verb): string {
  return `ctx ${name} [OPTION...]${operands === undefined ? '' : ` ${operands}`}`;
}

function optionText({ name, value }: Option): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

const inTable = (text: string) => text.replaceAll('|', '\\|');

function verbMarkdown(verb: Verb): string {
  const options = verb.options.map(
    (option) =>
      `| \`${inTable(optionText(option))}\` | ${inTable(option.summary)}${option.repeated ? ' (repeatable)' : ''} |`,
  );
  return [
    `### ctx ${verb.name}`,
    `${capitalized(verb.summary)}.`,
    `\`\`\`text\n${usageLine(verb)}\n\`\`\``,
    ...(options.length === 0 ? [] : [`| option | |\n|---|---|\n${options.join('\n')}`]),
    ...(verb.details === undefined ? [] : [verb.details.join('\n')]),
    `\`\`\`sh\n${verb.examples.join('\n')}\n\`\`\``,
  ].join('\n\n');
}

function groupMarkdown({ title, verbs }: VerbGroup): string {
  return [`## ${capitalized(title)}`, ...verbs.map(verbMarkdown)].join('\n\n');
}

export function markdownReference(verbs: readonly Verb[]): string {
  const codes = exitCodes.map(([code, meaning]) => `| ${code} | ${meaning} |`).join('\n');
  return `${[
    '# The verbs of ctx',
    note,
    'Every verb has `--help` and `--json`.',
    ...verbGroups(verbs).map(groupMarkdown),
    `## Exit codes\n\n| code | meaning |\n|---|---|\n${codes}`,
  ].join('\n\n')}\n`;
}

/** A line of roff that begins with a dot or a quote would be a request; a backslash begins an escape. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('’', "'")
    .replace(/^([.'])/gm, '\\&$1');
}

function verbRoff(verb: Verb): string {
  const options = verb.options.map((option) => `.TP\n.B ${roff(optionText(option))}\n${roff(option.summary)}`);
  const details = verb.details === undefined ? [] : ['.PP', roff(verb.details.join('\n'))];
  return [`.SS ${roff(usageLine(verb))}`, roff(`${capitalized(verb.summary)}.`), ...options, ...details].join('\n');
}

export function manualPage(verbs: readonly Verb[], version: string): string {
  const codes = exitCodes.map(([code, meaning]) => `.TP\n.B ${code}\n${roff(meaning)}`);
  return `${[
    `.TH CTX 1 "" "ctxfs ${version}" "User Commands"`,
    '.SH NAME\nctx \\- run commands and AI agents in a jail, on a fork of your directory',
    '.SH SYNOPSIS\n.B ctx\n.I VERB\n[\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]',
    '.SH DESCRIPTION',
    roff('ctx runs any command, or any agent, in a kernel jail on a copy-on-write fork of the current directory.'),
    roff('Your files stay as they are until you apply the changes.'),
    ...verbGroups(verbs).flatMap(({ title, verbs: own }) => [`.SH ${roff(title.toUpperCase())}`, ...own.map(verbRoff)]),
    '.SH EXIT STATUS',
    ...codes,
  ].join('\n')}\n`;
}
