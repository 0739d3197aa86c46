/** The operator's rules of what commands may do: one rule, its text, and what it matches. Pure. */
import { posix } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.js';
import { ErrnoError } from '../../base/errno.js';
import { sha256 } from '../../base/sha256.js';
import { visibleCommand } from '../../base/visible-text.js';
import { type CommandClass, commandClasses, isCommandClass } from '../../shell/classes.js';
import { dashedSubcommand, optionNames, subcommandsMeant } from '../../shell/other-names.js';
import type { Reading } from '../../shell/reading.js';
import type { Word } from '../../shell/word.js';
import { type Action, actions, isStricter } from './action.js';

export type RuleMatch =
  | { readonly class: CommandClass }
  /** `prefix`: of a rule that allows, also what begins with these words; without it, exactly these. */
  | { readonly command: readonly string[]; readonly prefix?: true };

export interface Rule {
  /** Of what it says: the same rule is the same id. */
  readonly id: string;
  readonly action: Action;
  /** An agent's name; `*`: everybody; `-`: commands without an agent. */
  readonly agent: string;
  readonly match: RuleMatch;
}

const agentName = /^(?:\*|-|[a-zA-Z0-9][a-zA-Z0-9._+-]{0,63})$/;

function refuse(file: string, reason: string): never {
  throw new ErrnoError('EINVAL', {
    operation: 'rules',
    path: file,
    reason,
    remedy: 'ctx rules --help shows how they are made',
  });
}

export function makeRule(action: Action, agent: string, match: RuleMatch): Rule {
  const said =
    'class' in match
      ? { class: match.class }
      : { command: [...match.command], ...(match.prefix === true ? { prefix: true as const } : {}) };
  const id = sha256(canonicalJson({ action, agent, match: said })).slice(0, 8);
  return Object.freeze({ id, action, agent, match: Object.freeze(said) });
}

function parseMatch(value: unknown, file: string): RuleMatch {
  const match = value as { class?: unknown; command?: unknown; prefix?: unknown } | null | undefined;
  if (typeof match?.class === 'string' && match.command === undefined && isCommandClass(match.class))
    return { class: match.class };
  const command = match?.class === undefined ? match?.command : undefined;
  if (
    Array.isArray(command) &&
    command.length > 0 &&
    command.every((word) => typeof word === 'string' && word !== '') &&
    (match?.prefix === undefined || match.prefix === true)
  ) {
    return { command: command as string[], ...(match?.prefix === true ? { prefix: true } : {}) };
  }
  return refuse(file, `expected a match of a class (${commandClasses.join(', ')}) or of the words of a command`);
}

function parseRule(value: unknown, file: string): Rule {
  const rule = value as { action?: unknown; agent?: unknown; match?: unknown } | null;
  const action = actions.find((known) => known === rule?.action);
  if (action === undefined) return refuse(file, `expected an action of ${actions.join(', ')}`);
  if (typeof rule?.agent !== 'string' || !agentName.test(rule.agent))
    return refuse(file, "expected an agent's name, * or -");
  return makeRule(action, rule.agent, parseMatch(rule.match, file));
}

/** A file that is wrong anywhere is refused whole: what is left of it might be the lenient half. */
export function parseRules(value: unknown, file: string): readonly Rule[] {
  const held = value as { version?: unknown; rules?: unknown } | null;
  if (held?.version !== 1 || !Array.isArray(held.rules)) return refuse(file, 'expected version 1 and a list of rules');
  return held.rules.map((rule) => parseRule(rule, file));
}

export function printRules(rules: readonly Rule[]): string {
  const held = rules.map(({ action, agent, match }) => ({ action, agent, match }));
  return `${JSON.stringify({ version: 1, rules: held }, undefined, 2)}\n`;
}

export function matchText(match: RuleMatch): string {
  if ('class' in match) return `class ${match.class}`;
  return `${visibleCommand(match.command)}${match.prefix === true ? ' ...' : ''}`;
}

/** `-rf` is `-r` and `-f`. */
function optionsOf(words: readonly string[]): readonly string[] {
  return words
    .filter((word) => word.startsWith('-'))
    .flatMap((word) => (/^-[A-Za-z0-9]{2,}$/.test(word) ? [...word.slice(1)].map((letter) => `-${letter}`) : [word]));
}

function operandsOf(words: readonly string[]): readonly string[] {
  return words.filter((word) => !word.startsWith('-') || word === '-');
}

