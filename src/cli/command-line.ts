/** One call of `ctx`: find the verb, parse, run, and turn whatever goes wrong into one clear message and an exit code. */
import { ErrnoError, ExitCode, exitCodeFor } from '../base/errno.js';
import { version } from '../base/version.js';
import type { HookHost } from '../hook/hook-host.js';
import type { Host } from '../proxy/host.js';
import { overview, usage } from './help.js';
import { errorJson, errorText, painter, printJson } from './output.js';
import { ownWords, parseArguments } from './parse-arguments.js';
import { verbs } from './verbs.js';

function refuseVerb(name: string): never {
  throw new ErrnoError('EINVAL', {
    operation: 'ctx',
    reason: `expected a verb (${verbs.map((candidate) => candidate.name).join(', ')}), got '${name}'`,
    remedy: name.startsWith('-') ? 'ctx --help shows the usage' : `to run a command: ctx exec -- ${name} ...`,
  });
}

function complain(error: unknown, json: boolean): number {
  if (!(error instanceof ErrnoError)) {
    process.stderr.write(
      `ctx: this is a defect of ctx, please report it\n${error instanceof Error ? error.stack : error}\n`,
    );
    return ExitCode.internal;
  }
  if (json) printJson(errorJson(error));
  else process.stderr.write(errorText(error, painter(process.stderr)));
  return exitCodeFor(error);
}

export async function runCommandLine(
  given: readonly string[],
  compose: () => Promise<Host>,
  composeHook: () => Promise<HookHost>,
): Promise<number> {
  const [name, ...rest] = given;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const verb = verbs.find((candidate) => candidate.name === rest[0]);
    process.stdout.write(verb === undefined ? overview(verbs, version) : usage(verb));
    return name === undefined ? ExitCode.badInput : ExitCode.ok;
  }
  const named = verbs.find((candidate) => candidate.name === name);
  try {
    const verb = named ?? refuseVerb(name);
    const own = ownWords(verb, rest);
    if (own.includes('--help') || own.includes('-h')) {
      process.stdout.write(usage(verb));
      return ExitCode.ok;
    }
    const call = parseArguments(verb, rest);
    return await (await verb.load())(call, compose, composeHook);
  } catch (error) {
    return complain(error, ownWords(named, rest).includes('--json'));
  }
}
