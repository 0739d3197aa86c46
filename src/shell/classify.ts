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
import { type Parser, ParserNeeded, ShellReader } from './reader.js';
import { allClasses, everyReading, type Reading, unreadable } from './reading.js';
import { type Aliases, terminal } from './surroundings.js';
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

const nothing = { variables: new Map(), functions: new Set<string>(), expanded: new Set<string>() };
const start = { input: terminal, grammar: 'bash', ...nothing, depth: 0, ownShell: true } as const;
/** Aliases that stand for aliases, each found by what the one before it stands for: more of them are not read. */
const aliasRounds = 4;

function read(form: CommandForm, parser?: Parser): Reading {
  let aliases: Aliases = new Map();
  for (let round = 0; ; round += 1) {
    const reader = new ShellReader(parser, aliases);
    const found = 'argv' in form ? reader.command(form.argv.map(plainWord), start) : reader.text(form.text, start);
    if (!reader.isShort) return found;
    if (round === aliasRounds) return unreadable(found.text, 'aliases of aliases', [found]);
    aliases = reader.found;
  }
}

export function classification(reading: Reading): Classification {
  const classes: Classes = allClasses(reading);
  const readable = ![...everyReading(reading)].some((each) => !each.readable);
  return Object.freeze({ classes: classNames(classes), mostDangerous: mostDangerous(classes), readable, reading });
}

export async function classify(form: CommandForm): Promise<Classification> {
  try {
    return classification(read(form));
  } catch (error) {
    if (!(error instanceof ParserNeeded)) throw error;
    return classification(read(form, await import('./shell-parser.js')));
  }
}
