/** One call of `ctx`: find the verb, parse, run, and turn whatever goes wrong into one clear message and an exit code. */
import { constants } from 'node:os';
import { ExitCode, hasCode } from '../base/errno.js';
import { version } from '../base/version.js';
import type { HookHost } from '../sdk/hook.js';
import type { Host } from '../sdk/host.js';
import { findVerb, refuseVerb, verbsOfGroup } from './find-verb.js';
import { groupUsage, overview, usage } from './help.js';
import { complain } from './output.js';
import { ownWords, parseArguments } from './parse-arguments.js';
import { processCaller } from './process-caller.js';
import { verbs } from './verbs.js';

/** On a verb, on all verbs of a group such as `agent`, or on everything. */
function helpOn(words: readonly string[]): string {
  const { verb } = findVerb(verbs, words);
  if (verb !== undefined) return usage(verb);
  const group = verbsOfGroup(verbs, words[0] ?? '');
  return group.length === 0 ? overview(verbs, version) : groupUsage(words[0] ?? '', group);
}

/**
 * `ctx diff | head`: whoever read has gone. As if SIGPIPE had ended us, which Node does not let happen. Heard here and not at
 * the streams: to touch them costs milliseconds, and `ctx exec` needs none of them.
 */
function endOnDefect(error: Error): void {
  process.exit(hasCode(error, 'EPIPE') ? 128 + constants.signals.SIGPIPE : complain(error, false, processCaller));
}

export async function runCommandLine(
  given: readonly string[],
  compose: () => Promise<Host>,
  composeHook: () => Promise<HookHost>,
): Promise<number> {
  process.on('uncaughtException', endOnDefect);
  const [name] = given;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(helpOn(given.slice(1)));
    return name === undefined ? ExitCode.badInput : ExitCode.ok;
  }
  const { verb: named, rest } = findVerb(verbs, given);
  try {
    const own = ownWords(named, rest);
    const asksForHelp = own.includes('--help') || own.includes('-h');
    if (named === undefined && asksForHelp && verbsOfGroup(verbs, name).length > 0) {
      process.stdout.write(helpOn([name]));
      return ExitCode.ok;
    }
    const verb = named ?? refuseVerb(verbs, given);
    if (asksForHelp) {
      process.stdout.write(usage(verb));
      return ExitCode.ok;
    }
    const call = parseArguments(verb, rest);
    return await (await verb.load())(call, compose, composeHook, processCaller);
  } catch (error) {
    return complain(error, ownWords(named, rest).includes('--json'), processCaller);
  }
}
