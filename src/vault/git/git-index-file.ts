/**
 * Git's index, read strictly and written anew (gitformat-index(5), versions 2 to 4). Pure; undefined for whatever is not plainly
 * understood: an index of which a part is in another file, one with directories instead of files, one that does not end where it says.
 * An index has as many entries as a working tree has files: they are known by where they begin, and made objects of one by one.
 */
import { lazily } from '../../base/lazily.js';

/** Loaded when an index is read: it would cost every command milliseconds. */
const crypto = lazily(() => process.getBuiltinModule('node:crypto'));

const headerBytes = 12;
/** Change time and modification time, device, inode; mode; owner, size. */
const statBytes = 40;
const modeAt = 24;
const extended = 0x4000;
const longestLength = 0x0fff;

export interface IndexEntry {
  /** Bytes of the name, one a character: names are not always UTF-8. */
  readonly name: string;
  readonly mode: number;
  /** In hexadecimal. */
  readonly id: string;
  readonly stage: number;
  readonly assumeUnchanged: boolean;
  readonly skipWorktree: boolean;
  readonly intentToAdd: boolean;
  /** What git remembers of the file itself. */
  readonly stat: Buffer;
}

export interface Extension {
  readonly name: string;
  readonly bytes: Buffer;
}

export type ObjectFormat = 'sha1' | 'sha256';

const idBytesOf = (format: ObjectFormat) => (format === 'sha1' ? 20 : 32);

/** The format that its last bytes are a digest of. Zeros are there where git was told to save the time (index.skipHash). */
function formatOf(bytes: Buffer): ObjectFormat | undefined {
  const isBy = (format: ObjectFormat) => {
    const end = bytes.length - idBytesOf(format);
    if (end < headerBytes) return false;
    const digest = crypto().createHash(format).update(bytes.subarray(0, end)).digest();
    return digest.equals(bytes.subarray(end));
  };
  if (isBy('sha1')) return 'sha1';
  if (isBy('sha256')) return 'sha256';
  return bytes.length > headerBytes + 20 && bytes.subarray(-20).every((byte) => byte === 0) ? 'sha1' : undefined;
}

export const mostMarks = 1 << 16;

const middleOf = (length: number) => length >> 1;
const lateOf = (length: number) => (length * 3) >> 2;
const markOf = (length: number, middle: number, late: number) =>
  (length * 4099 + middle * 257 + late) & (mostMarks - 1);

/** As of an entry with this name. */
export function markOfName(name: string): number {
  const length = Math.min(name.length, longestLength);
  return markOf(length, name.charCodeAt(middleOf(length)) || 0, name.charCodeAt(lateOf(length)) || 0);
}

/** Entries of versions 2 and 3, where they are. */
export class IndexFile {
  readonly bytes: Buffer;
  readonly extensions: readonly Extension[];
  readonly #idBytes: number;
  /** Of each entry, and of what follows the last. */
  readonly #starts: readonly number[];

  constructor(bytes: Buffer, format: ObjectFormat, starts: readonly number[], extensions: readonly Extension[]) {
    this.bytes = bytes;
    this.extensions = extensions;
    this.#idBytes = idBytesOf(format);
    this.#starts = starts;
  }

  get length(): number {
    return this.#starts.length - 1;
  }

  /** Where an entry begins; with `length`, where the last ends. */
  start(at: number): number {
    return this.#starts[at] ?? 0;
  }

  flags(at: number): number {
    return this.bytes.readUInt16BE(this.start(at) + statBytes + this.#idBytes);
  }

  /** Whether the file was changed before, as git remembers it. */
  isBefore(at: number, seconds: number, nanoseconds: number): boolean {
    const modified = this.bytes.readUInt32BE(this.start(at) + 8);
    return modified < seconds || (modified === seconds && this.bytes.readUInt32BE(this.start(at) + 12) < nanoseconds);
  }

  /** Whether two entries differ in nothing but what git remembers of the file. */
  isSame(at: number, other: IndexFile, otherAt: number): boolean {
    const mine = this.start(at);
    const theirs = other.start(otherAt);
    const end = this.start(at + 1);
    const otherEnd = other.start(otherAt + 1);
    if (at >= this.length || otherAt >= other.length || end - mine !== otherEnd - theirs) return false;
    if (this.bytes.readUInt32BE(mine + modeAt) !== other.bytes.readUInt32BE(theirs + modeAt)) return false;
    return this.bytes.compare(other.bytes, theirs + statBytes, otherEnd, mine + statBytes, end) === 0;
  }

  #nameAt(at: number): number {
    return this.start(at) + statBytes + this.#idBytes + (this.flags(at) & extended ? 4 : 2);
  }

