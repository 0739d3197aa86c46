/** A program's words as options and operands, by its table. Pure. */
import type { Program } from './program.js';
import { knownValue, plainWord, type Word } from './word.js';

export interface ShellOption {
  /** With its dashes; `--` for the word that ends them. */
  readonly name: string;
  readonly value: Word | undefined;
  /** Where it is among the words. */
  readonly at: number;
}

export interface Options {
  readonly options: readonly ShellOption[];
  readonly operands: readonly Word[];
  /** Where each operand is among the words. */
  readonly places: readonly number[];
  /** A computed word could be an option that is not seen here. */
  readonly unsure: boolean;
}

/** GNU's parser takes any start of a long option, `--o` too where it is of one only: that is not known here. */
function couldBeOption(known: string, given: string): boolean {
  return known === given || (given.length > 2 && given.startsWith('--') && known.startsWith(given));
}

/** A start of one letter may be another option, whose next word is no value and which does not only ask. */
function isOption(known: string, given: string): boolean {
  return couldBeOption(known, given) && (known === given || given.length > 3);
}

export function names(list: string | undefined): readonly string[] {
  return list === undefined || list === '' ? [] : list.split(' ');
}

export function hasOption(list: string, { options }: Options): boolean {
  return names(list).some((known) => options.some(({ name }) => isOption(known, name)));
}

/** `--no-NAME` takes an option back: `git clean -n --no-dry-run`. */
function isTakenBack(list: string, { options }: Options): boolean {
  const known = names(list);
  return options.some(({ name }) => {
    if (!/^--no-./.test(name) || known.includes(name)) return false;
    return known.some((each) => each.startsWith(`--${name.slice('--no-'.length)}`));
  });
}

/** Of the first word, where it is one option by itself: among letters of a cluster one may be the value of another, as in `perl -iv`. */
function firstAlone(given: Options): Options {
  const first = given.options.filter(({ at }) => at === 0);
  return { ...given, options: first.length === 1 ? first : [] };
}

/** The classes that a program has instead of its own, by its options. */
export function onlyClasses({ only = {}, onlyFirst }: Program, given: Options): string | undefined {
  const options = onlyFirst === true ? firstAlone(given) : given;
  return Object.entries(only).find(([list]) => hasOption(list, options) && !isTakenBack(list, options))?.[1];
}

/** For what makes a command more dangerous. */
export function couldHaveOption(list: string, { options }: Options): boolean {
  return names(list).some((known) => options.some(({ name }) => couldBeOption(known, name)));
}

export function optionValues(list: string | undefined, { options }: Options): readonly (Word | undefined)[] {
  const known = names(list);
  return options.filter(({ name }) => known.some((each) => isOption(each, name))).map(({ value }) => value);
}

/** What of a program's table says which words are its options. */
export type OptionTable = Pick<Program, 'values' | 'text' | 'attached' | 'dashes'>;

export function optionsOf(program: OptionTable, words: readonly Word[], stopAtOperand: boolean): Options {
  const valued = [...names(program.values), ...names(program.text)];
  const takesValue = (name: string) => valued.some((known) => isOption(known, name));
  const attaches = names(program.attached);
  const options: ShellOption[] = [];
  const operands: Word[] = [];
  const places: number[] = [];
  let unsure = false;
  const takeOperands = (from: number) => {
    for (let at = from; at < words.length; at += 1) {
      operands.push(words[at] ?? plainWord(''));
      places.push(at);
    }
  };
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? plainWord('');
    const value = knownValue(word);
    const known = value ?? word.start;
    if (value === '--') {
      options.push({ name: '--', value: undefined, at });
      takeOperands(at + 1);
      break;
    }
    if (value === undefined && (known === '' || known.startsWith('-'))) unsure = true;
    if (!known.startsWith('-') || known === '-') {
      if (stopAtOperand) {
        takeOperands(at);
        break;
      }
      operands.push(word);
      places.push(at);
      continue;
    }
    const start = at;
    const rest = (text: string): Word => (value === undefined ? { ...word, start: text } : plainWord(text));
    if (known.startsWith('--') || program.dashes === 'single') {
      const equals = known.indexOf('=');
      const name = equals < 0 ? known : known.slice(0, equals);
      if (equals < 0 && takesValue(name)) at += 1;
      options.push({
        name,
        value: equals < 0 ? (at > start ? words[at] : undefined) : rest(known.slice(equals + 1)),
        at: start,
      });
      continue;
    }
    for (let letter = 1; letter < known.length; letter += 1) {
      const name = `-${known[letter]}`;
      const attached = known.slice(letter + 1);
      if (attaches.includes(name)) {
        options.push({ name, value: attached === '' && value !== undefined ? undefined : rest(attached), at: start });
        break;
      }
      if (!takesValue(name)) {
        options.push({ name, value: undefined, at: start });
        continue;
      }
      if (attached === '' && value !== undefined) at += 1;
      options.push({ name, value: attached === '' && value !== undefined ? words[at] : rest(attached), at: start });
      break;
    }
  }
  return { options, operands, places, unsure };
}
