/**
 * Looking at a fork, no matter who works on it meanwhile. Where no one does, it is locked, and what is read is exact.
 * Else it is read beside them: frozen layers are what they are, and of the live one whatever has been written so far.
 * Where the fork moved on while it was read, it is read again.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ErrnoCode, ErrnoError, hasCode } from '../base/errno.js';
import { looksAtBusyFork } from '../base/limits/store.js';
import { type Host, placeOf } from '../proxy/host.js';
import { readForkMeta } from '../vault/store/fork-meta.js';
import { readGroup } from '../vault/store/group.js';
import { removedMeanwhile } from '../vault/store/locks.js';
import { readVaultMeta } from '../vault/store/vault-meta.js';
import { type AtWork, namedProcess } from '../vault/store/worker-file.js';
import { forkToRead, type OpenFork } from '../vault/vault.js';
import { type ForkRequest, noForkHere, withFork } from './fork-verbs.js';
import { accessAt } from './vault-at.js';

/** What a layer that was merged away under a reader looks like. */
const overtaken: readonly ErrnoCode[] = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE'];

/** `use` is given who is at work: no one, where the fork is locked for it. It may be called again. */
export async function lookIntoFork<T>(
  host: Host,
  request: ForkRequest,
  purpose: string,
  use: (fork: OpenFork, running: readonly AtWork[]) => Promise<T>,
): Promise<T> {
  const { meta } = accessAt(host, request.cwd).paths;
  const wasThere = existsSync(meta);
  try {
    return await lookOnce(host, request, purpose, use);
  } catch (error) {
    throw wasThere && !existsSync(meta) ? removedMeanwhile(dirname(meta), error) : error;
  }
}

async function lookOnce<T>(
  host: Host,
  request: ForkRequest,
  purpose: string,
  use: (fork: OpenFork, running: readonly AtWork[]) => Promise<T>,
): Promise<T> {
  try {
    return await withFork(host, { ...request, atOnce: !request.wait }, purpose, (fork) => use(fork, []), {
      onlyLooks: true,
    });
  } catch (error) {
    if (!hasCode(error, 'EBUSY')) throw error;
    return readBeside(host, request, purpose, use);
  }
}

/** Neither has the fork moved on, nor has the trunk, whose edits enter the fork before it says so. */
function isAsRead({ place, paths, meta, vault }: OpenFork): boolean {
  return readForkMeta(place.directory) === meta && readVaultMeta(paths.meta)?.position === vault.position;
}

async function readBeside<T>(
  host: Host,
  request: ForkRequest,
  purpose: string,
  use: (fork: OpenFork, running: readonly AtWork[]) => Promise<T>,
): Promise<T> {
  const { store, tree } = host;
  const { origin, owner } = placeOf(host, request.cwd);
  for (let look = 1; ; look++) {
    const fork = forkToRead({ store, tree, origin, owner, fork: request.fork, purpose });
    if (fork === undefined) throw noForkHere(purpose, origin);
    try {
      const { live } = await readGroup(tree, fork.place);
      const running = live.map((worker) => ({
        pid: namedProcess(worker),
        command: worker.command,
        since: worker.since,
      }));
      const found = await use(fork, running);
      if (look === looksAtBusyFork || isAsRead(fork)) return found;
    } catch (error) {
      if (look === looksAtBusyFork || !(error instanceof ErrnoError) || !overtaken.includes(error.code)) throw error;
    }
  }
}
