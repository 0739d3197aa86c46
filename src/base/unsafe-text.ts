/**
 * Which characters of a text a person must not be shown as themselves, by the properties Unicode gives them. Pure.
 *
 *   never      controls, what reorders (bidirectional controls), what is ignored, unassigned, private use, bytes that are not text
 *   blank      every space but U+0020, and letters and symbols that have no ink
 *   marks      on nothing, or more on one letter than any script needs: they would cover other lines
 *   words      letters of another alphabet inside a word of Latin ones, where they look the same (only for names)
 *
 * Some of the ignored ones are part of ordinary writing and change what is seen: joiners in emoji, after a virama and between
 * letters that join, and the selectors of emoji and Mongolian. There, and nowhere else, they stay.
 */

import { lazily } from './lazily.js';

export interface Escaping {
  /** Characters that stay as they are. */
  readonly kept: string;
  /** Whether letters of two alphabets in one word are told apart. */
  readonly words: boolean;
  readonly as?: (character: string) => string;
}

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\u001b': '\\e' };

function escapeCharacter(character: string): string {
  const short = shortEscapes[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  // A byte that is no UTF-8, as `path-bytes` has it.
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${(code - 0xdc00).toString(16)}`;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Without ink, though no property says so: Braille, musical, Egyptian and Khitan blanks, and the place of an object. */
const blanks = '\\u2800\\ufffc\\u{1d159}\\u{13441}\\u{13442}\\u{16fe4}';
/** By Unicode's tables, which are read when a pattern is made: not for the text of ASCII alone that most calls show. */
const unsafe = lazily(
  () =>
    new RegExp(
      `^(?! )[\\p{Cc}\\p{Cf}\\p{Cn}\\p{Co}\\p{Cs}\\p{Z}\\p{Default_Ignorable_Code_Point}\\p{Bidi_Control}${blanks}]$`,
      'u',
    ),
);
/** Nothing of these is in most texts, of whatever script: those are left alone at once. */
const suspect = lazily(
  () =>
    new RegExp(`(?! )[\\p{Cc}\\p{Cf}\\p{Cn}\\p{Co}\\p{Cs}\\p{Z}\\p{M}\\p{Default_Ignorable_Code_Point}${blanks}]`, 'u'),
);

const mark = lazily(() => /^\p{M}$/u);
const anyScriptMark = lazily(() => /^[\p{Script=Inherited}\p{Script=Common}]$/u);
const base = lazily(() => /^[\p{L}\p{N}\p{P}\p{S}]$/u);
/** Vietnamese needs two, Hebrew with its accents and Burmese six, Tibetan stacks eight; those of every script, four. */
const mostMarks = 8;
const mostSharedMarks = 4;

const pictograph = lazily(() => /^[\p{Extended_Pictographic}\p{Emoji_Modifier}]$/u);
const emoji = lazily(() => /^(?:[#*0-9]|(?![\x20-\x7e])\p{Emoji})$/u);
const joining = lazily(
  () =>
    /^[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Mandaic}\p{Script=Phags_Pa}\p{Script=Adlam}]$/u,
);
const mongolian = lazily(() => /^\p{Script=Mongolian}$/u);
/** Of the scripts of India and its neighbours, by which consonants join. */
const virama =
  /^[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0f84\u1039\u103a\u17d2\u1a60\u1b44\u1baa\u1bab]$/;

/** Whether an ignored character does something here that is seen. */
function isWriting(characters: readonly string[], at: number): boolean {
  const [character = '', before = '', after = ''] = [characters[at], characters[at - 1], characters[at + 1]];
  if (character === '\ufe0e' || character === '\ufe0f') return emoji().test(before);
  if (/^[\u180b-\u180d\u180f]$/.test(character)) return mongolian().test(before);
  if (character !== '\u200c' && character !== '\u200d') return false;
  if (virama.test(before) && base().test(after)) return true;
  if (joining().test(before) && joining().test(after)) return true;
  const pictured = pictograph().test(before) || (before === '\ufe0f' && pictograph().test(characters[at - 2] ?? ''));
  return character === '\u200d' && pictured && pictograph().test(after);
}

/** Alphabets whose letters look like those of another one, in the order in which one is kept. */
const alphabets = lazily(() =>
  ['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Cherokee', 'Coptic', 'Lisu'].map(
    (name) => new RegExp(`\\p{Script=${name}}`, 'u'),
  ),
);
const word = lazily(() => /[\p{L}\p{M}\p{N}]+/gu);

/** Where in the text, counted in characters, a letter is that is not of its word's own alphabet. */
function strangers(text: string): ReadonlySet<number> {
  const found = new Set<number>();
  let [at, known] = [0, 0];
  for (const { 0: letters, index } of text.matchAll(word())) {
    const present = alphabets().filter((alphabet) => alphabet.test(letters));
    if (present.length < 2) continue;
    // On from the last such word: a text of many of them is gone through once.
    at += [...text.slice(known, index)].length;
    known = index + letters.length;
    for (const letter of letters) {
      if (present.slice(1).some((alphabet) => alphabet.test(letter))) found.add(at);
      at += 1;
    }
  }
  return found;
}

const noStrangers: ReadonlySet<number> = new Set();

export function escapesOf(text: string, { kept, words, as = escapeCharacter }: Escaping): string {
  const strange = words ? strangers(text) : noStrangers;
  if (strange.size === 0 && !suspect().test(text)) return text;
  const characters = [...text];
  let shown = '';
  let hasBase = false;
  let marks = 0;
  let shared = 0;
  let wasShown = false;
  for (const [at, character] of characters.entries()) {
    // Nearly every character of most texts: none of the questions below is about these.
    if (character >= ' ' && character <= '~' && !strange.has(at)) {
      hasBase = character !== ' ';
      marks = 0;
      shared = 0;
      wasShown = true;
      shown += character;
      continue;
    }
    const isPlain = kept.includes(character) || (!unsafe().test(character) && !strange.has(at));
    let isShown: boolean = isPlain || (wasShown && isWriting(characters, at));
    if (mark().test(character)) {
      marks += 1;
      if (anyScriptMark().test(character)) shared += 1;
      isShown = isShown && hasBase && marks <= mostMarks && shared <= mostSharedMarks;
    } else if (!/^[\u200c\u200d]$/.test(character)) {
      hasBase = isShown && base().test(character);
      marks = 0;
      shared = 0;
    }
    wasShown = isShown;
    shown += isShown ? character : as(character);
  }
  return shown;
}