  name(at: number): string {
    const nameAt = this.#nameAt(at);
    return this.bytes.toString('latin1', nameAt, this.bytes.indexOf(0, nameAt));
  }

  /** A number that names which are equal have in common. */
  mark(at: number): number {
    const nameAt = this.#nameAt(at);
    const length = this.flags(at) & longestLength;
    return markOf(length, this.bytes[nameAt + middleOf(length)] ?? 0, this.bytes[nameAt + lateOf(length)] ?? 0);
  }

  entry(at: number): IndexEntry {
    const { bytes } = this;
    const start = this.start(at);
    const flags = this.flags(at);
    const flagsAt = start + statBytes + this.#idBytes;
    const more = flags & extended ? bytes.readUInt16BE(flagsAt + 2) : 0;
    return {
      name: this.name(at),
      mode: bytes.readUInt32BE(start + modeAt),
      id: bytes.toString('hex', start + statBytes, flagsAt),
      stage: (flags >> 12) & 3,
      assumeUnchanged: (flags & 0x8000) !== 0,
      skipWorktree: (more & 0x4000) !== 0,
      intentToAdd: (more & 0x2000) !== 0,
      stat: bytes.subarray(start, start + statBytes),
    };
  }

  get entries(): readonly IndexEntry[] {
    return Array.from({ length: this.length }, (_each, at) => this.entry(at));
  }
}

/** Names of version 4 lend the next one their beginning. The same, with whole names; undefined where it is damaged. */
function withWholeNames(bytes: Buffer, format: ObjectFormat): Buffer | undefined {
  const fixed = statBytes + idBytesOf(format);
  const end = bytes.length - idBytesOf(format);
  const parts: Buffer[] = [Buffer.from(bytes.subarray(0, headerBytes))];
  parts[0]?.writeUInt32BE(3, 4);
  let [at, name] = [headerBytes, Buffer.alloc(0)];
  for (let left = bytes.readUInt32BE(8); left > 0; left -= 1) {
    if (at + fixed + 2 >= end) return undefined;
    const nameAt = at + fixed + (bytes.readUInt16BE(at + fixed) & extended ? 4 : 2);
    const [taken, next] = readOffset(bytes, nameAt);
    const close = bytes.indexOf(0, next);
    if (taken > name.length || close < 0 || close >= end) return undefined;
    name = Buffer.concat([name.subarray(0, name.length - taken), bytes.subarray(next, close)]);
    const length = nameAt - at + name.length;
    parts.push(bytes.subarray(at, nameAt), name, Buffer.alloc(8 * Math.floor((length + 8) / 8) - length));
    at = close + 1;
  }
  parts.push(bytes.subarray(at));
  return Buffer.concat(parts);
}

/** A number of as many bytes as it needs; more than any name has where that is too many. */
function readOffset(bytes: Buffer, from: number): readonly [value: number, next: number] {
  let value = 0;
  for (let count = 0; count < 5; count += 1) {
    const byte = bytes[from + count] ?? 0;
    value = count === 0 ? byte & 0x7f : (value + 1) * 128 + (byte & 0x7f);
    if ((byte & 0x80) === 0) return [value, from + count + 1];
  }
  return [Number.POSITIVE_INFINITY, from];
}

/** Where the entry ends that begins there; undefined for one that is not as git writes it. */
function entryEnd(bytes: Buffer, start: number, end: number, idBytes: number, version: number): number | undefined {
  const flagsAt = start + statBytes + idBytes;
  if (flagsAt + 2 >= end) return undefined;
  const flags = bytes.readUInt16BE(flagsAt);
  const isExtended = (flags & extended) !== 0;
  if (isExtended && (version < 3 || (bytes.readUInt16BE(flagsAt + 2) & 0x9fff) !== 0)) return undefined;
  const nameAt = flagsAt + (isExtended ? 4 : 2);
  const close = bytes.indexOf(0, nameAt);
  if (close < 0 || close >= end || Math.min(close - nameAt, longestLength) !== (flags & longestLength))
    return undefined;
  // Padded with one to eight zeros.
  const next = start + 8 * Math.floor((close - start + 8) / 8);
  return next > end ? undefined : next;
}

