/** Every call but `ctx --version` and `ctx exec`: a bundle of its own, so that those two do not read it. */
import { runCommandLine } from './cli/command-line.js';

export function run(given: readonly string[]): Promise<number> {
  return runCommandLine(
    given,
    async () => (await import('./compose.js')).composeHost(),
    async () => (await import('./compose-hook.js')).composeHookHost(),
  );
}
