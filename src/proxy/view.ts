/** From a place on this host to what its jail shows. */
import { posix } from 'node:path';
import { programPaths, showsTooMuchOf } from '../authority/program-paths.js';
import type { Person } from '../authority/system-profile.js';
import { defaultToolingPaths, expandPaths, pathEnvironment } from '../authority/tooling-paths.js';
import type { Identity, JailView, Layer } from '../jail/plan.js';
import { readOnlyPaths, systemView } from '../jail/system-view.js';
import type { ForkPaths } from '../vault/layout.js';
import { layersFromTop, type OpenVault } from '../vault/vault.js';
import { commandEnvironment } from './environment.js';
import type { Host, Place } from './host.js';

export const jailHostName = 'ctx';

export interface ViewRequest {
  readonly host: Host;
  readonly place: Place;
  readonly vault: OpenVault;
  readonly fork: ForkPaths;
  readonly argv: readonly string[];
  readonly environmentAdditions: readonly string[];
  readonly weakened: readonly Layer[];
}

function personAt(host: Host, place: Place): Person {
  const { uid, gid } = place.owner;
  const name = uid === 0 ? 'root' : 'user';
  return { uid, gid, name, group: name, home: host.home };
}

function identityAt({ owner }: Place): Identity {
  const { uid, gid, shift } = owner;
  return shift === 0 ? { kind: 'self', uid, gid } : { kind: 'shifted', uid, gid, shift };
}

function isWithin(directory: string, path: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}

export function jailView(request: ViewRequest): JailView {
  const { host, place, vault, fork } = request;
  const { directory: base } = vault.paths;
  const inVault = (path: string) => posix.relative(base, path);
  const person = personAt(host, place);
  const programs = programPaths(host.environment['PATH'], host.home);
  const tooling = expandPaths(defaultToolingPaths, pathEnvironment({ ...host.environment, HOME: host.home }));
  const system = systemView();
  const more = readOnlyPaths([...programs.reads, ...tooling.paths]);
  // Judged once more now that links are resolved: an innocent name on PATH may lead to a whole home.
  const showsTooMuch = showsTooMuchOf(host.home);
  const outside = more.shared.filter(({ target }) => !isWithin(place.origin, target) && !showsTooMuch(target));
  return {
    identity: identityAt(place),
    person,
    hostName: jailHostName,
    base,
    overlays: [
      {
        target: place.origin,
        lower: layersFromTop(vault).map(inVault),
        upper: inVault(fork.upper),
        work: inVault(fork.work),
      },
    ],
    shared: [...system.shared, ...outside, { source: fork.home, target: host.home, access: 'read write' }],
    links: [
      ...system.links,
      ...more.links.filter(({ path }) => !isWithin(place.origin, path) && !isWithin(host.home, path)),
    ],
    weakened: request.weakened,
    architecture: host.architecture,
    processors: host.processors,
    hidden: [host.store.directory],
    directory: place.directory,
    environment: commandEnvironment({
      inherited: host.environment,
      search: programs.search,
      person,
      additions: request.environmentAdditions,
    }),
    argv: request.argv,
  };
}
