/** One call of one verb: help, parse, run, and turn whatever goes wrong into one clear message and an exit code. */
import { constants } from 'node:os';
import { ExitCode, hasCode } from '../base/errno.js';
import type { HookHost } from '../sdk/hook.js';
import { usage } from './help.js';
import { ownWords, parseArguments } from './input/parse-arguments.js';
import { processCaller } from './process-caller.js';
import { complain, print } from './text/output.js';
import type { HostOf, Verb } from './verb.js';

/**
 * `ctx diff | head`: whoever read has gone. As if SIGPIPE had ended us, which Node does not let happen. Heard here and not at
 * the streams: to touch them costs milliseconds, and `ctx exec` needs none of them.
 */
export function endOnDefects(): void {
  process.on('uncaughtException', (error) =>
    process.exit(hasCode(error, 'EPIPE') ? 128 + constants.signals.SIGPIPE : complain(error, false, processCaller)),
  );
}

/** The words that ask for help, among those that are meant for us. */
export function asksForHelp(own: readonly string[]): boolean {
  return own.includes('--help') || own.includes('-h');
}

export async function callVerb(
  verb: Verb,
  rest: readonly string[],
  compose: HostOf,
  composeHook: () => Promise<HookHost>,
): Promise<number> {
  try {
    if (asksForHelp(ownWords(verb, rest))) {
      print(usage(verb));
      return ExitCode.ok;
    }
    const call = parseArguments(verb, rest);
    const run = await verb.load(call);
    return await run(call, compose, composeHook, processCaller);
  } catch (error) {
    return complain(error, ownWords(verb, rest).includes('--json'), processCaller);
  }
}
