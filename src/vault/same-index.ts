/**
 * Whether two files are git's index and hold the same. Whoever only looks (`git status`, a prompt) makes git write its index
 * again, with fresh stat data: that is no edit. Pure; whatever is not plainly understood is not the same.
 */
import { createHash } from 'node:crypto';

const digestBytes = 20;
const headerBytes = 12;
/** Times, device, inode; mode; owner and size; object name; flags. */
const statBytes = 24;
const fixedBytes = 62;
/** Made by git from the rest, or from the directory. */
const derived: ReadonlySet<string> = new Set(['TREE', 'UNTR', 'FSMN', 'EOIE', 'IEOT']);

/** What it says of one file: mode, object, flags and name. */
function entryAt(bytes: Buffer, at: number): readonly [text: string, next: number] | undefined {
  const flags = bytes.readUInt16BE(at + fixedBytes - 2);
  const name = at + fixedBytes + ((flags & 0x4000) === 0 ? 0 : 2);
  const end = bytes.indexOf(0, name);
  if (end < 0) return undefined;
  const mode = bytes.toString('hex', at + statBytes, at + statBytes + 4);
  const rest = bytes.toString('latin1', at + 40, end);
  // Padded with one to eight zeros.
  return [`${mode} ${rest}`, at + 8 * Math.floor((end - at + 8) / 8)];
}

/** Undefined for what is no index of version 2 or 3 that git itself would take. */
function contentOf(bytes: Buffer): readonly string[] | undefined {
  const end = bytes.length - digestBytes;
  if (end < headerBytes || bytes.toString('latin1', 0, 4) !== 'DIRC' || ![2, 3].includes(bytes.readUInt32BE(4))) {
    return undefined;
  }
  // The digest also says that objects have names of twenty bytes here.
  const digest = createHash('sha1').update(bytes.subarray(0, end)).digest();
  if (!digest.equals(bytes.subarray(end))) return undefined;
  const found: string[] = [];
  let at = headerBytes;
  for (let left = bytes.readUInt32BE(8); left > 0; left -= 1) {
    const entry = at + fixedBytes < end ? entryAt(bytes, at) : undefined;
    if (entry === undefined) return undefined;
    found.push(entry[0]);
    at = entry[1];
  }
  while (at + 8 <= end) {
    const name = bytes.toString('latin1', at, at + 4);
    const next = at + 8 + bytes.readUInt32BE(at + 4);
    // A part of it is in another file.
    if (name === 'link' || next > end) return undefined;
    if (!derived.has(name)) found.push(bytes.toString('latin1', at, next));
    at = next;
  }
  return at === end ? found : undefined;
}

export function isSameIndex(left: Buffer, right: Buffer): boolean {
  const [one, other] = [contentOf(left), contentOf(right)];
  return (
    one !== undefined && other !== undefined && one.length === other.length && one.every((each, i) => each === other[i])
  );
}
