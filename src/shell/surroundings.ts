/** What a command is read in, and how what it runs is read in turn. */
import type { Reading } from './reading.js';
import type { Variables, Word } from './word.js';

/** Where its standard input comes from. A shell runs what it reads there. */
export type ShellInput =
  | { readonly kind: 'terminal' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file' }
  | { readonly kind: 'stream'; readonly networked: boolean };

export const terminal: ShellInput = Object.freeze({ kind: 'terminal' });

export interface Surroundings {
  readonly input: ShellInput;
  readonly variables: Variables;
  /** Functions of the text that are in force at this command: their bodies are read where they are. */
  readonly functions: ReadonlySet<string>;
  /** How many texts and commands this one is inside of. */
  readonly depth: number;
}

export interface Reader {
  /** The first word is the program. */
  command(words: readonly Word[], around: Surroundings): Reading;
  /** Shell text, with variables and functions of its own. */
  text(text: string, around: Surroundings): Reading;
}
