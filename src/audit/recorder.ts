/**
 * The Recorder that everybody uses: each entry to the chain of whom it is about, its secrets hidden first. Every
 * refusal goes through here, is counted and recorded, and reported to the parent of the agent that was refused.
 */
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../base/canonical-json.js';
import { writableTime } from '../base/clock.js';
import { type FileLock, loadFileLock } from '../base/file-lock.js';
import { sealLockMilliseconds } from '../base/limits/store.js';
import { makeDirectory } from '../base/make-directory.js';
import { type Appended, Chain } from './chain.js';
import { Hasher, type Position, types } from './format.js';
import { agentChain, hostChain, isChainName, personChain, recordPaths } from './layout.js';
import type { Receipt, RecordEntry, Recorder } from './record.js';
import { redactFacts } from './redact.js';
import { Reserve } from './reserve.js';

export interface RecorderOptions {
  /** The directory of all chains. */
  readonly record: string;
  /** Path of `flock.node`. */
  readonly library: string;
  readonly now: () => Date;
  /** Whether every entry waits for the disk. */
  readonly durable?: boolean;
  /** Whether an agent of this name exists: a name that somebody only said gets no chain of its own. */
  readonly isAgent?: (agent: string) => boolean;
  /** An agent's parent, for refusals whose caller does not know it. */
  readonly parentOf?: (agent: string) => string | undefined;
  /** What is recorded, for projections. A failure of theirs is not a failure of the record. */
  readonly onRecorded?: (entry: RecordEntry, ts: string) => void;
  /** A segment of a chain has been ended: its head is to be signed. */
  readonly onRotated?: (chain: string, end: Position, recorder: ChainRecorder) => void;
  readonly segmentBytes?: number;
}

/** A name that no agent can have is somebody's text, and no place on the disk: that is the person's business. */
function chainOf(agent: string | null | undefined): string {
  const chain = agentChain(agent ?? '');
  return isChainName(chain) ? chain : personChain;
}

export class ChainRecorder implements Recorder {
  readonly #options: RecorderOptions;
  readonly #hasher = new Hasher();
  readonly #chains = new Map<string, Chain>();
  #lock: FileLock | undefined;
  #isAlone = false;

  constructor(options: RecorderOptions) {
    this.#options = { ...options, now: () => writableTime(options.now()) };
  }

  get record(): string {
    return this.#options.record;
  }

  append(entry: RecordEntry): Receipt {
    const chain = this.#chainOf(entry.agent);
    return { chain, seq: this.#appendTo(chain, entry).seqs[0] };
  }

  /** What ran for an agent that was removed since goes on in the chain it has. */
  #chainOf(agent: string | null | undefined): string {
    const chain = chainOf(agent);
    const { isAgent, record } = this.#options;
    if (typeof agent !== 'string' || chain === personChain || isAgent === undefined) return chain;
    return isAgent(agent) || existsSync(join(record, chain)) ? chain : personChain;
  }

  /** For the record's own business: chains, seals, keys, anchors. */
  appendToHost(entry: RecordEntry): Position {
    // None of these is a refusal, so nothing comes behind it.
    return this.#appendTo(hostChain, entry).end;
  }

  /** Repeats of refusals that still wait are recorded first. */
  endOf(chain: string): Position {
    const found = this.#chain(chain);
    const appended = found.appendAll([], { flush: true, durable: true });
    this.#settle(found, appended);
    return appended.end;
  }

  /** Only one process at a time makes keys, seals and writes to anchors. Within a call of itself it is the same one. */
  alone<T>(act: () => T): T {
    if (this.#isAlone) return act();
    const { record, library } = this.#options;
    makeDirectory(record);
    const path = recordPaths(record).sealLock;
    const descriptor = openSync(path, 'a', 0o600);
    try {
      loadFileLock(library, sealLockMilliseconds).hold(descriptor, path);
      this.#isAlone = true;
      return act();
    } finally {
      this.#isAlone = false;
      closeSync(descriptor);
    }
  }

  close(): void {
    for (const chain of this.#chains.values()) chain.close();
    this.#chains.clear();
  }

  #appendTo(name: string, entry: RecordEntry): Appended {
    const { durable = this.#options.durable ?? false } = entry;
    const kept = this.#withParent(entry.facts === undefined ? entry : { ...entry, facts: redactFacts(entry.facts) });
    const chain = this.#chain(name);
    const appended = chain.appendAll([kept], { durable });
    this.#settle(chain, appended);
    this.#options.onRecorded?.(kept, this.#options.now().toISOString());
    return appended;
  }

  #withParent(entry: RecordEntry): RecordEntry {
    const { agent, status, parent } = entry;
    if (status !== 'denied' || parent !== undefined || typeof agent !== 'string') return entry;
    const found = isChainName(agentChain(agent)) ? this.#options.parentOf?.(agent) : undefined;
    return found === undefined ? entry : { ...entry, parent: found };
  }

  #settle(chain: Chain, { notices, rotated }: ReturnType<Chain['appendAll']>): void {
    for (const { parent, entry, seq } of notices) {
      const { layer = 'proxy', count = 1, object, type } = entry;
      const facts: Record<string, Json> = { child: chain.name, record: seq, type, layer, count };
      this.#appendTo(chainOf(parent), { type: types.childDenied, object, status: 'ok', facts, agent: parent });
    }
    if (rotated !== undefined) this.#options.onRotated?.(chain.name, rotated, this);
  }

  #chain(name: string): Chain {
    const known = this.#chains.get(name);
    if (known !== undefined) return known;
    const { record, library, now, segmentBytes } = this.#options;
    this.#lock ??= loadFileLock(library);
    // On the disk before anything of the chain can be: no one would know a chain whose announcement a power cut took.
    const announce = (head: string) => {
      const facts = { chain: name, head };
      this.appendToHost({ type: types.chain, object: name, status: 'ok', durable: true, facts });
    };
    const chain = new Chain({
      record,
      chain: name,
      lock: this.#lock,
      hasher: this.#hasher,
      reserve: new Reserve(recordPaths(record).reserve),
      now,
      ...(name === hostChain ? {} : { announce }),
      ...(segmentBytes === undefined ? {} : { segmentBytes }),
    });
    this.#chains.set(name, chain);
    return chain;
  }
}
