/** Harnesses that are run by name: `ctx run`. A profile says what its program needs beyond any command, and why. */
import { existsSync } from 'node:fs';
import { ErrnoError } from '../../base/errno.js';
import { readSecret } from '../../proxy/grants/stored-secrets.js';
import { type Host, placeOf } from '../../proxy/host.js';
import { profileHome } from '../../vault/store/profile-home.js';
import { withDefaultPort } from '../network-name.js';
import type { WorkspaceOptions } from '../options.js';
import { type Need, needsOf, type OutsideKey, type Profile } from './profiles.js';
import { readProfiles } from './profiles-file.js';

export type { Need, Profile };

export interface HarnessOptions {
  /** Whose directory it works on: the home is that owner's. */
  readonly directory: string;
  /** Secrets too: keys and sign-ins. */
  readonly credentials?: boolean;
  /** Keys stay outside, and are added by the network proxy: EINVAL where there is none that can. */
  readonly keyOutside?: boolean;
  /** A new home in place of the one that is there. */
  readonly fresh?: boolean;
}

export interface Harnessed {
  /** What a workspace for it is opened with. */
  readonly options: WorkspaceOptions;
  /** Secrets lie over the home for this run: what is written there ends with it. */
  readonly homeEnds: boolean;
  /** When it is not used any more: until then no one makes a fresh home in place of this one. */
  release(): Promise<void>;
}

const isSetIn = (environment: Host['environment'], name: string) => (environment[name] ?? '') !== '';

/** Those of the profile's keys that the person has, as variables or stored. */
function keysOutside({ name, keys = [] }: Profile, host: Host): readonly OutsideKey[] {
  const held = keys.filter(
    ({ variable }) => isSetIn(host.environment, variable) || readSecret(host, variable) !== undefined,
  );
  if (held.length > 0) return held;
  const variables = keys.map(({ variable }) => variable).join(' or ');
  throw new ErrnoError('EINVAL', {
    operation: 'run',
    reason:
      keys.length === 0
        ? `no key of ${name} is known that can stay outside`
        : `expected a key that can stay outside: ${variables} is neither set here nor stored`,
    remedy:
      keys.length === 0
        ? '--secret adds one to the requests for a host: docs/network.md'
        : `ctx secret set ${keys[0]?.variable}, or set it as a variable, or sign in inside`,
  });
}

export class Profiles {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Those of the operator's `profiles.toml` first, then those that ctx knows. */
  list(): Promise<readonly Profile[]> {
    return readProfiles(this.#host.operatorDirectories);
  }

  /** What a caller grants, widened by what the profile needs. Its home is made here. */
  async widen(profile: Profile, granted: WorkspaceOptions, asked: HarnessOptions): Promise<Harnessed> {
    const { store, tree, home: source, environment } = this.#host;
    const { directory, credentials = false, fresh = false } = asked;
    const outside = asked.keyOutside === true ? keysOutside(profile, this.#host) : [];
    const needs = needsOf(profile, credentials);
    const secretCopies = needs.copies.filter(({ secret }) => secret === true).map(({ what }) => what);
    const { path, release } = await profileHome({
      store,
      tree,
      name: profile.name,
      owner: placeOf(this.#host, directory).owner,
      source,
      copies: needs.copies.filter(({ secret }) => secret !== true).map(({ what }) => what),
      secrets: secretCopies,
      fresh,
    });
    const isSet = ({ what }: Need) => environment[what] !== undefined && environment[what] !== '';
    // What is not installed in that way is not news.
    const reads = needs.reads.map(({ what }) => what.replace(/^~(?=\/)/, source)).filter((each) => existsSync(each));
    const hosts = needs.hosts.map(({ what }) => withDefaultPort(what));
    const isOutside = ({ what }: Need) => outside.some(({ variable }) => variable === what);
    const own = needs.environment.filter((need) => isSet(need) && !isOutside(need));
    const instead = new Set(outside.flatMap(({ variables }) => variables));
    const variables = [...[...needs.variables, ...own].map(({ what }) => what), ...instead];
    const secrets = outside.map(({ host, header, scheme, variable }) => ({
      host,
      header,
      ...(isSetIn(environment, variable)
        ? { value: `${scheme}${environment[variable]}` }
        : { template: `${scheme}$${variable}` }),
    }));
    return {
      options: {
        ...granted,
        reads: [...(granted.reads ?? []), ...reads],
        network: [...new Set([...(granted.network ?? []), ...hosts])],
        environment: [...variables, ...(granted.environment ?? [])],
        secrets: [...(granted.secrets ?? []), ...secrets],
        home: path,
      },
      homeEnds: secretCopies.length > 0,
      release,
    };
  }
}
