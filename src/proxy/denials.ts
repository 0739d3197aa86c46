/** What a command was refused while it ran, as the record has it: one entry a kind, by its count. Pure. */
import type { RecordEntry } from '../audit/record.js';
import type { ConnectionEvent } from '../network/events.js';
import type { Refusal } from './envelope.js';

/** Whose chain they belong to, and what they were refused in. */
export type Refused = Pick<RecordEntry, 'object' | 'agent' | 'parent' | 'session'>;

export function denialsOf(
  whose: Refused,
  refusals: readonly Refusal[],
  connections: readonly ConnectionEvent[],
): readonly RecordEntry[] {
  const calls = refusals.map(
    ({ call, count }): RecordEntry => ({
      ...whose,
      type: 'call',
      status: 'denied',
      layer: 'jail',
      count,
      facts: { call },
    }),
  );
  const refused = connections.filter(({ verdict }) => verdict === 'refused');
  const connects = refused.map(
    ({ host, port, reason, count }): RecordEntry => ({
      ...whose,
      type: 'connect',
      status: 'denied',
      layer: 'network',
      count,
      facts: { host, port, reason },
    }),
  );
  return [...calls, ...connects];
}
