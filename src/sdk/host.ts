/** The machine and the person, as everything of the SDK takes them. The composition root makes one; to callers it is a token. */
import { existsSync } from 'node:fs';
import { cacheDirectory } from '../base/installation.js';
import type { Host } from '../proxy/host.js';
import { placeVariables } from '../vault/store/store-place.js';

export type { Host };

/** Whether a process with this environment would have the same store, agents and configuration. */
export function isHostOf(environment: Host['environment'], host: Host): boolean {
  return placeVariables.every((name) => environment[name] === host.environment[name]);
}

/** What of a person stays on the disk, whether the program is there or not. */
export function leftPlaces(host: Host): readonly { readonly path: string; readonly what: string }[] {
  const cache = cacheDirectory(host.environment);
  const places = [
    { path: host.store.directory, what: 'the store: forks and their changes, the record, agents, approvals, secrets' },
    ...host.operatorDirectories
      .filter((path) => !path.startsWith(`${host.store.directory}/`))
      .map((path) => ({ path, what: 'your configuration of ctx' })),
    ...(cache === undefined ? [] : [{ path: cache, what: 'notes that can be made again' }]),
  ];
  return places.filter(({ path }) => existsSync(path));
}
