/**
 * One chain on disk. Many processes append to it at once: the process that appends holds the lock, looks where the
 * chain ends, and writes its records with one write. Where a record cannot be written whole nothing of it stays.
 *
 * What a line is and how it is chained: `format`; what is signed: `seal`.
 *
 * What a crash left half written is kept aside in a file of its own, and a record says so; it is never dropped.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { syncDirectory, writeFileAtomic } from '../base/atomic-file.js';
import { ErrnoError, isFull } from '../base/errno.js';
import type { FileLock } from '../base/file-lock.js';
import { denialsUnsynced } from '../base/limits/decisions.js';
import { recordSegmentBytes, recordSegmentMilliseconds } from '../base/limits/store.js';
import { ChainLock } from './chain-lock.js';
import { type DenialState, type Notice, noDenials, parseDenials, planDenials } from './denials.js';
import {
  bodyText,
  formatVersion,
  genesisHead,
  type Hasher,
  type Position,
  textOf,
  types,
  viewOf,
  wordsOf,
} from './format.js';
import { agentOfChain, type ChainPaths, chainPaths, firstSeqOf, segmentName, tornName } from './layout.js';
import { recordsIn } from './query.js';
import { directoryReader } from './reader.js';
import type { RecordEntry, RefusalLayer } from './record.js';
import type { Reserve } from './reserve.js';
import { appendLines, makeDurable } from './segment.js';
import { type LastRecord, readTail } from './tail.js';

export interface ChainOptions {
  /** The directory of all chains. */
  readonly record: string;
  readonly chain: string;
  readonly lock: FileLock;
  readonly hasher: Hasher;
  readonly reserve: Reserve;
  readonly now: () => Date;
  /** Called with the head of the genesis before that is written, so that the host chain has it first. */
  readonly announce?: (head: string) => void;
  readonly segmentBytes?: number;
}

interface Tail extends LastRecord {
  /** Of the segment, in bytes: as long as it stays, no one has appended. */
  readonly size: number;
}

export interface AppendOptions {
  readonly durable?: boolean;
  /** Record repeats of refusals that still wait. */
  readonly flush?: boolean;
}

export interface Appended {
  /** Numbers of the entries' records; undefined for a refusal that was added to a count. */
  readonly seqs: readonly (number | undefined)[];
  /** Of the last record there is now. Others have their heads in the chain: no one waits for their texts. */
  readonly end: Position;
  readonly notices: readonly (Notice & { readonly seq: number })[];
  /** The last head of a segment that was ended by this. */
  readonly rotated: Position | undefined;
}

function latest(now: Date, ts: string): string {
  const written = now.toISOString();
  return written < ts ? ts : written;
}

const firstLook = 4096;
const lineOverhead = 128;
const largestKept = 4 * 1024 * 1024;

export class Chain {
  readonly name: string;
  readonly paths: ChainPaths;
  readonly #options: ChainOptions;
  readonly #lock: ChainLock;
  #segment: number | undefined;
  #opened = 0;
  #tail: Tail | undefined;
  #lines: Buffer = Buffer.alloc(firstLook);

  constructor(options: ChainOptions) {
    this.name = options.chain;
    this.paths = chainPaths(options.record, options.chain);
    this.#options = options;
    this.#lock = new ChainLock(options.lock, this.paths, () => this.#forget());
  }

