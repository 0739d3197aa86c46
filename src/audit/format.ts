/**
 * A record as a line of a segment: `["HEAD",BODY]` and a newline. BODY is canonical JSON; HEAD is the BLAKE3 digest of the head
 * before it (32 bytes) and of BODY's bytes. A line is JSON itself, and each says its own head: so any stretch of a chain
 * can be checked apart from the rest, and a flipped bit of the last record is seen too.
 */
import { Blake3, digestBytes } from '../base/blake3.js';
import { canonicalJson, type Json, quoted } from '../base/canonical-json.js';
import type { RecordEntry, RecordStatus, RefusalLayer } from './record.js';

/** What the first record of a chain follows. */
export const genesisHead = '0'.repeat(64);

/** Records about the chain itself. */
export const types = {
  /** First of every segment; that of the first segment is the chain's genesis. */
  open: 'audit.open',
  /** Last of a full segment: another follows. */
  close: 'audit.close',
  /** In the host chain: a chain came to be, with the head of its genesis. */
  chain: 'audit.chain',
  /** In the host chain: a signed head. */
  seal: 'audit.seal',
  /** In the host chain: a key made, put in the place of another, or revoked. */
  key: 'audit.key',
  /** In the host chain: an anchor could not be written. */
  anchor: 'audit.anchor',
  /** What a crash left half written was kept aside. */
  torn: 'audit.torn',
  /** The clock was set back before this record. */
  clock: 'audit.clock',
  /** Refusals that were counted and, because of a crash, not recorded. */
  recovered: 'audit.recovered',
  /** Refusals have passed a threshold. */
  alert: 'audit.alert',
  /** In a parent's chain: a child was refused something. */
  childDenied: 'child.denied',
} as const;

export const formatVersion = 1;

export interface Body {
  readonly agent: string | null;
  readonly count?: number;
  readonly facts?: { readonly [name: string]: Json | undefined };
  readonly layer?: RefusalLayer;
  readonly object: string;
  readonly seq: number;
  readonly session: string | null;
  readonly status: RecordStatus;
  readonly ts: string;
  readonly type: string;
}

export interface Position {
  readonly seq: number;
  readonly head: string;
}

/** Canonical by construction: members in order, values as JSON writes them. Quicker than sorting what is known. */
export function bodyText(entry: RecordEntry, agent: string | null, seq: number, ts: string): string {
  const { count, facts, layer, object, session = null, status, type } = entry;
  return `{"agent":${agent === null ? 'null' : quoted(agent)}${
    count === undefined ? '' : `,"count":${canonicalJson(count)}`
  }${facts === undefined ? '' : `,"facts":${canonicalJson(facts)}`}${
    layer === undefined ? '' : `,"layer":"${layer}"`
  },"object":${quoted(object)},"seq":${seq},"session":${
    session === null ? 'null' : quoted(session)
  },"status":"${status}","ts":"${ts}","type":${quoted(type)}}`;
}

const quote = 0x22;
const newline = 0x0a;
export const bodyOffset = 68;
/** `["`, the head, `",`, `{}`, `]`. */
const shortestLine = bodyOffset + 3;

export function lineText(head: string, body: string): string {
  return `["${head}",${body}]\n`;
}

/** Whether the bytes from `start` to the newline at `end` have the shape of a line; its head may be any text. */
export function isLine(bytes: Buffer, start: number, end: number): boolean {
  return (
    end - start >= shortestLine &&
    bytes[start] === 0x5b &&
    bytes[start + 1] === quote &&
    bytes[start + 66] === quote &&
    bytes[start + 67] === 0x2c &&
    bytes[start + bodyOffset] === 0x7b &&
    bytes[end - 2] === 0x7d &&
    bytes[end - 1] === 0x5d &&
    bytes[end] === newline
  );
}

/** The head that a line says it has; undefined where it is not a line of ours. `end` is where its newline is. */
export function statedHead(bytes: Buffer, start: number, end: number): string | undefined {
  if (!isLine(bytes, start, end)) return undefined;
  const head = bytes.toString('latin1', start + 2, start + 66);
  return isHead(head) ? head : undefined;
}

function isHead(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** The two characters that are in the text of a head for each byte of it, as one number. */
const digits = Uint16Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, '0')).readUInt16LE(),
);
const digestWords = digestBytes / 4;

/** A head as words, for what hashes many one after the other. */
export function wordsOf(head: string): Int32Array {
  const words = new Int32Array(digestWords);
  Buffer.from(words.buffer).write(head, 'hex');
  return words;
}

export function textOf(head: Int32Array): string {
  return Buffer.from(head.buffer, head.byteOffset, digestBytes).toString('hex');
}

export function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Heads one after the other. Holds the memory that hashing needs. */
export class Hasher {
  readonly #blake3 = new Blake3();

  /** Of a body as text. */
  next(previous: string, body: string): string {
    const bytes = Buffer.from(body);
    return textOf(this.#blake3.digestBehind(wordsOf(previous), viewOf(bytes), 0, bytes.length));
  }

  /**
   * Writes the line of `body`, which follows `previous`, to `to` at `offset`, where there is room for it: where it ends. `previous`
   * is its head then. `view` is of `to`.
   */
  writeLine(previous: Int32Array, body: string, to: Buffer, view: DataView, offset: number): number {
    const from = offset + bodyOffset;
    const end = from + to.write(body, from, 'utf8');
    const digest = this.#blake3.digestBehind(previous, view, from, end);
    to[offset] = 0x5b;
    to[offset + 1] = quote;
    let at = offset + 2;
    for (let index = 0; index < digestWords; index += 1) {
      const word = digest[index] ?? 0;
      previous[index] = word;
      for (let shift = 0; shift < 32; shift += 8, at += 2)
        view.setUint16(at, digits[(word >>> shift) & 0xff] ?? 0, true);
    }
    to[at] = quote;
    to[at + 1] = 0x2c;
    to[end] = 0x5d;
    to[end + 1] = newline;
    return end + 2;
  }

  /**
   * Whether the line from `start` to its newline at `end` has the head that follows from `previous`, the head of the line
   * before it; then `previous` is this one's. Compares bytes and makes no text: a verifier asks it a million times.
   */
  follows(previous: Int32Array, view: DataView, start: number, end: number): boolean {
    const digest = this.#blake3.digestBehind(previous, view, start + bodyOffset, end - 1);
    let offset = start + 2;
    for (let index = 0; index < digestWords; index += 1) {
      const word = digest[index] ?? 0;
      for (let shift = 0; shift < 32; shift += 8, offset += 2) {
        if (view.getUint16(offset, true) !== digits[(word >>> shift) & 0xff]) return false;
      }
    }
    for (let index = 0; index < digestWords; index += 1) previous[index] = digest[index] ?? 0;
    return true;
  }

  of(bytes: Uint8Array): string {
    return this.#blake3.hex(bytes);
  }
}
