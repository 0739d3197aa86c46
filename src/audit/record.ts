/**
 * The record: what happened, in chains of which no record can be changed, dropped or moved unseen. The map of this layer:
 *
 *     record      what callers hand in              recorder   which chain it goes to; refusals; secrets hidden
 *     format      a record as a line, its digest    chain      one chain on disk: lock, tail, segments, torn ends
 *     layout      where chains are                  denials    refusals counted, repeats coalesced, alerts (pure)
 *     keys, seal  signed heads                      anchor     where the root is held against the key's own holder
 *     reader      the little that a verifier needs  verify     replay everything; never repairs
 *     query       records by what they say          blame      who changed a file last
 *     redact      secrets in what is recorded       projection the same events near their objects
 *
 * Imports `base` only. Promises: an entry is in its chain before the effect it announces; what cannot be recorded does not
 * happen. docs/audit-format.md has the bytes.
 */
import type { Json } from '../base/canonical-json.js';

export const statuses = ['begin', 'ok', 'failed', 'denied'] as const;
export type RecordStatus = (typeof statuses)[number];

/** Where a refusal can be seen and is counted. */
export const layers = ['hook', 'guard', 'proxy', 'network', 'jail'] as const;
export type RefusalLayer = (typeof layers)[number];

export interface RecordEntry {
  readonly type: string;
  /** The thing the entry is about, for example `fork/9f2c/main`. */
  readonly object: string;
  readonly status: RecordStatus;
  readonly facts?: { readonly [name: string]: Json | undefined };
  /** Whose chain it belongs to; without one, the person's. */
  readonly agent?: string | null | undefined;
  /** The agent's parent, whose chain hears of a refusal. */
  readonly parent?: string | undefined;
  readonly session?: string | null | undefined;
  /** Of a refusal: who refused, and how often. */
  readonly layer?: RefusalLayer;
  readonly count?: number;
  /** Wait for the disk before the effect: for what no fork can undo. */
  readonly durable?: boolean;
  /** What it announces makes room on a full disk, so it may use what is kept in reserve. */
  readonly makesRoom?: boolean;
}

/** Where an entry was put. */
export interface Receipt {
  readonly chain: string;
  /** Undefined where it was added to the count of one that is recorded when its time has come. */
  readonly seq: number | undefined;
}

export interface Recorder {
  /** Returns only when the entry is in its chain. Throws when it cannot be: then the effect must not happen. */
  append(entry: RecordEntry): Receipt;
}
