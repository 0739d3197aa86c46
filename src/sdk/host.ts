/** The machine and the person, as everything of the SDK takes them. The composition root makes one; to callers it is a token. */
import type { Host } from '../proxy/host.js';
import { placeVariables } from '../vault/store/store-place.js';

export type { Host };

/** Whether a process with this environment would have the same store, agents and configuration. */
export function isHostOf(environment: Host['environment'], host: Host): boolean {
  return placeVariables.every((name) => environment[name] === host.environment[name]);
}
