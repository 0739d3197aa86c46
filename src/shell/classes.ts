/**
 * What a command may do, as a set. `read_only` is the empty set: it says that nothing else was found. Sets only ever grow while a
 * command is read, so that nothing that wraps a command can make it look safer.
 */

/** From the least to the most dangerous: the last one that a command has decides. */
export const commandClasses = [
  'read_only',
  'interactive',
  'mutating',
  'destructive',
  'networked',
  'host_escape_risk',
] as const;

export type CommandClass = (typeof commandClasses)[number];

/** A bit a class. */
export type Classes = number;

const bits: Readonly<Record<CommandClass, Classes>> = {
  read_only: 0,
  interactive: 1,
  mutating: 2,
  destructive: 4,
  networked: 8,
  host_escape_risk: 16,
};

const letters: Readonly<Record<string, Classes>> = {
  r: bits.read_only,
  i: bits.interactive,
  m: bits.mutating,
  d: bits.destructive,
  n: bits.networked,
  h: bits.host_escape_risk,
};

export const readOnly: Classes = bits.read_only;
export const mutating: Classes = bits.mutating;
export const networked: Classes = bits.networked;
export const hostEscapeRisk: Classes = bits.host_escape_risk;

export function isCommandClass(text: string): text is CommandClass {
  return commandClasses.some((known) => known === text);
}

/** Of the tables' short form, a letter a class; a letter that stands for none is a defect of a table. */
export function classesOf(text: string): Classes {
  let classes = readOnly;
  for (const letter of text) {
    const bit = letters[letter];
    if (bit === undefined) throw new TypeError(`no class has the letter ${letter}`);
    classes |= bit;
  }
  return classes;
}

/** What is destructive is mutating, too: only the stronger is named. */
export function classNames(classes: Classes): readonly CommandClass[] {
  const hidden = (classes & bits.destructive) === 0 ? 0 : bits.mutating;
  const named = commandClasses.filter((name) => (classes & ~hidden & bits[name]) !== 0);
  return named.length === 0 ? ['read_only'] : named;
}

export function mostDangerous(classes: Classes): CommandClass {
  return classNames(classes).at(-1) ?? 'read_only';
}
