/** What was found in a command: a tree of readings, each with its own classes; the command's are those of all of them. */
import { type Classes, hostEscapeRisk, readOnly } from './classes.js';
import type { Word } from './word.js';

export interface Reading {
  /** As written. */
  readonly text: string;
  /**
   * For rules: the program's bare name, its subcommands, then its arguments. Empty for what is not a command of its
   * own.
   */
  readonly words: readonly string[];
  /** All of it: the program as it was called, and every word after it. */
  readonly argv?: readonly string[];
  /** Of those, the ones that may be others than they are written: computed, one of several values, or in somebody's home. */
  readonly open?: readonly Word[];
  /** The first operand says what the program is to do, as in `git push`. */
  readonly hasSubcommands?: boolean;
  /** Its own, without those of its parts. */
  readonly classes: Classes;
  /** False where something that decides is computed: it could be any command. */
  readonly readable: boolean;
  /** A computed word of it could also name a command that it runs: none that is known, so its classes do not say it. */
  readonly mayRunMore?: true;
  readonly why: string;
  /** What it runs, and what is run to make its words. */
  readonly parts: readonly Reading[];
}

export function unreadable(text: string, why: string, parts: readonly Reading[] = []): Reading {
  return { text, words: [], classes: hostEscapeRisk, readable: false, why, parts };
}

/** What holds others and does nothing itself. */
export function holding(text: string, why: string, parts: readonly Reading[], classes: Classes = readOnly): Reading {
  return { text, words: [], classes, readable: true, why, parts };
}

export function allClasses(reading: Reading): Classes {
  return reading.parts.reduce((classes, part) => classes | allClasses(part), reading.classes);
}

/** The reading and all below it, outermost first. */
export function* everyReading(reading: Reading): Generator<Reading> {
  yield reading;
  for (const part of reading.parts) yield* everyReading(part);
}
