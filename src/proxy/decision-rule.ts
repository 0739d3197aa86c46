/** The operator's rules of what commands may do: one rule, its text, and what it matches. Pure. */
import { canonicalJson } from '../base/canonical-json.js';
import { ErrnoError } from '../base/errno.js';
import { sha256 } from '../base/sha256.js';
import { visibleCommand } from '../base/visible-text.js';
import { type CommandClass, commandClasses, isCommandClass } from '../shell/classes.js';
import { type Action, actions } from './action.js';

export type Match = { readonly class: CommandClass } | { readonly command: readonly string[] };

export interface Rule {
  /** Of what it says: the same rule is the same id. */
  readonly id: string;
  readonly action: Action;
  /** An agent's name; `*`: everybody; `-`: commands without an agent. */
  readonly agent: string;
  readonly match: Match;
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

export function makeRule(action: Action, agent: string, match: Match): Rule {
  const said = 'class' in match ? { class: match.class } : { command: [...match.command] };
  const id = sha256(canonicalJson({ action, agent, match: said })).slice(0, 8);
  return Object.freeze({ id, action, agent, match: Object.freeze(said) });
}

function parseMatch(value: unknown, file: string): Match {
  const match = value as { class?: unknown; command?: unknown } | null | undefined;
  if (typeof match?.class === 'string' && match.command === undefined && isCommandClass(match.class))
    return { class: match.class };
  const command = match?.class === undefined ? match?.command : undefined;
  if (
    Array.isArray(command) &&
    command.length > 0 &&
    command.every((word) => typeof word === 'string' && word !== '')
  ) {
    return { command: command as string[] };
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

export function matchText(match: Match): string {
  return 'class' in match ? `class ${match.class}` : visibleCommand(match.command);
}

/** `-rf` is `-r` and `-f`. */
function optionsOf(words: readonly string[]): readonly string[] {
  return words
    .filter((word) => word.startsWith('-') && word !== '-')
    .flatMap((word) => (/^-[A-Za-z]{2,}$/.test(word) ? [...word.slice(1)].map((letter) => `-${letter}`) : [word]));
}

function operandsOf(words: readonly string[]): readonly string[] {
  return words.filter((word) => !word.startsWith('-') || word === '-');
}

/** The program, the operands in their order from the first, and the options anywhere. */
export function ruleMatches(rule: readonly string[], words: readonly string[]): boolean {
  if (words.length === 0 || rule[0] !== words[0]) return false;
  const given = operandsOf(words);
  const options = new Set(optionsOf(words));
  return (
    operandsOf(rule).every((word, at) => word === given[at]) && optionsOf(rule).every((option) => options.has(option))
  );
}

/** A command says more than a class, more words say more than fewer, one agent more than all. */
export function ruleWeight({ agent, match }: Rule): number {
  const words = 'class' in match ? 0 : match.command.length;
  return 2 * words + (agent === '*' ? 0 : 1);
}
