/** `ctx apply --to`: which directory may be written, and that it is in the record before it is. */
import { statSync } from 'node:fs';
import { realPath } from '../base/canonical-path.js';
import { identityOf } from '../base/directory-identity.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { refuseForeignLinks } from '../proxy/canonical-paths.js';
import type { Host } from '../proxy/host.js';
import type { ApplyRequest } from '../vault/apply/apply.js';
import { refuseBothSides } from '../vault/apply/apply-plan.js';
import type { ApplyReport } from '../vault/apply/apply-report.js';
import * as vaultApply from '../vault/apply/apply-to.js';
import { refuseForeign } from '../vault/store/root-paths.js';
import { type ForkRequest, objectOf, withFork } from './fork-verbs.js';
import { recordedVerb, toldSteps } from './recorded-verb.js';

const holds = (outer: string, inner: string) => inner === outer || inner.startsWith(outer === '/' ? '/' : `${outer}/`);

function targetOf(host: Host, asked: string, origin: string): string {
  let directory: string;
  let isDirectory: boolean;
  try {
    refuseForeignLinks(asked, host.uid);
    directory = realPath(asked);
    isDirectory = statSync(directory).isDirectory();
  } catch (error) {
    const failed = fromSystemError(error, 'apply --to', asked);
    if (!hasCode(failed, 'ENOENT')) throw failed;
    const reason = 'there is no such directory';
    throw new ErrnoError('ENOENT', { operation: 'apply --to', path: asked, reason, remedy: 'make it first' });
  }
  const operation = 'apply --to';
  if (!isDirectory) throw new ErrnoError('ENOTDIR', { operation, path: asked, reason: 'expected a directory' });
  if (directory === origin) {
    const reason = "this is the fork's own directory; expected another one";
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
): Promise<ApplyReport & { readonly to: string }> {
  return withFork(host, request, 'ctx apply --to', async (fork) => {
    const { only = [], ours = [], theirs = [] } = choices;
    refuseForeign(fork.vault.roots, [...only, ...ours, ...theirs], 'ctx apply');
    refuseBothSides(choices);
    const directory = targetOf(host, to, fork.vault.origin);
    host.tree.know(directory, identityOf(directory, 'apply --to'));
    const object = objectOf(fork);
    const { conflicts: choice, dryRun = false, allowSensitive } = choices;
    const facts = { origin: fork.vault.origin, to: directory, choice, allowSensitive };
    const verb = { type: 'apply', object, durable: true, facts };
    const applied = dryRun
      ? await vaultApply.applyForkTo(fork, directory, choices)
      : await recordedVerb(
          host,
          verb,
          (more) => vaultApply.applyForkTo(fork, directory, { ...choices, ...more }),
          toldSteps,
        );
    return { ...applied, to: directory };
  });
}
