import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Asked } from '../../sdk/operator/approvals.js';
import { answerOf, askedLines, questionFor, waitingText } from './ask-approval.js';

const asked: Asked = {
  version: 2,
  id: 'abc',
  askedAt: 0,
  expiresAt: 1,
  agent: 'helper',
  argv: ['apply'],
  directory: '/project',
  origin: '/project',
  categories: ['mutating'],
  reason: 'it would write changes of the fork into your own directory',
  rule: 'apply',
  connected: false,
  words: [],
  shown: [],
  onceOnly: false,
  digest: '',
  lasting: '',
};

/** The lines of a question about paths, without those that every question has. */
function pathLines(steps: readonly string[], most?: number): readonly string[] {
  const plain = (_colour: string, text: string) => text;
  const [none, all] = [[], steps].map((some) => askedLines({ ...asked, steps: some.length }, plain, some, most));
  return (all ?? []).slice(none?.length);
}

describe('the paths of a question', () => {
  it('are one quoted name a line, whatever a name says', () => {
    assert.deepEqual(pathLines(['put a.txt, put docs (and nothing else)', 'put docs']), [
      "    put 'a.txt, put docs (and nothing else)'",
      "    put 'docs'",
    ]);
  });

  it('cannot end their quotes, their line or the list', () => {
    const names = [
      "a' put 'b",
      "a'\n    put 'b",
      'a\r    put b',
      "a'\n    and 0 more: none",
      '\u001b[2K\u001b[1Ab',
      'a\u202eb',
    ];
    const lines = pathLines(names.map((name) => `put ${name}`));
    assert.equal(lines.length, names.length);
    assert.equal(lines[0], `    put 'a'\\'' put '\\''b'`);
    for (const line of lines) assert.match(line, /^ {4}put '[^\u0000-\u001f\u007f-\u009f\u202e]*'$/);
  });

  it('are counted where not all are shown, with how to see them', () => {
    assert.deepEqual(pathLines(['put a', 'put b', 'put c'], 2).slice(2), ['    and 1 more: ctx approvals show abc']);
  });
});

describe('what is typed', () => {
  const no = { granted: false, scope: 'once', network: [] };
  const variants = [true, false].flatMap((networked) =>
    [true, false].flatMap((connected) =>
      [true, false].flatMap((onceOnly) =>
        [[], ['npm', 'test']].map((words) => ({
          ...asked,
          categories: networked ? (['mutating', 'networked'] as const) : (['mutating'] as const),
          connected,
          onceOnly,
          words,
        })),
      ),
    ),
  );

  it('grants exactly what the question offers, and every other word is a no', () => {
    for (const variant of variants) {
      const { categories, connected, onceOnly, words } = variant;
      const network = (categories as readonly string[]).includes('networked') && !connected;
      const offered = {
        y: { granted: true, scope: 'once', network: [] },
        ...(network ? { w: { granted: true, scope: 'once', network: ['any'] } } : {}),
        ...(onceOnly ? {} : { s: { granted: true, scope: 'session', network: [] } }),
        ...(onceOnly || words.length === 0 ? {} : { a: { granted: true, scope: 'rule', network: [] } }),
      } as Readonly<Record<string, object>>;
      const shown = [...questionFor(variant).matchAll(/\[(\w)\]/g)].map(([, letter = '']) => letter);
      assert.deepEqual(shown, [...Object.keys(offered), 'N']);
      for (const word of ['y', 'w', 's', 'a']) {
        for (const line of [word, word.toUpperCase(), ` ${word}\t`, `${word}\r\n`]) {
          assert.deepEqual(answerOf(line, variant), offered[word] ?? no, JSON.stringify([line, variant]));
        }
      }
    }
  });

  it('is a no where it is nothing clear, also a name that every object has', () => {
    for (const line of [
      '',
      '\n',
      ' ',
      'n',
      'no',
      'yes',
      'yy',
      'y y',
      '\u0443',
      'constructor',
      '__proto__',
      'valueOf',
      'toString',
    ]) {
      for (const variant of variants) assert.deepEqual(answerOf(line, variant), no, JSON.stringify(line));
    }
  });

  it('can be said elsewhere, until a time that the question names', () => {
    const text = waitingText({ ...asked, expiresAt: Date.UTC(2026, 0, 2, 3, 4, 5) }, (_colour, shown) => shown);
    assert.match(text, /ctx approvals grant abc, or deny; denied at 03:04:05 UTC\n$/);
  });
});
