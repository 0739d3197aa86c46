/** `ctx classify`: the classes of a command, and what in it they come from. */
import { ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { type Classification, classify, classNames, type Reading } from '../../sdk/classify.js';
import { commandForm } from '../input/command-form.js';
import { type Paint, painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

function readingJson({ text, words, classes, readable, why, parts }: Reading): unknown {
  return { text, words, classes: classNames(classes), readable, why, parts: parts.map(readingJson) };
}

export function classificationJson({ classes, mostDangerous, readable, reading }: Classification): object {
  return { classes, mostDangerous, readable, reading: readingJson(reading) };
}

const shownCharacters = 60;

function shortened(text: string): string {
  const line = visible(text.trim());
  return line.length <= shownCharacters ? line : `${line.slice(0, shownCharacters - 1)}…`;
}

/** What only holds others is not worth a line. */
function linesOf(reading: Reading, indent: string, paint: Paint): readonly string[] {
  const isHolder = reading.words.length === 0 && reading.readable && reading.classes === 0;
  const names = classNames(reading.classes).join(', ');
  const colour = !reading.readable || names.includes('host') ? 'red' : names === 'read_only' ? 'dim' : 'yellow';
  const own = isHolder
    ? []
    : [`${indent}${shortened(reading.text)}`, `${indent}  ${paint(colour, names)}: ${visible(reading.why)}`];
  const deeper = isHolder ? indent : `${indent}  `;
  return [...own, ...reading.parts.flatMap((part) => linesOf(part, deeper, paint))];
}

export function classificationText({ classes, reading }: Classification, paint: Paint): string {
  return `${[paint('bold', classes.join(', ')), ...linesOf(reading, '  ', paint)].join('\n')}\n`;
}

export const run: Run = async (call) => {
  const found = await classify(commandForm(call, 'classify'));
  if (call.flag('json')) printJson({ version: 1, ...classificationJson(found) });
  else print(classificationText(found, painter(process.stdout)));
  return ExitCode.ok;
};
