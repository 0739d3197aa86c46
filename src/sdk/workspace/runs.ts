/** Commands that have run, as the record tells of them: `ctx inspect`. */
import { find } from '../../audit/query.js';
import { directoryReader } from '../../audit/reader.js';
import { ErrnoError } from '../../base/errno.js';
import type { Host } from '../../proxy/host.js';
import { recordInterruptedLive } from '../../proxy/run/live-runs.js';
import { forkNames } from '../../vault/forks/forks.js';
import { mainFork } from '../../vault/store/layout.js';
import { readVaultMeta } from '../../vault/store/vault-meta.js';
import { deniedIn, type InspectedRun, runsOf } from '../../workspace/recorded-runs.js';
import { accessAt } from '../../workspace/vault-at.js';

export type { InspectedRun };

function recordsOf(host: Host) {
  return find(directoryReader(host.audit.record), { type: 'exec' });
}

function allRuns(host: Host): readonly InspectedRun[] {
  recordInterruptedLive(host);
  return runsOf(recordsOf(host));
}

/** Of a workspace: a command that is denied has no fork. */
function lastDenied(host: Host, origin: string): InspectedRun | undefined {
  return deniedIn(recordsOf(host))
    .filter(({ object }) => object === `workspace/${origin}`)
    .at(-1);
}

function runsOn(host: Host, vault: string, fork: string): readonly InspectedRun[] {
  return allRuns(host).filter(({ object }) => object === `fork/${vault}/${fork}`);
}

/** Of a fork of the directory, the oldest first; undefined where it has no fork of that name. */
export function runsOfFork(host: Host, directory: string, fork: string): readonly InspectedRun[] | undefined {
  const access = accessAt(host, directory);
  return forkNames(access).includes(fork) ? runsOn(host, access.id, fork) : undefined;
}

function noRun(reason: string): ErrnoError {
  return new ErrnoError('ENOENT', {
    operation: 'ctx inspect',
    reason,
    remedy: 'ctx inspect FORK lists the runs of a fork, ctx fork list the forks',
  });
}

/** By its name, wherever it ran; without one, the last of the fork, or what was denied since. */
export function findRun(host: Host, directory: string, fork: string | undefined, name?: string): InspectedRun {
  if (name !== undefined) {
    const found = [...allRuns(host), ...deniedIn(recordsOf(host))].find(({ run }) => run === name);
    if (found !== undefined) return found;
    throw noRun(`no run and no fork here is called '${name}'`);
  }
  const { id, paths, origin } = accessAt(host, directory);
  const last = runsOn(host, id, fork ?? readVaultMeta(paths.meta)?.current ?? mainFork).at(-1);
  const denied = lastDenied(host, origin);
  if (denied !== undefined && (last === undefined || denied.begunAt >= last.begunAt)) return denied;
  if (last === undefined) throw noRun('no command has run in this fork');
  return last;
}