/**
 * A part of it is in another file, or a directory stands for what is in it: nothing that can be known from these bytes
 * alone.
 */
const needed = new Set(['link', 'sdir']);

export function parseIndex(file: Buffer): IndexFile | undefined {
  if (file.length < headerBytes + 20 || file.toString('latin1', 0, 4) !== 'DIRC') return undefined;
  const version = file.readUInt32BE(4);
  const format = formatOf(file);
  if (format === undefined || ![2, 3, 4].includes(version)) return undefined;
  const bytes = version === 4 ? withWholeNames(file, format) : file;
  if (bytes === undefined) return undefined;
  const idBytes = idBytesOf(format);
  const end = bytes.length - idBytes;
  const starts: number[] = [headerBytes];
  let at = headerBytes;
  for (let left = bytes.readUInt32BE(8); left > 0; left -= 1) {
    const next = entryEnd(bytes, at, end, idBytes, version);
    if (next === undefined) return undefined;
    starts.push(next);
    at = next;
  }
  const extensions: Extension[] = [];
  while (at + 8 <= end) {
    const name = bytes.toString('latin1', at, at + 4);
    const next = at + 8 + bytes.readUInt32BE(at + 4);
    if (needed.has(name) || next > end) return undefined;
    extensions.push({ name, bytes: bytes.subarray(at + 8, next) });
    at = next;
  }
  return at === end ? new IndexFile(bytes, format, starts, extensions) : undefined;
}

function entryBytes(entry: IndexEntry): Buffer {
  const isExtended = entry.skipWorktree || entry.intentToAdd;
  const id = Buffer.from(entry.id, 'hex');
  const fixed = statBytes + id.length + (isExtended ? 4 : 2);
  const bytes = Buffer.alloc(8 * Math.floor((fixed + entry.name.length + 8) / 8));
  entry.stat.copy(bytes, 0);
  bytes.writeUInt32BE(entry.mode, modeAt);
  id.copy(bytes, statBytes);
  const flags =
    (entry.assumeUnchanged ? 0x8000 : 0) |
    (isExtended ? 0x4000 : 0) |
    (entry.stage << 12) |
    Math.min(entry.name.length, 0x0fff);
  bytes.writeUInt16BE(flags, statBytes + id.length);
  const more = (entry.skipWorktree ? 0x4000 : 0) | (entry.intentToAdd ? 0x2000 : 0);
  if (isExtended) bytes.writeUInt16BE(more, statBytes + id.length + 2);
  bytes.write(entry.name, fixed, 'latin1');
  return bytes;
}

/** A part of an index that is taken as it is. */
interface Run {
  readonly bytes: Buffer;
  readonly start: number;
  end: number;
}

/** Entries and nothing else, put together in their order. */
export class IndexWriter {
  readonly #parts: (Run | Buffer)[] = [];
  #last: Run | undefined;
  #count = 0;
  #isExtended = false;

  put(entry: IndexEntry): void {
    this.#isExtended ||= entry.skipWorktree || entry.intentToAdd;
    this.#last = undefined;
    this.#count += 1;
    this.#parts.push(entryBytes(entry));
  }

  /** As it is there. Those that follow each other are copied together. */
  putSame(file: IndexFile, at: number): void {
    const start = file.start(at);
    this.#isExtended ||= (file.flags(at) & extended) !== 0;
    this.#count += 1;
    if (this.#last?.bytes === file.bytes && this.#last.end === start) this.#last.end = file.start(at + 1);
    else {
      this.#last = { bytes: file.bytes, start, end: file.start(at + 1) };
      this.#parts.push(this.#last);
    }
  }

  finish(format: ObjectFormat): Buffer {
    const header = Buffer.from('DIRC\0\0\0\0\0\0\0\0', 'latin1');
    header.writeUInt32BE(this.#isExtended ? 3 : 2, 4);
    header.writeUInt32BE(this.#count, 8);
    const parts = this.#parts.map((part) => ('end' in part ? part.bytes.subarray(part.start, part.end) : part));
    const body = Buffer.concat([header, ...parts]);
    return Buffer.concat([body, crypto().createHash(format).update(body).digest()]);
  }
}

export function writeIndex(entries: readonly IndexEntry[], format: ObjectFormat): Buffer {
  const writer = new IndexWriter();
  for (const entry of entries) writer.put(entry);
  return writer.finish(format);
}
