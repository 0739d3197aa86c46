/**
 * How the upper tree says what of the lower one is hidden: an empty file `.wh.NAME` beside it, which every engine can hold. It hides
 * NAME of the lower tree whatever the upper one has by that name, so a directory with such a mark is opaque: one mark for both, and
 * it can be made before anything else changes. Names that begin like a mark are never shown, and cannot be made. Pure.
 */
import { Blake3 } from '../../../base/blake3.js';
import { failure } from '../../failure.js';
import { bytesFromName, type Name, nameBytes } from '../../names.js';

const prefix = '.wh.';
/** Of what is not a mark: copies that are not whole yet, and marks of names that would be too long. */
const ownPrefix = `${prefix}${prefix}`;

export function isMark(name: Name): boolean {
  return name.startsWith(prefix);
}

export function markOf(name: Name): Name {
  if (prefix.length + name.length <= nameBytes) return `${prefix}${name}`;
  return `${ownPrefix}${new Blake3().digest(bytesFromName(name)).toString('hex')}`;
}

export function unfinished(number: number): Name {
  return `${ownPrefix}copy-${number}`;
}

/** EINVAL */
export function refuseMark(operation: string, name: Name): void {
  if (!isMark(name)) return;
  throw failure(
    'EINVAL',
    operation,
    name,
    `names that begin with ${prefix} are an overlay's own marks`,
    'choose another name',
  );
}
