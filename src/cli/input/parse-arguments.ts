/** A verb's words and options, by its table. Pure; what does not fit is refused with what was expected. */
import { ErrnoError } from '../../base/errno.js';
import { nearestWord } from '../../base/nearest-word.js';
import { isUtf8Text } from '../../base/path-bytes.js';
import type { Arguments, Option, Verb } from '../verb.js';

function refuse(verb: Verb, reason: string): never {
  throw new ErrnoError('EINVAL', {
    operation: `ctx ${verb.name}`,
    reason,
    remedy: `ctx ${verb.name} --help shows the usage`,
  });
}

function take(verb: Verb, option: Option, inline: string | undefined, rest: string[]): string {
  if (option.value === undefined) {
    if (inline !== undefined) refuse(verb, `--${option.name} takes no value`);
    return '';
  }
  const value = inline ?? rest.shift();
  if (value === undefined) return refuse(verb, `expected ${option.value} after --${option.name}`);
  if (option.bytes !== true) refuseBytes(verb, value);
  if (option.choices !== undefined && !option.choices.includes(value)) {
    refuse(verb, `expected --${option.name} to be ${option.choices.join(', ')}; got '${value}'`);
  }
  return value;
}

/** Files and names are looked up as text: in the place of such a byte Node puts U+FFFD, which is in the name of another one. */
function refuseBytes(verb: Verb, text: string): void {
  if (isUtf8Text(text)) return;
  throw new ErrnoError('EINVAL', {
    operation: `ctx ${verb.name}`,
    reason: `expected text in UTF-8, got '${text}'`,
    remedy: 'name it by a directory or a link whose name is UTF-8, or rename it first',
  });
}

function checkWords(verb: Verb, words: readonly string[]): void {
  const { words: wanted } = verb;
  const [least, most] =
    wanted === 'none' ? [0, 0] : wanted === 'command' ? [0, Number.POSITIVE_INFINITY] : [wanted.least, wanted.most];
  if (words.length < least) refuse(verb, `expected ${verb.operands ?? 'an operand'}`);
  if (words.length > most) refuse(verb, `unexpected operand '${words[most]}'`);
  if (wanted === 'command') return;
  if (wanted === 'none' || wanted.bytes !== true) for (const word of words) refuseBytes(verb, word);
}

/** The options among `given` that are meant for us: what is before a `--` or the command, without options' values. */
export function ownWords(verb: Verb | undefined, given: readonly string[]): readonly string[] {
  const own: string[] = [];
  for (let at = 0; at < given.length; at += 1) {
    const word = given[at] ?? '';
    if (word === '--' || (verb?.words === 'command' && !word.startsWith('-'))) break;
    own.push(word);
    const option = verb?.options.find(({ name }) => word === `--${name}`);
    if (option?.value !== undefined) at += 1;
  }
  return own;
}

/** No option is a number: this is an operand, to be refused, or not, as the value that it is. */
function isNegative({ words }: Verb, word: string): boolean {
  return words !== 'command' && /^-\d+$/.test(word);
}

export function parseArguments(verb: Verb, given: readonly string[]): Arguments {
  const found = new Map<string, string[]>();
  const words: string[] = [];
  const command: string[] = [];
  const isApart = typeof verb.words === 'object' && verb.words.command === true;
  const rest = [...given];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') {
      (isApart ? command : words).push(...rest.splice(0));
    } else if (word.startsWith('-') && word !== '-' && !isNegative(verb, word)) {
      const match = /^--([a-z-]+)(?:=(.*))?$/s.exec(word);
      const option = verb.options.find(({ name }) => name === match?.[1]);
      if (option === undefined) {
        const known = verb.options.map(({ name }) => name);
        const meant = nearestWord(word.replace(/^-+|=.*/gs, ''), known);
        const help =
          meant === undefined
            ? `valid options: ${known.map((name) => `--${name}`).join(', ')}`
            : `did you mean --${meant}?`;
        return refuse(verb, `unknown option ${word}; ${help}`);
      }
      const values = found.get(option.name) ?? [];
      if (values.length > 0 && option.repeated !== true) refuse(verb, `--${option.name} was given twice`);
      found.set(option.name, [...values, take(verb, option, match?.[2], rest)]);
    } else {
      words.push(word);
      if (verb.words === 'command') words.push(...rest.splice(0));
    }
  }
  checkWords(verb, words);
  return {
    words,
    command,
    flag: (name) => found.has(name),
    value: (name) => found.get(name)?.[0],
    values: (name) => found.get(name) ?? [],
  };
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `500ms`, `30s`, `5m`, `1h`; a bare number is seconds. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text);
  const milliseconds = Number(match?.[1]) * (units[match?.[2] ?? 's'] ?? Number.NaN);
  if (Number.isFinite(milliseconds) && milliseconds > 0 && milliseconds < 2 ** 31) return milliseconds;
  throw new ErrnoError('EINVAL', {
    operation: 'duration',
    reason: `expected a duration such as 500ms, 30s, 5m or 1h, of at most 596h, got '${text}'`,
  });
}

/** A positive number; `whole` where a fraction means nothing. */
export function parseCount(text: string, what: string, whole: boolean): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0 && (!whole || Number.isSafeInteger(value))) return value;
  throw new ErrnoError('EINVAL', {
    operation: what,
    reason: `expected a ${whole ? 'whole ' : ''}number above 0, got '${text}'`,
  });
}
