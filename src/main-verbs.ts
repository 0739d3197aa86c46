/** Every call but `ctx --version` and `ctx exec`: a bundle of its own, so that those two do not read it. */
import { runCommandLine } from './cli/command-line.js';
import { onMigratedStore } from './compose-store.js';
import type { Host } from './proxy/host.js';

/** They start a program or two and end, so they start these as `ctx exec` does (`base/starter`). */
const quickVerbs = ['drop', 'status'];

function isQuick([name = '']: readonly string[]): boolean {
  return quickVerbs.includes(name) && process.env['UV_THREADPOOL_SIZE'] === undefined;
}

/** `onHost` is for a process that goes on after the call: what the host holds is its own to release. */
export function run(given: readonly string[], onHost?: (host: Host) => void): Promise<number> {
  return runCommandLine(
    given,
    async ({ environment = process.env, warn, looks = false } = {}) => {
      const { composeHost } = await import('./compose.js');
      const host = await onMigratedStore(() => composeHost(environment, isQuick(given), warn, !looks));
      onHost?.(host);
      return host;
    },
    async () => onMigratedStore((await import('./compose-hook.js')).composeHookHost),
  );
}
