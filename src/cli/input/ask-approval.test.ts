import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Asked } from '../../sdk/operator/approvals.js';
import { askedLines } from './ask-approval.js';

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
