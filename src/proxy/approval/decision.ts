/**
 * Whether a command runs, judged before it does: its classes against the operator's rules, and the defaults where none speaks. Pure.
 *
 * Each command that was found in it is decided by itself, and the strictest answer is the answer for all: a rule that
 * allows `git push` allows nothing that is beside it. The jail holds whatever is decided here.
 */
import type { Network } from '../../authority/network.js';
import { type CommandClass, classNames, commandClasses } from '../../shell/classes.js';
import type { Classification } from '../../shell/classify.js';
import { everyReading, type Reading } from '../../shell/reading.js';
import { type Action, isStricter } from './action.js';
import { computedWords, type Rule, ruleMatches, ruleWeight, ruleWords } from './decision-rule.js';

export interface Decision {
  readonly action: Action;
  readonly categories: readonly CommandClass[];
  readonly reason: string;
  /** The id of the operator's rule, or `default`. */
  readonly rule: string;
}

export interface CommandToDecide {
  readonly classification: Classification;
  /** The agent it runs for and those it descends from; empty where a person runs it for no one. */
  readonly agents: readonly string[];
  readonly network: Network;
  readonly rules: readonly Rule[];
}

export interface Decided extends Decision {
  /** The command that decided, as rules name it; empty where it could not be read, or a word of it is computed. */
  readonly words: readonly string[];
}

/** Of two answers the stricter; of equals the one about the more dangerous class, as it says more. */
function stricter(a: Decided, b: Decided): Decided {
  if (a.action !== b.action) return isStricter(b.action, a.action) ? b : a;
  const danger = ({ categories }: Decided) => commandClasses.indexOf(categories.at(-1) ?? 'read_only');
  return danger(b) > danger(a) ? b : a;
}

const networkHint = 'no network is granted, so it cannot connect; --net HOST grants one';

function byDefault(
  name: CommandClass,
  readable: boolean,
  { agents: [agent], network }: CommandToDecide,
): { action: Action; hint?: string } {
  switch (name) {
    case 'read_only':
      return { action: 'allow' };
    case 'networked':
      if (network.kind !== 'none') return { action: 'allow_with_checkpoint' };
      // No one is asked about what cannot happen: without a grant there is no network to use. An agent was given less on purpose.
      if (agent === undefined) return { action: 'allow_with_checkpoint', hint: networkHint };
      return { action: 'require_approval', hint: `agent ${agent} is granted no network` };
    case 'host_escape_risk':
      // A person's own script may compute what it runs; nothing known of it reaches for the host, and the jail holds it.
      if (!readable && agent === undefined)
        return {
          action: 'allow_with_checkpoint',
          hint: 'what it runs cannot be known in advance; the jail limits what it can do',
        };
      return { action: 'deny' };
    default:
      return { action: 'allow_with_checkpoint' };
  }
}

/** Of the most specific rules that match, the strictest. */
function decidingRule(rules: readonly Rule[]): Rule | undefined {
  const weight = Math.max(...rules.map(ruleWeight));
  const heaviest = rules.filter((rule) => ruleWeight(rule) === weight);
  return heaviest.reduce<Rule | undefined>(
    (a, b) => (a === undefined || isStricter(b.action, a.action) ? b : a),
    undefined,
  );
}

/** A rule of `curl $URL` would be one for whatever the next script puts there. */
function wordsForRule(reading: Reading): readonly string[] {
  return computedWords(reading).length > 0 ? [] : ruleWords(reading);
}

function decideClass(reading: Reading, name: CommandClass, rules: readonly Rule[], request: CommandToDecide): Decided {
  const rule = decidingRule(rules.filter(({ match }) => 'class' in match && match.class === name));
  const base = { categories: [name], words: wordsForRule(reading) };
  if (rule !== undefined) {
    return { ...base, action: rule.action, reason: `${reading.why} (a rule on ${name})`, rule: rule.id };
  }
  const { action, hint } = byDefault(name, reading.readable, request);
  return { ...base, action, reason: hint === undefined ? reading.why : `${reading.why}; ${hint}`, rule: 'default' };
}

/** What cannot be read could be what a rule refuses. */
function mayBeRefused(reading: Reading, rules: readonly Rule[]): Decided | undefined {
  if (reading.readable && reading.mayRunMore !== true) return undefined;
  const strict = rules.filter(({ match, action }) => 'command' in match && isStricter(action, 'allow_with_checkpoint'));
  const rule = decidingRule(strict);
  if (rule === undefined) return undefined;
  const what = reading.readable ? 'a computed word could make it run' : 'it could be';
  const reason = `${reading.why}; ${what} a command that a rule refuses`;
  return { action: rule.action, categories: ['host_escape_risk'], reason, rule: rule.id, words: [] };
}

function decideReading(reading: Reading, request: CommandToDecide): Decided {
  const agents = request.agents.length === 0 ? ['-'] : request.agents;
  const rules = request.rules.filter(({ agent }) => agent === '*' || agents.includes(agent));
  const named = decidingRule(rules.filter((rule) => ruleMatches(rule, reading)));
  if (named !== undefined) {
    const categories = classNames(reading.classes);
    const isWritten = ruleMatches(named, { ...reading, open: [] });
    return {
      action: named.action,
      categories,
      reason: `${reading.why} (a rule on ${isWritten ? 'this command' : 'what a computed word may turn out to be'})`,
      rule: named.id,
      words: wordsForRule(reading),
    };
  }
  const decided = classNames(reading.classes)
    .map((name) => decideClass(reading, name, rules, request))
    .reduce(stricter);
  const refused = mayBeRefused(reading, rules);
  return refused === undefined ? decided : stricter(decided, refused);
}

export function decide(request: CommandToDecide): Decided {
  const { classes, reading } = request.classification;
  const found = [...everyReading(reading)].map((each) => decideReading(each, request)).reduce(stricter);
  return { ...found, categories: classes };
}
