/** Every call but `ctx --version` and `ctx exec`: a bundle of its own, so that those two do not read it. */
import { runCommandLine } from './cli/command-line.js';

/** They start a program or two and end, so they start these as `ctx exec` does (`base/starter`). */
const quickVerbs = ['drop', 'status'];

function isQuick([name = '']: readonly string[]): boolean {
  return quickVerbs.includes(name) && process.env['UV_THREADPOOL_SIZE'] === undefined;
}

export function run(given: readonly string[]): Promise<number> {
  return runCommandLine(
    given,
    async () => (await import('./compose.js')).composeHost(process.env, isQuick(given)),
    async () => (await import('./compose-hook.js')).composeHookHost(),
  );
}
