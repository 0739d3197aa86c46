/** Commands that have run, as the record tells of them: `ctx inspect`. */
import { find } from '../../audit/query.js';
import { directoryReader } from '../../audit/reader.js';
import { ErrnoError } from '../../base/errno.js';
import type { Host } from '../../proxy/host.js';
import { recordInterruptedLive } from '../../proxy/run/live-runs.js';
import { forkNames } from '../../vault/forks/forks.js';
import { mainFork } from '../../vault/store/layout.js';
import { readVaultMeta } from '../../vault/store/vault-meta.js';
import { accessAt } from '../../workspace/access-at.js';
import { type InspectedRun, runsOf } from '../../workspace/recorded-runs.js';

export type { InspectedRun };

function allRuns(host: Host): readonly InspectedRun[] {
  recordInterruptedLive(host);
  return runsOf(find(directoryReader(host.audit.record), { type: 'exec' }));
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

/** By its name, wherever it ran; without one, the last of the fork. */
export function findRun(host: Host, directory: string, fork: string | undefined, name?: string): InspectedRun {
  if (name !== undefined) {
    const found = allRuns(host).find(({ run }) => run === name);
    if (found !== undefined) return found;
    throw noRun(`no run and no fork here is called '${name}'`);
  }
  const { id, paths } = accessAt(host, directory);
  const last = runsOn(host, id, fork ?? readVaultMeta(paths.meta)?.current ?? mainFork).at(-1);
  if (last === undefined) throw noRun('no command has run in this fork');
  return last;
}
