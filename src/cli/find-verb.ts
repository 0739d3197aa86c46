/** Which verb a call means. Some are two words or three, a noun and what to do with it: `agent new`, `tool source add`. Pure. */
import { ErrnoError } from '../base/errno.js';
import { nearestWord } from '../base/nearest-word.js';
import type { Verb } from './verb.js';

/** The noun of a verb of several words. */
export function groupOf(verb: Verb): string | undefined {
  const blank = verb.name.indexOf(' ');
  return blank < 0 ? undefined : verb.name.slice(0, blank);
}

export function verbsOfGroup(verbs: readonly Verb[], group: string): readonly Verb[] {
  return verbs.filter((verb) => groupOf(verb) === group);
}

export interface FoundVerb {
  readonly verb: Verb | undefined;
  /** What follows it; where there is no such verb, what follows the first word. */
  readonly rest: readonly string[];
}

export function findVerb(verbs: readonly Verb[], given: readonly string[]): FoundVerb {
  for (const count of [3, 2, 1]) {
    const wanted = given.slice(0, count).join(' ');
    const verb = given.length < count ? undefined : verbs.find(({ name }) => name === wanted);
    if (verb !== undefined) return { verb, rest: given.slice(count) };
  }
  return { verb: undefined, rest: given.slice(1) };
}

export function refuseVerb(verbs: readonly Verb[], given: readonly string[]): never {
  const [first = '', second] = given;
  const group = verbsOfGroup(verbs, first);
  if (group.length > 0) {
    const known = group.map(({ name }) => name);
    const meant = second === undefined ? undefined : nearestWord(`${first} ${second}`, known);
    throw new ErrnoError('EINVAL', {
      operation: `ctx ${first}`,
      reason: `${second === undefined ? 'expected one of' : `unknown verb '${first} ${second}'; valid verbs:`} ${known.join(', ')}`,
      remedy: meant === undefined ? `ctx ${first} --help shows the usage` : `ctx ${meant}`,
    });
  }
  const isOption = first.startsWith('-');
  // `ctx --json status`: what a person means is clear.
  const after = isOption && second !== undefined ? findVerb(verbs, given.slice(1)).verb?.name : undefined;
  const meant = nearestWord(first, [...new Set(verbs.map((verb) => groupOf(verb) ?? verb.name))]);
  throw new ErrnoError('EINVAL', {
    operation: isOption ? 'read the options' : 'find the verb',
    reason: isOption ? `unknown option ${first}` : `unknown verb '${first}'`,
    remedy: [
      ...(meant === undefined ? [] : [`ctx ${meant}`]),
      ...(after === undefined ? [] : [`options come after the verb: ctx ${after} ${first}`]),
      'ctx --help lists the verbs',
      ...(isOption ? [] : [`to run a command: ctx exec -- ${first} ...`]),
    ].join('; '),
  });
}
