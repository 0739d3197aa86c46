/** Every call but `ctx --version`: a bundle of its own, so that the version costs a start of Node and no more. */
import { runCommandLine } from './cli/command-line.js';

export function run(given: readonly string[]): Promise<number> {
  return runCommandLine(
    given,
    async () => (await import('./compose.js')).composeHost(),
    async () => (await import('./compose-hook.js')).composeHookHost(),
  );
}