  appendAll(entries: readonly RecordEntry[], options: AppendOptions = {}): Appended {
    if (entries.some(({ status, makesRoom }) => status === 'begin' && makesRoom !== true)) {
      this.#lock.inRecord(() => this.#options.reserve.demand());
    }
    return this.#lock.held(() => {
      const first: RecordEntry[] = [];
      let tail = this.#refresh(first);
      const mayUseReserve = entries.every(({ status, makesRoom }) => status !== 'begin' || makesRoom === true);
      let denials = this.#denials();
      // Records of refusals that a crash left out come first: the end of a segment would take the place of one.
      const isOwed = denials.intents.some(({ seq }) => seq > tail.seq);
      const ends = first.length === 0 && !isOwed && this.#isFull(tail);
      const isLong = denials.intents.length >= denialsUnsynced && entries.some(({ status }) => status === 'denied');
      if (!isOwed && (ends || isLong || options.durable === true)) denials = this.#onDisk(denials, tail, mayUseReserve);
      const rotated = ends ? this.#rotate(tail) : undefined;
      if (rotated !== undefined) tail = this.#refresh(first);
      const now = this.#options.now();
      // Before what was torn, too: no other record may have a time before that of the last one.
      if (now.toISOString() < tail.ts) {
        first.unshift({ type: types.clock, object: this.name, status: 'ok', facts: { was: tail.ts } });
      }
      const plan = planDenials({
        state: denials,
        entries,
        seq: tail.seq,
        first,
        now: now.getTime(),
        flush: options.flush ?? false,
      });
      if (plan.changed) this.#withRoom(mayUseReserve, () => this.#writeDenials(plan.state, options.durable));
      const next = tail.seq + 1;
      const end = this.#withRoom(mayUseReserve, () => this.#write(tail, plan.entries, now, options.durable));
      return {
        seqs: plan.places.map((place) => (place === undefined ? undefined : next + place)),
        end,
        notices: plan.notices.map((notice) => ({ ...notice, seq: next + notice.index })),
        rotated,
      };
    });
  }

  close(): void {
    this.#forget();
    this.#lock.close();
  }

  #forget(): void {
    if (this.#segment !== undefined) closeSync(this.#segment);
    this.#segment = undefined;
    this.#tail = undefined;
  }

  #withRoom<T>(mayUseReserve: boolean, write: () => T): T {
    try {
      return write();
    } catch (error) {
      if (!isFull(error) || !mayUseReserve || !this.#options.reserve.release()) throw error;
      return write();
    }
  }

  #denials(): DenialState {
    // Asked for first, since an error that is thrown costs more than the rest of an append. We hold the lock: no one removes it.
    if (!existsSync(this.paths.denials)) return noDenials;
    const text = readFileSync(this.paths.denials, 'utf8');
    if (text === '') return this.#countedAgain();
    // One that cannot be read counts nothing: `verify` says that the counters differ.
    return parseDenials(text) ?? noDenials;
  }

  /** After a power cut some filesystems (xfs) have the name of a file and none of its bytes: the chain says what was recorded. */
  #countedAgain(): DenialState {
    const totals: Partial<Record<RefusalLayer, number>> = {};
    for (const { body } of recordsIn(directoryReader(this.#options.record), this.name)) {
      const { status, layer, count = 1 } = body;
      if (status === 'denied' && layer !== undefined) totals[layer] = (totals[layer] ?? 0) + count;
    }
    const state = { ...noDenials, totals };
    this.#writeDenials(state, true);
    return state;
  }

  /**
   * Counts and records on the disk, so that after a power cut neither is older than the other, whatever the filesystem writes first.
   * Then no record has to be known by its number any more.
   */
  #onDisk(state: DenialState, { size }: Tail, mayUseReserve: boolean): DenialState {
    if (state.intents.length === 0 || this.#segment === undefined) return state;
    syncDirectory(this.paths.denials);
    makeDurable({ descriptor: this.#segment, size, directory: this.paths.directory });
    const settled = { ...state, intents: [] };
    this.#withRoom(mayUseReserve, () => this.#writeDenials(settled, true));
    return settled;
  }

  #writeDenials(state: DenialState, durable = false): void {
    // Not canonical, which no one asks of it: this is written for every refusal. What JSON cannot say was refused with the entry's key.
    writeFileAtomic(this.paths.denials, `${JSON.stringify(state)}\n`, { durable });
  }

  #isFull({ size, ts }: Tail): boolean {
    const { segmentBytes = recordSegmentBytes, now } = this.#options;
    return size >= segmentBytes || (ts !== '' && now().getTime() - this.#opened >= recordSegmentMilliseconds);
  }

  /** Ends the segment. The next look finds no room in it and begins another. */
  #rotate(tail: Tail): Position {
    const end: RecordEntry = { type: types.close, object: this.name, status: 'ok' };
    const position = this.#write(tail, [end], this.#options.now(), true);
    this.#tail = undefined;
    return position;
  }

  /** Looks where the chain ends; makes what is missing of it. What was torn is told by entries added to `first`. */
  #refresh(first: RecordEntry[]): Tail {
    const known = this.#tail;
    if (known !== undefined && this.#segment !== undefined) {
      const { size, nlink } = fstatSync(this.#segment);
      if (nlink > 0 && size === known.size) return known;
      if (nlink > 0 && size > known.size) {
        const tail = this.#lookAt(this.#segment, size, first);
        if (tail !== undefined && tail.type !== types.close) {
          this.#tail = tail;
          return tail;
        }
      }
    }
    const tail = this.#reopen(first);
    this.#tail = tail;
    return tail;
  }

  #reopen(first: RecordEntry[]): Tail {
    if (this.#segment !== undefined) closeSync(this.#segment);
    this.#segment = undefined;
    const segments = readdirSync(this.paths.directory)
      .map(firstSeqOf)
      .filter((seq) => seq !== undefined)
      .sort((a, b) => a - b);
    for (let seq = segments.pop(); seq !== undefined; seq = segments.pop()) {
      const path = this.paths.file(segmentName(seq));
      const descriptor = openSync(path, 'a+', 0o600);
      this.#segment = descriptor;
      const { size } = fstatSync(descriptor);
      const tail = this.#lookAt(descriptor, size, first);
      if (tail?.type === types.close) return this.#begin(tail);
      if (tail !== undefined) {
        this.#opened = this.#openedAt(descriptor);
        this.#tellOlderTear(tail, first);
        return tail;
      }
      // Nothing whole is in it: what there was is kept aside now, and the segment before it goes on.
      closeSync(descriptor);
      this.#segment = undefined;
      rmSync(path, { force: true });
    }
    return this.#begin({ head: genesisHead, seq: 0, ts: '', type: '' });
  }

  /** A crash after a torn end was kept aside, and before the record that says so. */
  #tellOlderTear(tail: Tail, first: RecordEntry[]): void {
    const file = tornName(tail.seq + 1);
    if (first.length > 0 || !existsSync(this.paths.file(file))) return;
    first.push(this.#tornEntry(file, readFileSync(this.paths.file(file))));
  }

  #tornEntry(file: string, bytes: Buffer): RecordEntry {
    // A crash leaves a part of a line. Whole lines that are not records were somebody's doing, and `verify` says so.
    const lines = bytes.reduce((count, byte) => (byte === 0x0a ? count + 1 : count), 0);
    const facts = { file, bytes: bytes.length, digest: this.#options.hasher.of(bytes), lines };
    return { type: types.torn, object: this.name, status: 'failed', facts };
  }

  #openedAt(descriptor: number): number {
    const bytes = Buffer.alloc(firstLook);
    const length = readSync(descriptor, bytes, 0, bytes.length, 0);
    const found = /"ts":"([^"]+)"/.exec(bytes.toString('latin1', 0, length));
    return found === null ? this.#options.now().getTime() : Date.parse(found[1] ?? '');
  }

  #lookAt(descriptor: number, size: number, first: RecordEntry[]): Tail | undefined {
    for (let length = Math.min(size, firstLook); ; length = Math.min(size, length * 4)) {
      const bytes = Buffer.alloc(length);
      readSync(descriptor, bytes, 0, length, size - length);
      const reading = readTail(bytes, length === size);
      if (reading.kind === 'more') continue;
      const end = size - length + reading.end;
      if (end < size) this.#keepAside(descriptor, end, bytes.subarray(reading.end), reading.last?.seq ?? 0, first);
      return reading.last === undefined ? undefined : { ...reading.last, size: end };
    }
  }

  #keepAside(descriptor: number, end: number, bytes: Buffer, seq: number, first: RecordEntry[]): void {
    let file = tornName(seq + 1);
    for (let number = seq + 2; existsSync(this.paths.file(file)); number += 1) file = tornName(number);
    writeFileSync(this.paths.file(file), bytes, { mode: 0o600, flag: 'wx', flush: true });
    ftruncateSync(descriptor, end);
    first.push(this.#tornEntry(file, bytes));
  }

  /** A new segment; its first record says which chain it belongs to. */
  #begin(before: Omit<Tail, 'size'>): Tail {
    const { name } = this;
    const seq = before.seq + 1;
    const now = this.#options.now();
    const facts = { format: formatVersion, chain: name };
    const entry: RecordEntry = { type: types.open, object: name, status: 'ok', facts };
    const ts = latest(now, before.ts);
    const head = this.#options.hasher.next(before.head, bodyText(entry, agentOfChain(name), seq, ts));
    if (before.head === genesisHead) this.#options.announce?.(head);
    if (this.#segment !== undefined) closeSync(this.#segment);
    this.#segment = openSync(this.paths.file(segmentName(seq)), 'a+', 0o600);
    this.#opened = now.getTime();
    this.#write({ ...before, size: 0 }, [entry], now, false);
    const directory = openSync(this.paths.directory, 'r');
    fsyncSync(directory);
    closeSync(directory);
    return this.#tail ?? { ...before, size: 0 };
  }

  /** With one write, so that a killed process leaves whole records but for the last. Where the chain ends then. */
  #write(tail: Tail, entries: readonly RecordEntry[], now: Date, durable = false): Position {
    const { hasher } = this.#options;
    const agent = agentOfChain(this.name);
    // The record that says how far the clock was set back comes first, where it was.
    const ts =
      entries[0]?.type === types.open || entries[0]?.type === types.close ? latest(now, tail.ts) : now.toISOString();
    const words = wordsOf(tail.head);
    let { seq } = tail;
    let end = 0;
    let bytes = this.#lines;
    let view = viewOf(bytes);
    for (const entry of entries) {
      seq += 1;
      const body = bodyText(entry, agent, seq, ts);
      const most = end + body.length * 3 + lineOverhead;
      if (most > bytes.length) {
        bytes = Buffer.concat([bytes.subarray(0, end)], most * 2);
        view = viewOf(bytes);
      }
      end = hasher.writeLine(words, body, bytes, view, end);
    }
    const head = textOf(words);
    // Kept for the next time, but not where one large entry needed much.
    if (bytes.length <= largestKept) this.#lines = bytes;
    const descriptor = this.#segment;
    if (descriptor === undefined) throw new ErrnoError('EIO', { operation: 'record', reason: 'no segment is open' });
    const segment = { descriptor, size: tail.size, directory: this.paths.directory };
    if (end > 0) appendLines(segment, bytes.subarray(0, end));
    if (durable) makeDurable(segment);
    const last = entries.at(-1);
    if (last !== undefined) this.#tail = { head, seq, ts, type: last.type, size: tail.size + end };
    return { seq, head };
  }
}
