/**
 * What is known of programs, as data: `programs/` holds the tables, `read-program` reads words by them. Classes are written in
 * their letters (`classes.ts`), options as a list between blanks. An option matches in every form GNU's and BSD's parsers take:
 * clustered (`-rf`), with its value attached, shortened (`--recurs`), before or after operands.
 */
export interface Program {
  /** Its classes, used plainly. */
  readonly is: string;
  /** Added where one of the options is there. */
  readonly with?: Readonly<Record<string, string>>;
  /** Instead of `is` where one of the options is there. */
  readonly only?: Readonly<Record<string, string>>;
  /** Those options count as the first word alone: what follows an operand is for the program that it runs. */
  readonly onlyFirst?: boolean;
  /** Instead of `is` where it stands alone, at a terminal. */
  readonly bare?: string;
  /** Added where there are at least so many operands. */
  readonly operands?: Readonly<Record<number, string>>;
  /** Added where an operand matches. */
  readonly matching?: Readonly<Record<string, string>>;
  /** It only looks where its operands, joined by blanks, match; options can still add to that. A computed operand is met by `[^ ]` only. */
  readonly asking?: string;
  /** Added where the value of one of the options matches. */
  readonly valued?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /**
   * Instead of networked where it speaks to loopback, which is the jail's own: all its operands do, or the values of the options that
   * name a host; without one of those, it speaks to a server of its own machine. Not by the options of `unless`, which lead elsewhere.
   */
  readonly loopback?: { readonly is: string; readonly host?: string; readonly unless?: string };
  /** Added where a computed word could be an option. */
  readonly unsure?: string;
  /** Options that take a value as the next word. */
  readonly values?: string;
  /** Options whose value, if they have one, is in the same word: `-i.bak`. */
  readonly attached?: string;
  /** Options whose value is shell text that it runs. */
  readonly text?: string;
  /** It runs the command that follows so many operands of its own. */
  readonly runs?: number;
  /** As `runs`, for the words after one of these options. */
  readonly runsAfter?: string;
  /** It runs its operands, joined by blanks, as shell text. */
  readonly runsText?: true;
  /** `NAME=VALUE` before the command is an assignment. */
  readonly assignments?: true;
  /** Long options have one dash. */
  readonly dashes?: 'single';
  readonly subcommands?: Readonly<Record<string, Program>>;
  /** For a subcommand that is not listed; without it, as the program itself. */
  readonly otherwise?: Program;
  /** Why it is what it is, and what to do instead. */
  readonly why?: string;
}

/** By name, or by several between blanks: a table is on the way to every command, and most of it is never asked for. */
export type Programs = Readonly<Record<string, Program>>;

/** The same for each of the names. */
export function each(names: string, program: Program): Programs {
  return { [names]: program };
}

/** Every name of each table that was asked for one: to go through a table takes longer than to read a command. */
const namesOfTables = new WeakMap<object, ReadonlyMap<string, unknown>>();

/** What is listed later counts. */
function namesOf<Entry>(table: Readonly<Record<string, Entry>>): ReadonlyMap<string, Entry> {
  const known = namesOfTables.get(table) as ReadonlyMap<string, Entry> | undefined;
  if (known !== undefined) return known;
  const names = new Map<string, Entry>();
  for (const [together, entry] of Object.entries(table)) {
    for (const name of together.split(' ')) names.set(name, entry);
  }
  namesOfTables.set(table, names);
  return names;
}

export function named<Entry>(table: Readonly<Record<string, Entry>>, name: string): Entry | undefined {
  return name === '' ? undefined : namesOf(table).get(name);
}
