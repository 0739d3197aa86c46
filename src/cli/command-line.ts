/** One call of `ctx`: find the verb, then call it. */
import { ExitCode } from '../base/errno.js';
import { version } from '../base/version.js';
import type { HookHost } from '../sdk/hook.js';
import { asksForHelp, callVerb, endOnDefects } from './call-verb.js';
import { findVerb, refuseVerb, verbsOfGroup } from './find-verb.js';
import { groupUsage, overview, usage } from './help.js';
import { ownWords } from './input/parse-arguments.js';
import { processCaller } from './process-caller.js';
import { complain, print } from './text/output.js';
import type { HostOf } from './verb.js';
import { verbs } from './verbs.js';

/** On a verb, on all verbs of a group such as `agent`, or on everything. */
function helpOn(words: readonly string[]): string {
  const { verb } = findVerb(verbs, words);
  if (verb !== undefined) return usage(verb);
  const group = verbsOfGroup(verbs, words[0] ?? '');
  return group.length === 0 ? overview(verbs, version) : groupUsage(words[0] ?? '', group);
}

export async function runCommandLine(
  given: readonly string[],
  compose: HostOf,
  composeHook: () => Promise<HookHost>,
): Promise<number> {
  endOnDefects();
  const [name] = given;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    print(helpOn(given.slice(1)));
    return name === undefined ? ExitCode.badInput : ExitCode.ok;
  }
  const { verb, rest } = findVerb(verbs, given);
  if (verb !== undefined) return callVerb(verb, rest, compose, composeHook);
  const own = ownWords(undefined, rest);
  try {
    if (!asksForHelp(own) || verbsOfGroup(verbs, name).length === 0) refuseVerb(verbs, given);
    print(helpOn([name]));
    return ExitCode.ok;
  } catch (error) {
    return complain(error, own.includes('--json'), processCaller);
  }
}
