/** Can this host hold a jail, and what to do where it cannot: `ctx doctor`. */
import { type Check, diagnose, probeHost } from '../jail/host-probe.js';
import type { Host } from '../proxy/host.js';

export type { Check };

export interface Diagnosis {
  /** Whether commands can run here. */
  readonly ready: boolean;
  readonly checks: readonly Check[];
}

export function examine({ jailProgram, store }: Host): Diagnosis {
  const checks = diagnose(probeHost(jailProgram, store.directory));
  return { ready: checks.every(({ state }) => state !== 'missing'), checks };
}
