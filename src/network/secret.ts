/**
 * Secrets that the proxy adds to requests, so that a jail uses a token without holding it: for a named host, a header
 * and its value; `http-server` adds them to a request (`changesFor`). The values are private to this file's objects: no inspection, JSON or error text shows them.
 */
import { ErrnoError } from '../base/errno.js';
import { networkSecretCharacters, networkSecretParts, networkSecretValues } from '../base/limits/network.js';
import { parseHost } from './host-name.js';
import type { Field } from './http-head.js';
import { Redactor } from './redact.js';
import { SecretSearch, shortestRun } from './secret-search.js';

export interface InjectedSecret {
  readonly host: string;
  readonly header: string;
  /** Its text, or what gives it at each request: one that is kept elsewhere may be another by then. */
  readonly value: string | (() => Promise<string>);
  /** Where the host serves HTTPS; 443 if left out. */
  readonly port?: number;
}

const framingHeader =
  /^(?:host|connection|content-length|transfer-encoding|expect|accept-encoding|te|trailer|upgrade|proxy-.*)$/i;
function refuse(reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'secret', reason });
}

function assertValue(header: string, value: string): void {
  if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) || value.length > networkSecretCharacters) {
    refuse(`expected the value of ${header} to be 1 to ${networkSecretCharacters} characters of printable ASCII`);
  }
}

interface Kept {
  readonly header: string;
  readonly read: () => Promise<string>;
}

/** The secrets of one host. */
export class HostSecrets {
  readonly port: number;
  readonly #host: string;
  readonly #kept: Kept[] = [];
  /** Every value that was sent, the newest last: an old one in an answer is a secret as well. */
  readonly #values = new Set<string>();
  readonly #partsSeen = new Set<string>();
  /** For these values; made when it is first needed. */
  #search: SecretSearch | undefined;

  constructor(host: string, port: number) {
    this.#host = host;
    this.port = port;
  }

  add(header: string, value: InjectedSecret['value']): void {
    if (!/^[A-Za-z0-9-]{1,64}$/.test(header) || framingHeader.test(header)) {
      refuse('expected the name of a header that may carry a secret, not one that frames a message, such as Host');
    }
    if (this.isHeader(header)) refuse(`expected one value for ${header}`);
    if (typeof value === 'string') {
      assertValue(header, value);
      this.#hide(value);
    }
    this.#kept.push({ header, read: typeof value === 'string' ? async () => value : value });
  }

  /** The client's own fields of these names are dropped. Many servers read `X_Key` as `X-Key`, so it is the same here. */
  isHeader(name: string): boolean {
    return this.#kept.some(({ header }) => sameName(header, name));
  }

  /** As they are now. */
  async fields(): Promise<readonly Field[]> {
    const fields: Field[] = [];
    for (const { header, read } of this.#kept) {
      const value = await read();
      assertValue(header, value);
      this.#hide(value);
      fields.push([header, value]);
    }
    const [oldest] = this.#values;
    if (oldest !== undefined && this.#values.size > networkSecretValues + this.#kept.length)
      this.#values.delete(oldest);
    return fields;
  }

  /** Hides the values in what comes back, and the words of them that are long enough to tell. */
  redactor(): Redactor {
    this.#search ??= new SecretSearch([...this.#values, ...this.#words()]);
    return new Redactor(this.#search, (run) => this.#seen(run));
  }

  /**
   * Throws EACCES where answers have held too many different parts of a value: stars over a guess that the host sent
   * back say that the guess was right, and so a value could be learned one character at a time.
   */
  checkParts(): void {
    if (this.#partsSeen.size <= networkSecretParts) return;
    const reason =
      `answers of ${this.#host} held more than ${networkSecretParts} different parts of its secret, ` +
      'which looks like guessing; no more requests are made with it here (networkSecretParts)';
    throw new ErrnoError('EACCES', { operation: 'secret', reason });
  }

  #hide(value: string): void {
    if (!this.#values.delete(value)) this.#search = undefined;
    this.#values.add(value);
  }

  #seen(run: string): void {
    // An echo of a whole value says nothing; what is left of the run beside it may.
    const parts = this.#words().reduce((rest, word) => rest.flatMap((part) => part.split(word)), [run]);
    for (const part of parts) if (part.length >= shortestRun) this.#partsSeen.add(part);
    this.checkParts();
  }

  #words(): string[] {
    return [...this.#values].flatMap((value) => value.split(' ')).filter((word) => word.length >= shortestRun);
  }
}

function sameName(one: string, other: string): boolean {
  const plain = (name: string) => name.toLowerCase().replaceAll('_', '-');
  return plain(one) === plain(other);
}

export function hostSecrets(secrets: readonly InjectedSecret[]): ReadonlyMap<string, HostSecrets> {
  const hosts = new Map<string, HostSecrets>();
  for (const { host, header, value, port = 443 } of secrets) {
    const name = parseHost(host);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) refuse(`expected a port from 1 to 65535 for ${name}`);
    const held = hosts.get(name) ?? new HostSecrets(name, port);
    if (held.port !== port) refuse(`expected one port for all secrets of ${name}`);
    held.add(header, value);
    hosts.set(name, held);
  }
  return hosts;
}
