/**
 * The record of everything that happened here, for anyone who asks: `ctx audit`, `ctx blame`. Reading changes nothing;
 * what proves the record (seals, keys, the verifier) is loaded when it is asked for.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { genesisHead } from '../../audit/format.js';
import { agentChain, isChainName, personChain } from '../../audit/layout.js';
import { type FoundRecord, find, isBookkeeping, type Query, recordsIn } from '../../audit/query.js';
import { directoryReader, type RecordReader } from '../../audit/reader.js';
import type { Sealed } from '../../audit/seal.js';
import type { Finding, Verification } from '../../audit/verify.js';
import { allows } from '../../authority/policy.js';
import { ErrnoError } from '../../base/errno.js';
import type { Host } from '../../proxy/host.js';
import type { Blamed } from './blame.js';
import type { Exported, KnownKeys } from './record-proof.js';

export type { Blamed, Exported, Finding, FoundRecord, KnownKeys, Query, Sealed, Verification };

const followMilliseconds = 300;
const proof = () => import('./record-proof.js');

export interface RecordOptions {
  /** A directory that a record was exported to; without it, the record of this host. */
  readonly directory?: string | undefined;
  /**
   * Read as this agent. The operator reads everything. An agent reads its own chain, and another agent's where its policy has
   * `agent:NAME read`; never the person's and never the host's.
   */
  readonly as?: string | undefined;
}

export interface FindOptions extends Query {
  /** What is about the record itself, too. */
  readonly all?: boolean | undefined;
}

export interface PlacedRecord extends FoundRecord {
  /** The head of the one before it, which it goes on from. */
  readonly previous: string;
}

export class AuditRecord {
  readonly #host: Host;
  readonly #options: RecordOptions;

  constructor(host: Host, options: RecordOptions = {}) {
    this.#host = host;
    this.#options = options;
  }

  /** Where it is. */
  get directory(): string {
    return this.#options.directory ?? this.#host.audit.record;
  }

  /** Of an export there has to be something: from a directory that was misspelt nothing was recorded, as far as a reader sees. */
  get #reader(): RecordReader {
    const { directory } = this.#options;
    const reader = directoryReader(this.directory);
    if (directory !== undefined && reader.chains().length === 0) {
      throw new ErrnoError('ENOENT', { operation: 'ctx audit', path: directory, reason: 'there is no record here' });
    }
    return reader;
  }

  async #rights(): Promise<(chain: string) => boolean> {
    const { as: name } = this.#options;
    if (name === undefined) return () => true;
    const { policy, identity } = await this.#host.agents(name);
    const grants = (other: string) => allows(policy, identity.label.type, 'agent', other, 'read');
    return (chain) =>
      chain === agentChain(name) || (chain.startsWith('agent/') && grants(chain.slice('agent/'.length)));
  }

  /** Keys, seals and copies of all chains are the operator's. */
  #refuseAgents(what: string): void {
    const { as: name } = this.#options;
    if (name === undefined) return;
    throw new ErrnoError('EACCES', {
      operation: `ctx audit ${what}`,
      reason: `this is the operator's alone, and the record was opened as agent ${name}`,
      remedy: 'open the record without an agent',
    });
  }

  /** It would be done to the record of this host. */
  #refuseExported(what: string): void {
    const { directory } = this.#options;
    if (directory === undefined) return;
    throw new ErrnoError('EINVAL', {
      operation: `ctx audit ${what}`,
      path: directory,
      reason: 'the record was opened as an export, which can only be read',
      remedy: 'open the record without a directory',
    });
  }

  #refuseReading(chain: string): never {
    throw new ErrnoError('EACCES', {
      operation: 'ctx audit',
      path: chain,
      reason: `agent ${this.#options.as} may not read the records of ${chain}`,
      remedy: chain.startsWith('agent/')
        ? `an operator can add to its policy: allow TYPE agent:${chain.slice('agent/'.length)} read`
        : 'no policy grants the records of the host and of the person: an operator reads them without --as',
    });
  }

  /** In the order of time. EACCES where the chain of another agent is asked for that may not be read. */
  async find({ all = false, ...query }: FindOptions = {}): Promise<readonly FoundRecord[]> {
    const mayRead = await this.#rights();
    const { agent, type } = query;
    if (agent !== undefined && !mayRead(agentChain(agent))) this.#refuseReading(agentChain(agent));
    const wantsAll = all || type?.startsWith('audit') === true;
    return find(this.#reader, query, mayRead).filter((record) => wantsAll || !isBookkeeping(record));
  }

  /** What is recorded after those that are known, as it comes; until the signal ends it. */
  async *follow(known: readonly FoundRecord[], options: FindOptions & { readonly signal?: AbortSignal } = {}) {
    const { signal, ...query } = options;
    const nameOf = ({ chain, body }: FoundRecord) => `${chain}:${body.seq}`;
    let seen = known;
    while (signal?.aborted !== true) {
      await sleep(followMilliseconds);
      const names = new Set(seen.map(nameOf));
      seen = await this.find(query);
      for (const record of seen) if (!names.has(nameOf(record))) yield record;
    }
  }

  /** One record by its place, `CHAIN:NUMBER`; a bare number is one of the person's own chain. */
  async at(place: string): Promise<PlacedRecord> {
    const operation = 'ctx audit show';
    const colon = place.lastIndexOf(':');
    const chain = colon < 0 ? personChain : place.slice(0, colon);
    const seq = Number(place.slice(colon + 1));
    if (!isChainName(chain) || !Number.isSafeInteger(seq) || seq < 1) {
      const reason = `expected CHAIN:NUMBER, for example agent/coder:3, got '${place}'`;
      throw new ErrnoError('EINVAL', { operation, reason });
    }
    if (!(await this.#rights())(chain)) this.#refuseReading(chain);
    let previous = genesisHead;
    for (const record of recordsIn(this.#reader, chain)) {
      if (record.body.seq === seq) return { ...record, previous };
      previous = record.head;
    }
    const remedy = 'ctx audit query lists them';
    throw new ErrnoError('ENOENT', { operation, path: place, reason: 'there is no such record', remedy });
  }

  /** The command that changed a file last, of those whose records may be read. ENOENT where none did. */
  async blame(file: string): Promise<Blamed> {
    return (await import('./blame.js')).blameFile(this.#host, file, this.#reader, await this.#rights());
  }

  /** Does it hold, and what does that mean. `key`: the root key to trust, instead of the one that was seen first. */
  async verify({ key }: { readonly key?: string | undefined } = {}): Promise<Verification> {
    return (await proof()).verifyRecord(this.#host, this.#options.directory, key);
  }

  /** Signs what is not signed yet, and anchors it. */
  async seal(): Promise<Sealed> {
    this.#refuseAgents('seal');
    this.#refuseExported('seal');
    return (await proof()).sealRecord(this.#host);
  }

  async keys(): Promise<KnownKeys> {
    return (await proof()).keysOf(this.#reader);
  }

  async rotateKey(): Promise<void> {
    this.#refuseAgents('keys');
    this.#refuseExported('keys');
    (await proof()).rotateKey(this.#host);
  }

  async revokeKey(id: string): Promise<void> {
    this.#refuseAgents('keys');
    this.#refuseExported('keys');
    (await proof()).revokeKey(this.#host, id);
  }

  /** Sealed, and copied to a directory that is made for it, with what a verifier elsewhere needs. */
  async exportTo(directory: string): Promise<Exported> {
    this.#refuseAgents('export');
    this.#refuseExported('export');
    return (await proof()).exportRecord(this.#host, directory);
  }
}