/** Where programs of the system are: called by such a path, a program is what its name says. */
const systemDirectories = ['/bin', '/sbin', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'];

/** The words of a command as an allowing rule names them, none left out: `./git` is not git, and `npm --registry X install` no install. */
export function ruleWords({ words, argv = words }: Pick<Reading, 'words' | 'argv'>): readonly string[] {
  const [program = '', ...rest] = argv;
  if (words.length === 0) return [];
  return systemDirectories.includes(posix.dirname(program)) ? [posix.basename(program), ...rest] : argv;
}

/** One spelling of a path: `//data/.` is `/data`. Whatever else a word may be, it stays what it is. */
function normalised(word: string): string {
  if (!word.includes('/')) return word;
  const plain = posix.normalize(word);
  return plain.length > 1 && plain.endsWith('/') ? plain.slice(0, -1) : plain;
}

/** `~/x` and `~user/x` are some path that ends so. */
function couldBeHome(wanted: string, value: string): boolean {
  if (!value.startsWith('~') || !wanted.startsWith('/')) return false;
  const within = value.includes('/') ? value.slice(value.indexOf('/')) : '';
  return within.split('/').includes('..') || wanted.endsWith(within === '' ? '' : normalised(within));
}

/** Whether a word that may be others could be this one, or have it among those that it becomes. */
function couldBe(wanted: string, { text, values, splits, isPattern = false, start, end }: Word): boolean {
  if (values !== undefined) {
    return values.some(
      (value) => normalised(value) === wanted || optionsOf([value]).includes(wanted) || couldBeHome(wanted, value),
    );
  }
  // `*` is a file that is here: no other directory, and no option.
  if (isPattern && /^(?:[*?[]|[+@!]\()/.test(text) && /^[-/]/.test(wanted)) return false;
  return (splits && !isPattern) || (wanted.startsWith(start) && wanted.endsWith(end));
}

/** `--registry` is given by `--registry=X`, and by `--regis` to most programs; `-o` by `-o5`. */
function isGiven(wanted: string, options: readonly string[]): boolean {
  if (options.includes(wanted)) return true;
  if (/^-[A-Za-z]$/.test(wanted)) return options.some((option) => option.startsWith(wanted));
  const names = options.flatMap((option) => option.split('=')[0] ?? []);
  return names.some((name) => name.length > 2 && name.startsWith('--') && wanted.startsWith(name));
}

/** `npm --otp 123456 publish`: behind an option, what seems to be the subcommand may be the option's value. */
function mayBeValue(word: string | undefined, argv: readonly string[]): boolean {
  const before = argv[argv.findIndex((each) => normalised(each) === word) - 1] ?? '';
  return word !== undefined && /^-[^=]+$/.test(before);
}

/** A rule about `gcc` is about `gcc-12` and one about `python3` about `python3.11`. */
function isProgram(wanted: string, given: string): boolean {
  return given === wanted || (given.startsWith(wanted) && /^[-.]?\d[\d.]*$/.test(given.slice(wanted.length)));
}

/** `git-push --force` as `git push --force`. */
function withSubcommand([program = '', ...rest]: readonly string[]): readonly string[] {
  const name = posix.basename(program);
  const subcommand = dashedSubcommand(name);
  return subcommand === undefined ? [name, ...rest] : ['git', subcommand, ...rest];
}

/** What could be meant: the program however it is called, its subcommand, its options and the other operands anywhere. */
function refuses(said: readonly string[], reading: Reading): boolean {
  const { words, argv = words, open = [], hasSubcommands = false } = reading;
  const [own = ''] = said;
  const called = posix.basename(argv[0] ?? '');
  const rule = words[0] === 'git' ? withSubcommand(said) : [posix.basename(own), ...said.slice(1)];
  const [program = ''] = rule;
  if (![words[0] ?? '', called].some((each) => isProgram(program, each))) return false;
  const options = optionsOf(words);
  const given = operandsOf(words).map(normalised);
  const wanted = operandsOf(rule).map(normalised);
  // The program itself is first on both sides.
  const first = hasSubcommands ? 2 : 1;
  const meant = (word: string | undefined) => (word === undefined ? [] : subcommandsMeant(words[0] ?? '', word));
  const isMeant = (word: string, other: string | undefined) => meant(word).some((each) => meant(other).includes(each));
  const leading = wanted
    .slice(1, first)
    .every((word) => isMeant(word, given[1]) || (isMeant(word, given[2]) && mayBeValue(given[1], argv)));
  const others = given.slice(first);
  // Others are before a subcommand: `git -C "$HERE" push`.
  const shown = ({ values, text }: Word) => (values?.length === 1 ? (values[0] ?? text) : text);
  const isOpen = (word: string) => open.some((each) => words.includes(shown(each)) && couldBe(word, each));
  return (
    leading &&
    wanted.slice(first).every((word) => others.includes(word) || isOpen(word)) &&
    optionsOf(rule).every((option) =>
      optionNames(words[0] ?? '', hasSubcommands ? meant(given[1])[0] : undefined, option).some(
        (name) => isGiven(name, options) || isOpen(name),
      ),
    )
  );
}

/** Words that can be any other: not a pattern of file names, which says itself what it can be. */
export function computedWords({ open = [] }: Reading): readonly string[] {
  const isComputed = ({ isPattern, values }: Word) => isPattern !== true && values?.length !== 1;
  return open.filter(isComputed).map(({ text }) => text);
}

/** Exactly these words, or those that begin with them. A word that is computed is not known to be any. */
function allows(
  { command, prefix = false }: { command: readonly string[]; prefix?: boolean },
  reading: Reading,
): boolean {
  const words = ruleWords(reading);
  if (computedWords(reading).some((word) => command.includes(word))) return false;
  return (prefix || words.length === command.length) && command.every((word, at) => word === words[at]);
}

/** A rule that allows says what it allows; one that asks or denies is about whatever could be meant by it. */
export function ruleMatches({ action, match }: Pick<Rule, 'action' | 'match'>, reading: Reading): boolean {
  if (!('command' in match) || reading.words.length === 0) return false;
  return isStricter(action, 'allow_with_checkpoint') ? refuses(match.command, reading) : allows(match, reading);
}

/** A command says more than a class, more words say more than fewer, one agent more than all. */
export function ruleWeight({ agent, match }: Rule): number {
  const words = 'class' in match ? 0 : match.command.length;
  return 2 * words + (agent === '*' ? 0 : 1);
}
