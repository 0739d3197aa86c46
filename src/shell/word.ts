/** One word of a command, as far as it can be known without running anything. Pure. */
import type { DoubleQuotedChild, Word as SyntaxWord, WordPart } from 'unbash';
import { shellWordValues } from '../base/limits/decisions.js';

export interface Word {
  /** As written. */
  readonly text: string;
  /** Every value it can have; undefined where that is not known. */
  readonly values: readonly string[] | undefined;
  /** What it is sure to begin and to end with. */
  readonly start: string;
  readonly end: string;
  /** Whether it may become several words, or none. */
  readonly splits: boolean;
  /** Names of files that are there, and nothing else. */
  readonly isPattern?: boolean;
}

/** What the variables of a script can hold, by name; a name that is not there can hold anything. */
export type Variables = ReadonlyMap<string, readonly string[] | undefined>;

export function plainWord(text: string): Word {
  return { text, values: [text], start: text, end: text, splits: false };
}

export function unknownWord(text: string, start = ''): Word {
  return { text, values: undefined, start, end: '', splits: true };
}

/** The one value that a word has, where it has one. */
export function knownValue(word: Word | undefined): string | undefined {
  return word?.values?.length === 1 ? word.values[0] : undefined;
}

interface Segment {
  readonly values: readonly string[] | undefined;
  readonly splits: boolean;
  readonly isPattern?: boolean;
}

function fixed(text: string): Segment {
  return { values: [text], splits: false };
}

/** `$(which node)` names what follows: the program found has that name. */
function lookedUp(part: WordPart & { readonly type: 'CommandExpansion' }): readonly string[] | undefined {
  const [only, ...more] = part.script?.commands ?? [];
  if (more.length > 0 || only?.command.type !== 'Command') return undefined;
  const { name, args, prefix, redirects } = only.command;
  if (prefix.length > 0 || redirects.length > 0) return undefined;
  const [first = '', second = '', ...rest] = [name, ...args].map((word) =>
    word?.type === 'Word' && word.parts === undefined ? word.value : '',
  );
  const asked = first === 'which' && rest.length === 0 ? second : undefined;
  const found = asked ?? (first === 'command' && second === '-v' && rest.length === 1 ? rest[0] : undefined);
  return found === undefined || !/^[A-Za-z0-9_.+-]+$/.test(found) ? undefined : [found];
}

function segmentOf(part: WordPart | DoubleQuotedChild, variables: Variables, quoted: boolean): readonly Segment[] {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [fixed(part.value)];
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.length === 0 ? [fixed('')] : part.parts.flatMap((child) => segmentOf(child, variables, true));
    case 'SimpleExpansion':
      return [{ values: variables.get(part.text.slice(1)), splits: !quoted || /^\$[@*]$/.test(part.text) }];
    case 'ParameterExpansion': {
      const plain = part.prefix === undefined && part.index === undefined && part.operation === undefined;
      return [{ values: plain ? variables.get(part.parameter) : undefined, splits: !quoted }];
    }
    case 'CommandExpansion':
      return [{ values: lookedUp(part), splits: !quoted }];
    case 'ArithmeticExpansion':
      return [{ values: undefined, splits: false }];
    case 'Glob':
    case 'ExtendedGlob':
    case 'BraceExpansion':
      return [{ values: undefined, splits: true, isPattern: true }];
    default:
      return [{ values: undefined, splits: true }];
  }
}

function combined(text: string, segments: readonly Segment[]): Word {
  let values: readonly string[] | undefined = [''];
  for (const { values: next } of segments) {
    const count: number = (values?.length ?? 0) * (next?.length ?? 0);
    const before: readonly string[] = values ?? [];
    values = count === 0 || count > shellWordValues ? undefined : before.flatMap((a) => next?.map((b) => a + b) ?? []);
    if (values === undefined) break;
  }
  const fixedText = (segment: Segment) => (segment.values?.length === 1 ? segment.values[0] : undefined);
  const upTo = (parts: readonly Segment[]) => {
    const known = parts.findIndex((segment) => fixedText(segment) === undefined);
    return (known === -1 ? parts : parts.slice(0, known)).map((segment) => fixedText(segment) ?? '');
  };
  return {
    text,
    values,
    start: upTo(segments).join(''),
    end: upTo([...segments].reverse())
      .reverse()
      .join(''),
    splits: segments.some(({ splits }) => splits),
    isPattern: values === undefined && segments.every((each) => each.isPattern === true || !each.splits),
  };
}

export function wordFrom(word: SyntaxWord, variables: Variables): Word {
  if (word.parts === undefined) return plainWord(word.value);
  return {
    ...combined(
      word.text,
      word.parts.flatMap((part) => segmentOf(part, variables, false)),
    ),
    text: word.text,
  };
}

const blanks = ' \t\n';
/** What the shell takes for a pattern of file names in a word without quotes. */
const patterns = '*?[]';

function cutBefore(text: string, characters: string): string {
  const at = [...text].findIndex((character) => characters.includes(character));
  return at === -1 ? text : [...text].slice(0, at).join('');
}

/**
 * The words that it becomes where it is expanded without quotes: none, one or several. Where that depends on something else, as on
 * which files there are, it is one word of which only the start is known. `asName`: `splitValue` looks at each of its values.
 */
export function fieldsFrom(word: SyntaxWord, variables: Variables, asName = false): readonly Word[] {
  const whole = wordFrom(word, variables);
  const { values, splits } = whole;
  if (!splits || values === undefined) return [whole];
  const set = variables.get('IFS');
  const separators = variables.has('IFS') ? (set?.length === 1 ? set[0] : undefined) : blanks;
  const unknown = (characters: string) => [unknownWord(word.text, cutBefore(whole.start, characters))];
  // Anything may divide it.
  if (separators === undefined) return unknown(whole.start);
  const divides = separators + patterns;
  const holds = (text: string, characters: string) => [...text].some((character) => characters.includes(character));
  const [only = '', ...others] = values;
  // Of several one may be none at all.
  if (values.every((value) => (value !== '' || others.length > 0) && !holds(value, divides))) return [whole];
  if (values.some((value) => holds(value, patterns))) return unknown(divides);
  if (asName && others.length > 0 && separators === blanks) return [whole];
  // What is quoted beside it is not divided.
  const isPlain = word.parts?.every(
    (part) =>
      part.type === 'SimpleExpansion' ||
      part.type === 'ParameterExpansion' ||
      (part.type === 'Literal' && !holds(part.value, divides)),
  );
  if (others.length > 0 || isPlain !== true) return unknown(divides);
  const fields = [''];
  for (const character of only) {
    if (separators.includes(character)) fields.push('');
    else fields.push(`${fields.pop()}${character}`);
  }
  return fields.filter((field) => field !== '').map(plainWord);
}

/** The parts of a here-document without quotes. */
export function textFrom(parts: readonly WordPart[], text: string, variables: Variables): string | undefined {
  return knownValue(
    combined(
      text,
      parts.flatMap((part) => segmentOf(part, variables, true)),
    ),
  );
}

/** A word in the place of a command's name, as the words it becomes: `X='rm -rf'; $X a`. */
export function splitValue(word: Word, value: string): readonly Word[] {
  if (!word.splits) return [plainWord(value)];
  return value
    .split(/[ \t\n]+/)
    .filter((part) => part !== '')
    .map(plainWord);
}
