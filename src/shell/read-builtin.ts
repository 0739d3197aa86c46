/**
 * Builtins that set variables or evaluate names. An array's index is arithmetic, and arithmetic runs the substitutions in it, even
 * out of a quoted word: `test -v 'a[$(rm b)]'`.
 */
import { type Classes, mutating, readOnly } from './classes.js';
import { variableKind } from './environment-names.js';
import { optionsOf, optionValues } from './options.js';
import { type ProgramCall, textReading } from './read-program.js';
import { type Reading, unreadable } from './reading.js';
import type { Reader, Surroundings } from './surroundings.js';
import { knownValue, plainWord, type Word } from './word.js';
import { areZshOptions, isOddDeclaration } from './zsh.js';

export interface Assigned {
  readonly name: string;
  readonly value: Word | undefined;
}

type Place = Pick<ProgramCall, 'reader' | 'around' | 'text'>;

/** The substitutions hidden in a word that will be evaluated. Of one that is not known, what is within an index: `a[$x]`. */
export function hiddenCode(word: Word, reader: Reader, around: Surroundings): readonly Reading[] {
  const unknown = () => [unreadable(word.text, 'it is evaluated, and holds something that cannot be read')];
  // Without quotes it is a pattern, too, of which nothing is known: `a[$x]`, `a['$(rm b)']`.
  const hasComputedIndex =
    /^\w+\[[^\]]*$/.test(word.start) || /^\w+\[(?:[^\]]*(?:\$[\w{]|\\)|.*'.*[$`])/s.test(word.text);
  if (word.values === undefined) return hasComputedIndex ? unknown() : [];
  return word.values.flatMap((value) => {
    if (!/[$`]/.test(value)) return [];
    const read = reader.text(`: ${value}`, { ...around, quotesAreLetters: true });
    return read.parts.length > 0 ? [read] : unknown();
  });
}

/** Of one with an index it is not looked for the end: it counts as set. */
const assigns =
  /(?<![\w$])([A-Za-z_]\w*)(?:\[|\s?(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--))|(?:\+\+|--)\s?([A-Za-z_]\w*)/g;

/** Arithmetic sets variables, too. A number is a name of a file, and of a directory: `((BASH_ENV=5))`. */
export function assignedIn(calculation: string): readonly Reading[] {
  const names = [...calculation.replace(/\s+/g, ' ').matchAll(assigns)].map(
    ([, first, second]) => first ?? second ?? '',
  );
  return [...new Set(names)].flatMap(poisoned);
}

/** A prompt: its escapes are read first, then it is expanded as between double quotes. */
export function promptCode(word: Word, reader: Reader, around: Surroundings): readonly Reading[] {
  const value = knownValue(word);
  if (value === undefined) return [];
  if (/\\(?:0?44|140)/.test(value) || (/[$`]/.test(value) && /\\[0-7]/.test(value)))
    return [unreadable(word.text, 'a prompt with characters by number, which may be any')];
  return /[$`]/.test(value) ? [reader.text(`: <<END-OF-PROMPT\n${value}\nEND-OF-PROMPT`, around)] : [];
}

/** What it means to set a variable, beyond the substitutions of its value. */
export function assignmentReading({ name, value }: Assigned, place: Place): Reading | undefined {
  const text = `${name}=${value?.text ?? ''}`;
  const kind = variableKind(name);
  if (kind === 'plain') return undefined;
  if (kind === 'lookup') return unreadable(text, `${name} gives other programs to names`);
  if (kind === 'command' && value !== undefined) {
    const run = knownValue(value) === '' ? [] : [textReading(place, value)];
    return {
      text,
      words: [],
      classes: readOnly,
      readable: true,
      why: `${name} is a command that programs run`,
      parts: run,
    };
  }
  if (kind === 'prompt' && value !== undefined) {
    const run =
      value.values === undefined
        ? [unreadable(text, 'a prompt is computed')]
        : promptCode(value, place.reader, place.around);
    return { text, words: [], classes: readOnly, readable: true, why: `${name} is a prompt`, parts: run };
  }
  // `GIT_TRACE=1` prints; what is no absolute path is no file.
  if (kind === 'target' && (value === undefined || !/^(?:\/|af_unix:)/.test(knownValue(value) ?? '/')))
    return undefined;
  const why = kind === 'target' ? `${name} names a file to write` : `${name} changes which programs or which code run`;
  // A shell expands what these hold.
  const expanded = /^(?:BASH_)?ENV$/.test(name) && value !== undefined;
  const parts = expanded ? promptCode(value, place.reader, place.around) : [];
  return { text, words: [], classes: mutating, readable: true, why, parts };
}

function split(word: Word): Assigned | undefined {
  const match = /^([A-Za-z_][A-Za-z0-9_]*)(?:\[.*\])?\+?=/s.exec(word.start);
  const [whole = '', name = ''] = match ?? [];
  if (match === null) return undefined;
  const value = knownValue(word);
  if (value !== undefined) return { name, value: plainWord(value.slice(whole.length)) };
  return { name, value: { ...word, start: word.start.slice(whole.length), values: undefined } };
}

/** Names and assignments among the words of `env`, `export`, `declare`, `read`. */
export function assignedBy(words: readonly Word[]): readonly Assigned[] {
  return words.flatMap((word) => split(word) ?? []);
}

function reading(call: ProgramCall, classes: Classes, why: string, parts: readonly Reading[]): Reading {
  const words = [...call.called, ...call.words.map((word) => knownValue(word) ?? word.text)];
  return { text: call.text, words, classes, readable: true, why, parts };
}

function isFlag(word: Word): boolean {
  return /^[-+]./.test(word.start);
}

/** `export declare typeset local readonly`. */
export function readDeclaration(call: ProgramCall): Reading {
  const operands = call.words.filter((word) => !isFlag(word));
  const computed = operands.some(
    (word) => word.values === undefined && !/^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/.test(word.start),
  );
  if (call.around.grammar === 'zsh' && call.words.some((word) => isFlag(word) && isOddDeclaration(word.start)))
    return unreadable(call.text, 'zsh makes something else of such a variable: use bash');
  const refers = call.words.some((word) => /^-[a-zA-Z]*n/.test(word.start));
  const counts = call.words.some((word) => /^-[a-zA-Z]*i/.test(word.start));
  const parts = operands.flatMap((word) => {
    const assigned = split(word);
    const own = assigned === undefined ? undefined : assignmentReading(assigned, call);
    const text = knownValue(assigned?.value) ?? '';
    const other = [...(refers ? poisoned(text) : []), ...(counts ? assignedIn(text) : [])];
    return [...(own === undefined ? [] : [own]), ...other, ...hiddenCode(word, call.reader, call.around)];
  });
  return reading(
    call,
    computed ? mutating : readOnly,
    computed ? 'it sets a variable with a computed name' : 'sets variables',
    parts,
  );
}

/** Text of a command that the shell puts words of its own behind. */
function withMore(word: Word | undefined): Word | undefined {
  const value = knownValue(word);
  return value === undefined ? undefined : plainWord(`${value} "$_" "$_"`);
}

/** To `test` a word is a name behind `-v` and `-R` alone; what is known of others is read all the same. */
function isText(name: string, word: Word, before: Word | undefined): boolean {
  if ((name !== 'test' && name !== '[') || word.values !== undefined) return false;
  return before === undefined || !/^(?:-[vR]?)?$/.test(before.start);
}

/** `read mapfile readarray unset wait getopts let test [`: their words are names, or are evaluated. */
export function readNames(call: ProgramCall): Reading {
  const [name = ''] = call.called;
  const counted = name === 'let' ? call.words.flatMap((word) => word.values ?? []) : [];
  const sets = ['read', 'mapfile', 'readarray', 'unset', 'wait', 'getopts'].includes(name);
  const parts = call.words.flatMap((word, at) => [
    ...(isText(name, word, call.words[at - 1]) ? [] : hiddenCode(word, call.reader, call.around)),
    ...(sets && !(name === 'unset' && isPrompt(word)) ? poisoned(knownValue(word) ?? '') : []),
  ]);
  const takes = name === 'mapfile' || name === 'readarray';
  const callbacks = takes ? optionValues('-C', optionsOf({ values: '-C -c -d -n -O -s -u' }, call.words, true)) : [];
  const run = callbacks.map((word) => textReading(call, withMore(word)));
  return reading(call, readOnly, `${name} is read_only`, [...parts, ...counted.flatMap(assignedIn), ...run]);
}

function isPrompt(word: Word): boolean {
  return variableKind(knownValue(word) ?? '') === 'prompt';
}

/** A variable, or one of an array, that is set to what is not looked at. */
export function poisoned(variable: string): readonly Reading[] {
  const name = variable.replace(/\[.*/s, '');
  const kind = variableKind(name);
  if (kind === 'plain') return [];
  if (kind === 'lookup') return [unreadable(variable, `${name} gives other programs to names`)];
  if (kind === 'prompt') return [unreadable(variable, 'a prompt is computed')];
  const why = `${name} changes which programs or which code run`;
  return [{ text: variable, words: [], classes: mutating, readable: true, why, parts: [] }];
}

/** What is attached to an option. */
function cutStart(word: Word, start: string): Word {
  const cut = (text: string) => text.slice(start.length);
  return { ...word, text: cut(word.text), start: cut(word.start), values: word.values?.map(cut) };
}

/** `printf -v NAME` sets a variable; else it prints. */
export function readPrintf(call: ProgramCall): Reading {
  const [flag, next] = call.words;
  const name = flag === undefined || knownValue(flag) === '-v' ? next : cutStart(flag, '-v');
  if (flag?.start.startsWith('-v') !== true || name === undefined)
    return reading(call, readOnly, 'printf is read_only', []);
  const hidden = hiddenCode(name, call.reader, call.around);
  return reading(call, readOnly, 'printf sets a variable', [...hidden, ...poisoned(knownValue(name) ?? '')]);
}

/** `compgen -C COMMAND`; the words of `-W` are expanded like any others. */
export function readCompletion(call: ProgramCall): Reading {
  const options = optionsOf({ values: '-A -C -F -G -P -S -W -X -o' }, call.words, true);
  const words = optionValues('-W', options).flatMap((word) =>
    word === undefined || word.values === undefined
      ? [unreadable(word?.text ?? call.text, 'words that are expanded are computed')]
      : hiddenCode(word, call.reader, call.around),
  );
  const run = optionValues('-C', options).map((word) => textReading(call, withMore(word)));
  return reading(call, readOnly, `${call.called.join(' ')} is read_only`, [...words, ...run]);
}

/** `fc` runs an earlier command again; `-l` lists them. */
export function readFc(call: ProgramCall): Reading {
  if (/^-[nr]*l/.test(knownValue(call.words[0]) ?? '')) return reading(call, readOnly, 'fc lists commands', []);
  return unreadable(call.text, 'fc runs an earlier command, which is not known here');
}

/** `hash -p PATH NAME`: from here on the name is another program's. */
export function readHash(call: ProgramCall): Reading {
  const options = optionsOf({ values: '-p' }, call.words, true);
  if (optionValues('-p', options).length === 0 && !options.unsure)
    return reading(call, readOnly, 'hash is read_only', []);
  return unreadable(call.text, 'hash -p gives another program to a name');
}

/** `!x` is an earlier command then, and `ls PATH=x` sets a variable: words are not what they seem. */
const misleading = /^(?:histexpand|keyword)$/;

export function misleads(words: readonly (string | undefined)[]): boolean {
  return words.some((word, at) => {
    if (word === undefined) return false;
    return /^-[a-zA-Z]*[Hk]/.test(word) || (misleading.test(word) && !/^\+[a-zA-Z]*o$/.test(words[at - 1] ?? ''));
  });
}

/** `set`, `shopt`. */
export function readSettings(call: ProgramCall): Reading {
  const words = call.words.map(knownValue);
  const end = words.indexOf('--');
  const [name = ''] = call.called;
  if (call.around.grammar === 'zsh' && !areZshOptions(words))
    return unreadable(call.text, 'with this setting of zsh words are not what they seem');
  if (misleads(end < 0 ? words : words.slice(0, end)) && !words.includes('-u'))
    return unreadable(call.text, 'with this setting of the shell words are not what they seem');
  return reading(call, readOnly, `${name} is read_only`, []);
}
