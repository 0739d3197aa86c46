/** Can this host hold a jail, and what to do where it cannot: `ctx doctor`. */
import { type Check, diagnose, probeHost } from '../../jail/host-probe.js';
import type { Host } from '../../proxy/host.js';
import { storeFormat } from '../../vault/store/layout.js';
import { missingForMounts } from './mount-support.js';

export type { Check };

export interface Diagnosis {
  /** Whether commands can run here. */
  readonly ready: boolean;
  readonly checks: readonly Check[];
}

export function examine({ jailProgram, store, lockLibrary }: Host): Diagnosis {
  const checks = [...diagnose(probeHost(jailProgram, store.directory, lockLibrary)), mounts(), storeFormatOf(store)];
  return { ready: checks.every(({ state }) => state !== 'missing'), checks };
}

function storeFormatOf({ migrated }: Host['store']): Check {
  const from = migrated === undefined ? '' : `, migrated from format ${migrated}`;
  const undo = 'until the next command, ctx vault migrate --undo takes the migration back';
  const found = `format ${storeFormat}${from}`;
  return { name: 'store', state: 'ok', found, ...(migrated === undefined ? {} : { remedy: undo }) };
}

/** Nothing of a jail needs it. */
function mounts(): Check {
  const missing = missingForMounts();
  return missing === undefined
    ? { name: 'vfs mounts', state: 'ok', found: 'work' }
    : { name: 'vfs mounts', state: 'optional', ...missing };
}
