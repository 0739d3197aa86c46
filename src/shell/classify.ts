/**
 * The shell layer: what a command may do, judged by its words before it runs. Pure: no files, no process; imports `base/` only.
 *
 *     classes                      the six classes, as a set
 *     program  programs/           what is known of programs, as data
 *     word  variables              words, as far as they are known without running anything
 *     read-script                  shell text, every command in it; shell-parser is loaded only where there is text to parse
 *     read-command                 one command: who knows its program
 *     read-program  options        by the tables; read-shell, read-builtin, read-search, read-tool: what a table cannot say
 *     reading                      what was found, as a tree
 *
 * Promises: a command is at least as dangerous as anything that it is seen to run; what decides and cannot be read is the most
 * dangerous; any text at all has an answer, in bounded time. It does not promise to see what a program does once it runs: that is
 * the jail's. To fool it costs a checkpoint, never an escape.
 */
import { type Classes, type CommandClass, classNames, mostDangerous } from './classes.js';
import { ParserNeeded, ShellReader } from './reader.js';
import { allClasses, everyReading, type Reading } from './reading.js';
import { terminal } from './surroundings.js';
import { plainWord } from './word.js';

export type CommandForm = { readonly argv: readonly string[] } | { readonly text: string };

export interface Classification {
  /** All that was found, the least dangerous first. */
  readonly classes: readonly CommandClass[];
  readonly mostDangerous: CommandClass;
  /** False where some part of it could be any command. */
  readonly readable: boolean;
  readonly reading: Reading;
}

const start = { input: terminal, variables: new Map(), functions: new Set<string>(), depth: 0 };

function read(form: CommandForm, reader: ShellReader): Reading {
  return 'argv' in form ? reader.command(form.argv.map(plainWord), start) : reader.text(form.text, start);
}

export function classification(reading: Reading): Classification {
  const classes: Classes = allClasses(reading);
  const readable = ![...everyReading(reading)].some((each) => !each.readable);
  return Object.freeze({ classes: classNames(classes), mostDangerous: mostDangerous(classes), readable, reading });
}

export async function classify(form: CommandForm): Promise<Classification> {
  try {
    return classification(read(form, new ShellReader(undefined)));
  } catch (error) {
    if (!(error instanceof ParserNeeded)) throw error;
    return classification(read(form, new ShellReader(await import('./shell-parser.js'))));
  }
}
