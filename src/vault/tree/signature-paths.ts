/** Signature files (native/tree/signature.c): what a root held when it was last looked at, without another walk. */
import { decodePath } from '../../base/path-bytes.js';

const magic = 'CTXSIG1\n';
const headerBytes = 32;
const recordBytes = 56;

const changedAt = 48;
const modeAt = 8;
const [typeMask, directoryType] = [0o170000, 0o040000];

function isSignatures(bytes: Buffer): boolean {
  if (bytes.length < headerBytes || bytes.toString('latin1', 0, 8) !== magic) return false;
  return bytes.readBigUInt64LE(8) === 0x0102030405060708n;
}

/** False where a file was changed so shortly before that a later change would not show, and where the file has another form. */
export function isSettled(bytes: Buffer): boolean {
  if (!isSignatures(bytes)) return false;
  for (let at = headerBytes; at < bytes.length; at += recordBytes + bytes.readUInt32LE(at + 4)) {
    if (at + recordBytes > bytes.length) return false;
    const isDirectory = (bytes.readUInt32LE(at + modeAt) & typeMask) === directoryType;
    if (!isDirectory && bytes.readBigInt64LE(at + changedAt) === 0n) return false;
  }
  return true;
}

/** The beginning of a path, as long as the records before this one have it: each shares some with the one before. */
function beginningOf(bytes: Buffer, starts: readonly number[], record: number, length: number): Buffer | undefined {
  const path = Buffer.alloc(length);
  let left = length;
  for (let before = record - 1; left > 0 && before >= 0; before -= 1) {
    const at = starts[before] ?? 0;
    const [shared, rest] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)];
    if (shared + rest < left) return undefined;
    if (shared >= left) continue;
    bytes.copy(path, shared, at + recordBytes, at + recordBytes + left - shared);
    left = shared;
  }
  return left === 0 ? path : undefined;
}

/**
 * Paths by the last part of their names. Undefined for a file of another form, which is a cache and may be. There are as many records as
 * the root has files, and few of these names: a path is put together where what a record adds may be the end of one.
 */
export function pathsNamed(bytes: Buffer, names: ReadonlySet<string>): readonly string[] | undefined {
  if (!isSignatures(bytes)) return undefined;
  const found: string[] = [];
  const starts: number[] = [];
  const lasts = new Uint8Array(256);
  for (const name of names) lasts[name.charCodeAt(name.length - 1)] = 1;
  const ends = [...names].map((name) => Buffer.from(`/${name}`, 'latin1'));
  const isEnd = (end: Buffer, from: number, to: number) => {
    const length = Math.min(end.length, to - from);
    for (let back = 1; back <= length; back += 1) if (end[end.length - back] !== bytes[to - back]) return false;
    return true;
  };
  for (let at = headerBytes; at < bytes.length; ) {
    if (at + recordBytes > bytes.length) return undefined;
    const rest = bytes.readUInt32LE(at + 4);
    const start = at + recordBytes;
    const next = start + rest;
    if (next > bytes.length) return undefined;
    starts.push(at);
    if (lasts[bytes[next - 1] ?? 0] === 1 && ends.some((end) => isEnd(end, start, next))) {
      const shared = beginningOf(bytes, starts, starts.length - 1, bytes.readUInt32LE(at));
      if (shared === undefined) return undefined;
      const path = Buffer.concat([shared, bytes.subarray(start, next)]);
      if (names.has(path.toString('latin1', path.lastIndexOf(0x2f) + 1))) found.push(decodePath(path));
    }
    at = next;
  }
  return found;
}
