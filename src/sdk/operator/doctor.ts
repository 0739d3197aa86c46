/** Can this host hold a jail, do the operator's files say something, and what to do where not: `ctx doctor`. */
import { ErrnoError, orSystemError } from '../../base/errno.js';
import { type Check, diagnose, probeHost } from '../../jail/host-probe.js';
import { readOperatorFile } from '../../proxy/grants/operator-file.js';
import type { Host } from '../../proxy/host.js';
import { storeFormat } from '../../vault/store/layout.js';
import { closedSystemObjects } from '../../vault/store/store-place.js';
import { missingForMounts } from './mount-support.js';
import { readProfiles } from './profiles-file.js';

export type { Check };

export interface Diagnosis {
  /** Whether commands can run here. */
  readonly ready: boolean;
  readonly checks: readonly Check[];
}

export async function examine(host: Host): Promise<Diagnosis> {
  const checks = [
    ...ofHost(host),
    mounts(),
    storeFormatOf(host.store),
    ...objectsForAll(),
    ...(await operatorFile('agents.toml', 'missing', () => readOperatorFile(host))),
    ...(await operatorFile('profiles.toml', 'optional', () => readProfiles(host.operatorDirectories))),
  ];
  return { ready: checks.every(({ state }) => state !== 'missing'), checks };
}

/** What it tries, it tries in the store: one that cannot be written is all that is found then. */
function ofHost({ jailProgram, store, lockLibrary }: Host): readonly Check[] {
  try {
    return diagnose(probeHost(jailProgram, store.directory, lockLibrary));
  } catch (thrown) {
    const error = orSystemError(thrown);
    if (!(error instanceof ErrnoError) || error === thrown) throw thrown;
    const { reason, remedy = 'make it writable, or set CTX_DATA to a directory that you may write' } = error;
    return [{ name: 'store directory', state: 'missing', found: `${store.directory}: ${reason}`, remedy }];
  }
}

function storeFormatOf({ migrated }: Host['store']): Check {
  const from = migrated === undefined ? '' : `, migrated from format ${migrated}`;
  const undo = 'until the next command, ctx vault migrate --undo takes the migration back';
  const found = `format ${storeFormat}${from}`;
  return { name: 'store', state: 'ok', found, ...(migrated === undefined ? {} : { remedy: undo }) };
}

/** Nothing where they can be read, or are not there. */
function objectsForAll(): readonly Check[] {
  const closed = closedSystemObjects();
  if (closed === undefined) return [];
  const found = `${closed} cannot be read by you: tools and agents for every user are not there for you`;
  return [{ name: 'objects for all', state: 'optional', found, remedy: 'as root: chmod -R a+rX /var/lib/ctxfs' }];
}

/** Nothing where it can be read, or is not there. While it cannot, each command is refused that needs it. */
async function operatorFile(
  name: string,
  state: Check['state'],
  read: () => Promise<unknown>,
): Promise<readonly Check[]> {
  try {
    await read();
    return [];
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    const { path, reason } = error;
    const remedy =
      state === 'missing' ? 'correct it: until then no command runs' : 'correct it: until then ctx run is refused';
    return [{ name, state, found: path === undefined ? reason : `${path}: ${reason}`, remedy }];
  }
}

/** Nothing of a jail needs it. */
function mounts(): Check {
  const missing = missingForMounts();
  return missing === undefined
    ? { name: 'vfs mounts', state: 'ok', found: 'work' }
    : { name: 'vfs mounts', state: 'optional', ...missing };
}
