import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import {
  harmlessJson,
  harmlessLine,
  harmlessOutput,
  pastable,
  shellWord,
  visible,
  visibleCommand,
} from './visible-text.js';

/** Anything, often of the characters that matter. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      'a',
      ' ',
      '\\',
      'с',
      'é',
      '中',
      '\u0301',
      '\u200d',
      '\u200c',
      '\ufe0f',
      '😀',
      '❤',
      'ک',
      'क',
      '\u094d',
    ),
    fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
    fc.integer({ min: 0xdc80, max: 0xdcff }).map((code) => String.fromCharCode(code)),
  ),
  maxLength: 40,
});

/** Whatever the context: never on a screen as themselves. */
const never =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\u00a0\u2000-\u200b\u200e\u200f\u202a-\u202e\u202f\u205f-\u2064\u2066-\u206f\u2800\u3164\uffa0\u115f\u1160\u00ad\u061c\ufeff\u{e0000}-\u{e0fff}]/u;

describe('text that is shown to a person', () => {
  const vectors: readonly (readonly [what: string, text: string, shown: string])[] = [
    ['controls', 'a\u0000\u001b[2J\r\n\t\u007f\u009b', 'a\\x00\\e[2J\\r\\n\\t\\x7f\\u009b'],
    ['a backslash', 'a\\n', 'a\\\\n'],
    ['what reorders', 'exe.\u202egpj\u2066x\u2069\u200e\u061c', 'exe.\\u202egpj\\u2066x\\u2069\\u200e\\u061c'],
    ['what nobody sees', 'a\u200bb\u2060c\u00add\u{e0041}', 'a\\u200bb\\u2060c\\u00add\\u{e0041}'],
    ['joiners in the wrong place', 'a\u200db\u200cc\ufe0f', 'a\\u200db\\u200cc\\ufe0f'],
    [
      'blanks',
      'a\u00a0b\u2800c\u3164\u115f\u1160\uffa0\u3000\u2003',
      'a\\u00a0b\\u2800c\\u3164\\u115f\\u1160\\uffa0\\u3000\\u2003',
    ],
    ['private use and unassigned', '\ue000\u{f0000}\u0378\uffff', '\\ue000\\u{f0000}\\u0378\\uffff'],
    ['bytes that are no text', 'a\udcff\udc80', 'a\\xff\\x80'],
    ['marks on nothing', '\u0301a \u0301', '\\u0301a \\u0301'],
    ['a pile of marks', `e${'\u0301'.repeat(6)}`, `e${'\u0301'.repeat(4)}\\u0301\\u0301`],
    ['another alphabet in a word', 'p\u0430ypal.txt', 'p\\u0430ypal.txt'],
  ];
  for (const [what, given, shown] of vectors) it(`escapes ${what}`, () => assert.equal(visible(given), shown));

  it('leaves ordinary text of every script as it is', () => {
    for (const ordinary of [
      'größe.txt, naïve café, Ελληνικά, Русский_final.txt, Հայերեն, ქართული, አማርኛ, ᏣᎳᎩ',
      'e\u0301 Tiếng Việt, tie\u0302\u0301ng',
      'עברית שָׁלוֹם, العربية مُحَمَّد, می\u200cخواهم, ܣܘܪܝܝܐ, ދިވެހި',
      'हिन्दी क्\u200dष, தமிழ், ಕನ್ನಡ, മലയാളം, සිංහල ශ්\u200dරී, ไทย ที่นี่, ລາວ, မြန်မာ မြွှေ့, བོད་ཡིག་བསྒྲུབས, ខ្មែរ ស្ត្រី',
      '日本語 ファイル, 한국어, 中文檔案, ｆｕｌｌ',
      '😀 ❤️ 👩‍💻 👍🏽 1️⃣ 🇩🇪 👨‍👩‍👧',
      '→ ≤ √2 € № ½ “quoted” – dash … • ┌─┐ ░ 𝒳',
    ]) {
      assert.equal(visible(ordinary), ordinary);
      assert.equal(harmlessLine(ordinary), ordinary);
    }
    assert.equal(harmlessLine('\tcode\\n　日本'), '\tcode\\n　日本');
  });

  it('never holds what a terminal obeys or an eye misses, and no two texts become the same', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        assert.doesNotMatch(visible(a), never);
        if (a !== b) assert.notEqual(visible(a), visible(b));
      }),
      seeded(2000),
    );
  });

  it('keeps at most eight marks on one letter', () => {
    fc.assert(
      fc.property(text, (given) => assert.doesNotMatch(visible(given), /\p{M}{9}/u)),
      seeded(500),
    );
  });

  it('is harmless as a whole, whatever was forgotten before: our own colours and lines pass', () => {
    const own = '\u001b[32mapplied\u001b[0m 1 change\n\r\u001b[Kctx: importing\n';
    assert.equal(harmlessOutput(own), own);
    assert.equal(harmlessOutput('a\u001b]0;title\u0007\u001b[2Jb\u202e\n'), 'a\\e]0;title\\x07\\e[2Jb\\u202e\n');
    fc.assert(
      fc.property(text, (given) => {
        assert.doesNotMatch(harmlessOutput(given).replaceAll('\n', '').replaceAll('\t', ''), /(?!\r)\p{Cc}/u);
        assert.equal(harmlessOutput(harmlessOutput(given)), harmlessOutput(given));
      }),
      seeded(500),
    );
  });

  it('stays the same value as JSON', () => {
    fc.assert(
      fc.property(fc.array(text), (values) => {
        const json = harmlessJson(JSON.stringify(values));
        assert.doesNotMatch(json, never);
        assert.deepEqual(JSON.parse(json), values);
      }),
      seeded(500),
    );
  });

  it('quotes a word so that it can be pasted from a line, whatever it holds', () => {
    const words = [
      'plain/a.txt',
      'a b',
      "it's",
      '-x',
      'a\\b',
      '$(rm a)',
      '',
      'café',
      'a\nb',
      "\u001b[2J'\\n",
      'p\u0430ypal',
      '\u202ex',
    ];
    const shown = words.map((word) => pastable(shellWord(word)));
    assert.deepEqual(shown.slice(0, 8), [
      'plain/a.txt',
      "'a b'",
      "'it'\\''s'",
      '-x',
      "'a\\b'",
      "'$(rm a)'",
      "''",
      "'café'",
    ]);
    assert.equal(shellWord('a\udcffb'), "$'a\\xffb'");
    for (const line of shown) assert.doesNotMatch(line, never);
    const { stdout } = spawnSync('bash', ['-c', `printf '%s\\0' ${shown.join(' ')}`]);
    assert.deepEqual(stdout.toString().split('\0').slice(0, -1), words);
  });

  it('quotes a command the way a shell would read it', () => {
    assert.equal(visibleCommand(['echo', 'a b', "it's", 'x\ny']), "echo 'a b' 'it'\\''s' 'x\\ny'");
  });
});
