/** What a command was refused while it ran, as the record has it: one entry a kind, by its count. Pure. */
import type { RecordEntry } from '../../audit/record.js';
import type { Refusal } from './envelope.js';

/** Whose chain they belong to, and what they were refused in. */
export type Refused = Pick<RecordEntry, 'object' | 'agent' | 'parent'>;

/** Connections are recorded as they are refused. */
export function denialsOf(whose: Refused, refusals: readonly Refusal[]): readonly RecordEntry[] {
  return refusals.map(
    ({ call, count }): RecordEntry => ({
      ...whose,
      type: 'call',
      status: 'denied',
      layer: 'jail',
      count,
      facts: { call },
    }),
  );
}
