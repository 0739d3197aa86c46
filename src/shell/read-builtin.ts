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

export interface Assigned {
  readonly name: string;
  readonly value: Word | undefined;
}

type Place = Pick<ProgramCall, 'reader' | 'around' | 'text'>;

/** The substitutions hidden in a word that will be evaluated. */
export function hiddenCode(word: Word, reader: Reader, around: Surroundings): readonly Reading[] {
  const value = knownValue(word);
  if (value === undefined || !/[$`]/.test(value)) return [];
  const read = reader.text(`: ${value}`, around);
  if (read.parts.length > 0) return [read];
  return [unreadable(word.text, 'it is evaluated, and holds something that cannot be read')];
}

/** What it means to set a variable, beyond the substitutions of its value. */
export function assignmentReading({ name, value }: Assigned, place: Place): Reading | undefined {
  const text = `${name}=${value?.text ?? ''}`;
  const kind = variableKind(name);
  if (kind === 'plain') return undefined;
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
  // `GIT_TRACE=1` prints; what is no absolute path is no file.
  if (kind === 'target' && (value === undefined || !/^(?:\/|af_unix:)/.test(knownValue(value) ?? '/')))
    return undefined;
  const why = kind === 'target' ? `${name} names a file to write` : `${name} changes which programs or which code run`;
  return { text, words: [], classes: mutating, readable: true, why, parts: [] };
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
  const parts = operands.flatMap((word) => {
    const assigned = split(word);
    const own = assigned === undefined ? undefined : assignmentReading(assigned, call);
    return [...(own === undefined ? [] : [own]), ...hiddenCode(word, call.reader, call.around)];
  });
  return reading(
    call,
    computed ? mutating : readOnly,
    computed ? 'it sets a variable with a computed name' : 'sets variables',
    parts,
  );
}

/** `read mapfile readarray unset wait let test [`: their words are names, or are evaluated. */
export function readNames(call: ProgramCall): Reading {
  const [name = ''] = call.called;
  const sets = ['read', 'mapfile', 'readarray', 'unset', 'wait'].includes(name);
  const parts = call.words.flatMap((word) => [
    ...hiddenCode(word, call.reader, call.around),
    ...(sets && variableKind(knownValue(word) ?? '') !== 'plain' ? [poisoned(knownValue(word) ?? '')] : []),
  ]);
  const takes = name === 'mapfile' || name === 'readarray';
  const callbacks = takes ? optionValues('-C', optionsOf({ values: '-C -c -d -n -O -s -u' }, call.words, true)) : [];
  const run = callbacks.map((word) => textReading(call, word));
  return reading(call, readOnly, `${name} is read_only`, [...parts, ...run]);
}

function poisoned(name: string): Reading {
  const why = `${name} changes which programs or which code run`;
  return { text: name, words: [], classes: mutating, readable: true, why, parts: [] };
}

/** `printf -v NAME` sets a variable; else it prints. */
export function readPrintf(call: ProgramCall): Reading {
  const [flag, name] = call.words;
  if (knownValue(flag) !== '-v' || name === undefined) return reading(call, readOnly, 'printf is read_only', []);
  const named = variableKind(knownValue(name) ?? '') === 'plain' ? [] : [poisoned(knownValue(name) ?? '')];
  return reading(call, readOnly, 'printf sets a variable', [...hiddenCode(name, call.reader, call.around), ...named]);
}
