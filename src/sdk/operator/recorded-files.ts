/** What a control file says, as the record keeps it: whole, or by its digest where it is long. Pure. */
import type { Json } from '../../base/canonical-json.js';
import { recordedFileCharacters } from '../../base/limits/objects.js';
import { sha256 } from '../../base/sha256.js';

export function recordedText(text: string): Json {
  if (text.length <= recordedFileCharacters) return text;
  return { characters: text.length, sha256: sha256(text) };
}

/** Those that say something. */
export function recordedFiles(texts: ReadonlyMap<string, string>): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    [...texts].filter(([, text]) => text !== '').map(([file, text]) => [file, recordedText(text)]),
  );
}
