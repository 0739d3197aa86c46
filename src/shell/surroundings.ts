/** What a command is read in, and how what it runs is read in turn. */
import type { Reading } from './reading.js';
import type { Runners } from './runners.js';
import type { Variables, Word } from './word.js';

/** Where its standard input comes from. A shell runs what it reads there. */
export type ShellInput =
  | { readonly kind: 'terminal' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file' }
  | { readonly kind: 'stream'; readonly networked: boolean };

export const terminal: ShellInput = Object.freeze({ kind: 'terminal' });
export const unknownInput: ShellInput = Object.freeze({ kind: 'stream', networked: false });

/** `zsh`: as bash, where it is not known to differ. `sh`: it may know only what POSIX has. `[[` and `((` are a program and a subshell then, and `function` a program. */
export type Grammar = 'bash' | 'sh' | 'zsh';

export interface Surroundings {
  readonly input: ShellInput;
  readonly grammar: Grammar;
  readonly variables: Variables;
  /** Functions of the text that are in force at this command: their bodies are read where they are. */
  readonly functions: ReadonlySet<string>;
  /** Functions that run what they are called with (`runners`): wherever one is called, that is read. */
  readonly runners?: Runners | undefined;
  /** In the body of one. */
  readonly inRunner?: boolean;
  /** The text of a shell of its own: what it defines is called in it, and not around it. */
  readonly ownShell?: boolean;
  /** Aliases that this text is what they stand for: the shell takes none of them twice. */
  readonly expanded: ReadonlySet<string>;
  /** Single quotes are letters here, as in arithmetic and in a here-document: what is between them is expanded. */
  readonly quotesAreLetters?: boolean;
  /** How many texts and commands this one is inside of. */
  readonly depth: number;
}

/** What a name may stand for, by the name: each text that it is given anywhere. */
export type Aliases = ReadonlyMap<string, ReadonlySet<string>>;

export interface Reader {
  /** Those of the whole request, as a reading before this one found them. */
  readonly aliases: Aliases;
  /** One was found: where it was not known before, everything is read again. */
  findAlias(name: string, text: string): void;
  /** The first word is the program. */
  command(words: readonly Word[], around: Surroundings): Reading;
  /** Shell text, with variables and functions of its own. */
  text(text: string, around: Surroundings): Reading;
}
