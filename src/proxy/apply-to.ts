/** `ctx apply --to`: which directory may be written, and that it is in the record before it is. */
import { realpathSync, statSync } from 'node:fs';
import { ErrnoError, fromSystemError } from '../base/errno.js';
import type { ApplyRequest } from '../vault/apply.js';
import { refuseBothSides } from '../vault/apply-plan.js';
import { type AppliedTo, applyTo } from '../vault/apply-to.js';
import { refuseForeign } from '../vault/root-paths.js';
import { type ForkRequest, objectOf, withFork } from './fork-verbs.js';
import type { Host } from './host.js';

const holds = (outer: string, inner: string) => inner === outer || inner.startsWith(outer === '/' ? '/' : `${outer}/`);

function targetOf(host: Host, asked: string, origin: string): string {
  let directory: string;
  let isDirectory: boolean;
  try {
    directory = realpathSync.native(asked);
    isDirectory = statSync(directory).isDirectory();
  } catch (error) {
    throw fromSystemError(error, 'apply --to', asked);
  }
  const operation = 'apply --to';
  if (!isDirectory) throw new ErrnoError('ENOTDIR', { operation, path: asked, reason: 'expected a directory' });
  if (directory === origin) {
    const reason = "expected another directory than the fork's own";
    throw new ErrnoError('EINVAL', { operation, path: asked, reason, remedy: 'ctx apply writes there' });
  }
  const own = host.hidden.find((path) => holds(path, directory) || holds(directory, path));
  if (own !== undefined) {
    const reason = 'expected a directory that neither holds nor is in what ctx keeps for itself';
    throw new ErrnoError('EINVAL', { operation, path: asked, reason });
  }
  return directory;
}

export function applyForkTo(
  host: Host,
  request: ForkRequest,
  to: string,
  choices: ApplyRequest,
): Promise<AppliedTo & { readonly to: string }> {
  return withFork(host, request, 'ctx apply --to', async (fork) => {
    const { only = [], ours = [], theirs = [] } = choices;
    refuseForeign(fork.vault.roots, [...only, ...ours, ...theirs], 'ctx apply');
    refuseBothSides(choices);
    const directory = targetOf(host, to, fork.vault.origin);
    const object = objectOf(fork);
    const { conflicts: choice, dryRun = false, allowSensitive } = choices;
    const facts = { origin: fork.vault.origin, to: directory, choice, allowSensitive };
    if (!dryRun) host.recorder.append({ type: 'apply', object, status: 'begin', durable: true, facts });
    const applied = await applyTo(fork, directory, choices);
    if (!dryRun) {
      const steps = applied.done ? applied.steps.map(({ action, path }) => `${action} ${path}`) : [];
      const status = applied.done ? 'ok' : 'failed';
      host.recorder.append({ type: 'apply', object, status, facts: { ...facts, steps, conflicts: applied.conflicts } });
    }
    return { ...applied, to: directory };
  });
}
