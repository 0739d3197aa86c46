/**
 * Group commit, for processes that live long and record much: entries that come while the disk is busy go out together, with
 * one lock, one write and one wait for the disk. `append` resolves, with its number, when its entry is where it was asked to be: in the chain, or
 * on the disk.
 */
import { fdatasync } from 'node:fs';
import { fromSystemError } from '../base/errno.js';
import { groupCommitRecords } from '../base/limits.js';
import type { Appended, Chain } from './chain.js';
import type { RecordEntry } from './record.js';

interface Waiting {
  readonly entry: RecordEntry;
  readonly durable: boolean;
  settle(seq: number | undefined): void;
  fail(error: unknown): void;
}

export interface GroupCommitOptions {
  /** Whether an entry that does not say so itself waits for the disk. */
  readonly durable: boolean;
  /** What a batch brought besides: notices for parents, a segment that ended. */
  readonly onAppended?: (appended: Appended) => void;
  readonly most?: number;
}

export class GroupCommit {
  readonly #chain: Chain;
  readonly #options: GroupCommitOptions;
  #queue: Waiting[] = [];
  /** How many of the queue were taken: a long one is not moved up for each batch. */
  #taken = 0;
  #isBusy = false;

  constructor(chain: Chain, options: GroupCommitOptions) {
    this.#chain = chain;
    this.#options = options;
  }

  append(entry: RecordEntry): Promise<number | undefined> {
    return new Promise((settle, fail) => {
      this.#queue.push({ entry, durable: entry.durable ?? this.#options.durable, settle, fail });
      if (this.#isBusy) return;
      this.#isBusy = true;
      // What is asked for in the same turn goes out together.
      setImmediate(() => this.#commit());
    });
  }

  #commit(): void {
    const { most = groupCommitRecords } = this.#options;
    const batch = this.#take(most);
    let seqs: Appended['seqs'];
    try {
      const appended = this.#chain.appendAll(batch.map(({ entry }) => entry));
      ({ seqs } = appended);
      this.#options.onAppended?.(appended);
    } catch (error) {
      // One bad entry must not take the others along: each gets its own answer.
      if (batch.length > 1) this.#oneByOne(batch);
      else for (const { fail } of batch) fail(error);
      this.#next();
      return;
    }
    const settle = (which: (waiting: Waiting) => boolean) =>
      batch.forEach((waiting, index) => {
        if (which(waiting)) waiting.settle(seqs[index]);
      });
    settle(({ durable }) => !durable);
    const { segment } = this.#chain;
    if (segment === undefined || !batch.some(({ durable }) => durable)) {
      settle(({ durable }) => durable);
      this.#next();
      return;
    }
    // A segment that ended in this batch was synced when it ended.
    fdatasync(segment, (error) => {
      if (error === null) settle(({ durable }) => durable);
      else for (const { durable, fail } of batch) if (durable) fail(fromSystemError(error, 'record'));
      this.#next();
    });
  }

  #take(most: number): readonly Waiting[] {
    const batch = this.#queue.slice(this.#taken, this.#taken + most);
    this.#taken += batch.length;
    if (this.#taken < this.#queue.length) return batch;
    this.#queue = [];
    this.#taken = 0;
    return batch;
  }

  #oneByOne(batch: readonly Waiting[]): void {
    for (const { entry, durable, settle, fail } of batch) {
      try {
        const appended = this.#chain.appendAll([entry], { durable });
        this.#options.onAppended?.(appended);
        settle(appended.seqs[0]);
      } catch (error) {
        fail(error);
      }
    }
  }

  #next(): void {
    if (this.#queue.length > 0) this.#commit();
    else this.#isBusy = false;
  }
}
