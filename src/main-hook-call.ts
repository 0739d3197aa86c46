/** One call of `ctx hook claude-code` or `ctx hook json`: in a process of its own (`main-hook`), or in a keeper's copy. */
import { ErrnoError } from './base/errno.js';
import { checkInstallation } from './base/installation.js';
import { keepOwnRights } from './base/own-umask.js';
import { parseArguments } from './cli/input/parse-arguments.js';
import { processCaller } from './cli/process-caller.js';
import { errorText, painter, printError } from './cli/text/output.js';
import { decideCalls } from './cli/verbs/hook-calls.js';
import { hookVerb } from './cli/verbs/hook-verb.js';
import { composeHookHost } from './compose-hook.js';
import { onMigratedStore } from './compose-store.js';
import { blockingExitCode } from './hook/hook.js';

export async function run(given: readonly string[]): Promise<number> {
  keepOwnRights();
  try {
    checkInstallation('cli');
    return await decideCalls(
      parseArguments(hookVerb, given.slice(1)),
      () => onMigratedStore(composeHookHost),
      processCaller,
    );
  } catch (error) {
    const text =
      error instanceof ErrnoError
        ? errorText(error, painter(process.stderr))
        : 'ctx: this is a bug in ctx, please report it\n';
    printError(text);
    return blockingExitCode;
  }
}
