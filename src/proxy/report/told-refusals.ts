/** Which refusals a person, or a model, is told of in words. The JSON report and the record have all of them. Pure. */
import type { Refusal } from './envelope.js';

/** Runtimes ask for it at each start and have another way, Node 26 three times: no news to anybody. */
const askedByRuntimes = 'io_uring_setup';

export function toldRefusals(refusals: readonly Refusal[]): readonly Refusal[] {
  return refusals.filter(({ call }) => call !== askedByRuntimes);
}
