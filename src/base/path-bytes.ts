/**
 * File names are bytes, strings are not. A name that is UTF-8 is its text; every byte that is not part of valid UTF-8
 * becomes the lone surrogate U+DC80..U+DCFF (as in Python's surrogateescape), so that no name is lost and two names
 * never look the same to code. `encodePath(decodePath(bytes))` is `bytes`, always.
 */
import { ErrnoError } from './errno.js';

const replacement = '\ufffd';
const escapeBase = 0xdc00;

/** Length of the valid UTF-8 sequence at `at`, or 0. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const second = bytes[at + 1] ?? 0;
  // Overlong forms, surrogates and what is beyond U+10FFFF show in the second byte.
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (let i = 2; i < length; i++) if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

function decodeEscaping(bytes: Buffer): string {
  let text = '';
  let from = 0;
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    text += bytes.toString('utf8', from, at) + String.fromCharCode(escapeBase + (bytes[at] ?? 0));
    from = ++at;
  }
  return text + bytes.toString('utf8', from, at);
}

export function decodePath(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  // The decoder marks what is invalid with U+FFFD; a name may hold that character itself, and the slow way knows.
  return text.includes(replacement) ? decodeEscaping(bytes) : text;
}

const loneSurrogate = /\p{Surrogate}/u;

/** No byte of it had to be escaped: what takes it as UTF-8, as Node does, takes the same. */
export const isUtf8Text = (text: string): boolean => !loneSurrogate.test(text);

/** The same of a variable, which Node reads with U+FFFD in the place of such a byte: as a path it may then be another one. */
export const isExactText = (value: string): boolean => !value.includes(replacement) && isUtf8Text(value);

/** A lone surrogate that stands for no byte is refused: it could only be encoded as something else. */
export function encodePath(path: string): Buffer {
  if (isUtf8Text(path)) return Buffer.from(path, 'utf8');
  const parts: Buffer[] = [];
  for (const character of path) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0xd800 || code > 0xdfff) parts.push(Buffer.from(character, 'utf8'));
    else if (code >= 0xdc80 && code <= 0xdcff) parts.push(Buffer.of(code - escapeBase));
    else {
      throw new ErrnoError('EINVAL', {
        operation: 'encode-path',
        reason: `expected text or bytes escaped as U+DC80..U+DCFF, got the lone surrogate U+${code.toString(16)}`,
      });
    }
  }
  return Buffer.concat(parts);
}
