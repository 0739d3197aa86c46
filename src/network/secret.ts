/**
 * Secrets that the proxy adds to requests, so that a jail uses a token without holding it: for a named host, a header
 * and its value. The values are private to this file's objects: no inspection, JSON or error text shows them.
 */
import { ErrnoError } from '../base/errno.js';
import { networkSecretCharacters } from '../base/limits.js';
import { parseHost } from './host-name.js';
import type { Field } from './http-head.js';
import { Redactor } from './redact.js';

export interface InjectedSecret {
  readonly host: string;
  readonly header: string;
  readonly value: string;
  /** Where the host serves HTTPS; 443 if left out. */
  readonly port?: number;
}

const framingHeader =
  /^(?:host|connection|content-length|transfer-encoding|expect|accept-encoding|te|trailer|upgrade|proxy-.*)$/i;
/** Shorter parts are too common to be searched for. */
const shortestPart = 8;

function refuse(reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'secret', reason });
}

/** The secrets of one host. */
export class HostSecrets {
  readonly port: number;
  readonly #fields: Field[] = [];

  constructor(port: number) {
    this.port = port;
  }

  add(header: string, value: string): void {
    if (!/^[A-Za-z0-9-]{1,64}$/.test(header) || framingHeader.test(header)) {
      refuse('expected the name of a header that does not change what a message is');
    }
    if (this.names.has(header.toLowerCase())) refuse(`expected one value for ${header}`);
    if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) || value.length > networkSecretCharacters) {
      refuse(`expected the value of ${header} to be 1 to ${networkSecretCharacters} characters of printable ASCII`);
    }
    this.#fields.push([header, value]);
  }

  /** Lower-case names: the client's own fields of these names are dropped. */
  get names(): ReadonlySet<string> {
    return new Set(this.#fields.map(([name]) => name.toLowerCase()));
  }

  fields(): readonly Field[] {
    return [...this.#fields];
  }

  /** Hides the values in what comes back, and the part after a scheme such as `Bearer`. */
  redactor(): Redactor {
    const parts = this.#fields.flatMap(([, value]) => [
      value,
      ...value.split(' ').filter((p) => p.length >= shortestPart),
    ]);
    return new Redactor(parts);
  }
}

export function hostSecrets(secrets: readonly InjectedSecret[]): ReadonlyMap<string, HostSecrets> {
  const hosts = new Map<string, HostSecrets>();
  for (const { host, header, value, port = 443 } of secrets) {
    const name = parseHost(host);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) refuse(`expected a port from 1 to 65535 for ${name}`);
    const held = hosts.get(name) ?? new HostSecrets(port);
    if (held.port !== port) refuse(`expected one port for all secrets of ${name}`);
    held.add(header, value);
    hosts.set(name, held);
  }
  return hosts;
}
