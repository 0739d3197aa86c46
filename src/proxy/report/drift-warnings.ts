/** Of a vault without a copy: what changed under a command, in words. */
import { changesShownToPeople } from '../../base/limits/store.js';
import { workspaceRoot } from '../../vault/store/layout.js';
import { lookAtRoot } from '../../vault/store/trunk-look.js';
import type { OpenFork } from '../../vault/vault.js';

function listed(paths: readonly string[]): string {
  const more = paths.length > changesShownToPeople ? ` and ${paths.length - changesShownToPeople} more` : '';
  return `${paths.slice(0, changesShownToPeople).join(', ')}${more}`;
}

/** What changed since it was last looked at. The next command takes it over, so nothing is forgotten here. */
async function driftUnder(fork: OpenFork): Promise<readonly string[]> {
  const drift = await lookAtRoot({ access: fork, key: workspaceRoot, path: fork.vault.origin });
  return drift.map(({ path }) => path);
}

/** `before`: what had changed when the command began. Looks at the directory again. */
export async function driftWarnings(fork: OpenFork, before: readonly string[]): Promise<readonly string[]> {
  if (fork.vault.uncopied !== true) return [];
  const during = await driftUnder(fork);
  const what = 'your directory, which is not copied, changed';
  return [
    ...(before.length === 0 ? [] : [`${what} since it was last looked at: ${listed(before)}`]),
    ...(during.length === 0 ? [] : [`${what} while the command ran: ${listed(during)}`]),
  ];
}
