/**
 * The entry point of `ctx hook claude-code` and `ctx hook json`, which harnesses start for every tool call: a bundle of
 * its own, since reading the whole CLI would cost half as much as a start of Node. Every other call is `main.ts`'s.
 */
import { ErrnoError } from './base/errno.js';
import { checkInstallation } from './base/installation.js';
import { parseArguments } from './cli/input/parse-arguments.js';
import { processCaller } from './cli/process-caller.js';
import { errorText, painter, printError } from './cli/text/output.js';
import { decideCalls } from './cli/verbs/hook-calls.js';
import { hookVerb } from './cli/verbs/hook-verb.js';
import { composeHookHost } from './compose-hook.js';
import { onMigratedStore } from './compose-store.js';
import { blockingExitCode } from './hook/hook.js';

async function main(given: readonly string[]): Promise<number> {
  try {
    checkInstallation('cli');
    return await decideCalls(
      parseArguments(hookVerb, given.slice(1)),
      () => onMigratedStore(composeHookHost),
      processCaller,
    );
  } catch (error) {
    const text = error instanceof ErrnoError ? errorText(error, painter(process.stderr)) : 'ctx: a bug in ctx\n';
    printError(text);
    return blockingExitCode;
  }
}

void main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
