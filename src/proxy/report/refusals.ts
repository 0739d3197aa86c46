/** What the filter refused, in the words of a report. Pure. */
import type { RefusedCall } from '../../jail/report.js';
import { refusalReason, systemCallName } from '../../jail/seccomp.js';
import type { Architecture } from '../../jail/system-calls.js';
import type { Refusal } from './envelope.js';

export function refusalsOf(calls: readonly RefusedCall[], architecture: Architecture): readonly Refusal[] {
  return calls.map(({ number, count, first, last }) => {
    const call = systemCallName(architecture, number);
    const [firstAt, lastAt] = [new Date(first).toISOString(), new Date(last).toISOString()];
    return { call, count, firstAt, lastAt, why: refusalReason(call) };
  });
}
