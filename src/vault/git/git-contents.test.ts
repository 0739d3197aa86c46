/** What each file of a repository becomes by its text: whole tables of what git writes, and of what it does not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ContentOutcome, type ContentSides, contentOrigin, someOf } from './git-contents.js';
import { type IndexEntry, writeIndex } from './git-index-file.js';
import type { Part } from './git-parts.js';

const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(40)) as [string, string, string];
const long = 'd'.repeat(64);

function outcome(
  part: Part,
  fork: string,
  more: Partial<Omit<ContentSides, 'person' | 'fork'>> & { readonly mine?: string } = {},
) {
  const { mine, ...rest } = more;
  const person = mine === undefined ? undefined : Buffer.from(mine, 'latin1');
  const index = { personTime: 0n, changed: undefined };
  return contentOrigin({
    part,
    name: '',
    fork: Buffer.from(fork, 'latin1'),
    person,
    index,
    format: 'sha1',
    isNew: false,
    keepsFlags: false,
    ...rest,
  });
}
const asText = (found: ContentOutcome) =>
  found.is === 'file' ? [found.bytes.toString('latin1'), found.needs] : found.is;

/** Text; what is written and needed, or undefined where it stays. */
type Row = readonly [part: Part, name: string, text: string, written?: string, needs?: readonly object[]];
const commit = (id: string) => [{ id, kind: 'commit' }];
const anything = (id: string) => [{ id }];
const rows: readonly Row[] = [
  ...([
    ['head', '', `${a}\n`, `${a}\n`, commit(a)],
    ['head', '', a, `${a}\n`, commit(a)],
    ['head', '', long, `${long}\n`, commit(long)],
    ['head', '', 'ref: refs/heads/a/b\n', 'ref: refs/heads/a/b\n', []],
    ['ref', 'refs/heads/x', a, `${a}\n`, commit(a)],
    ['ref', 'refs/stash', a, `${a}\n`, commit(a)],
    ['ref', 'refs/tags/x', a, `${a}\n`, anything(a)],
    ['ref', 'refs/remotes/o/x', a, `${a}\n`, anything(a)],
    ['ref', 'refs/remotes/o/HEAD', 'ref: refs/remotes/o/main', 'ref: refs/remotes/o/main\n', []],
    ['ref', 'refs/remotes/o/p/HEAD', 'ref: refs/remotes/o/p/x\n', 'ref: refs/remotes/o/p/x\n', []],
    ['pseudo ref', '', a, `${a}\n`, anything(a)],
    ['pseudo ref', '', `${long}\n`, `${long}\n`, anything(long)],
    ['reflog', '', '', '', []],
    ['message', '', 'text\r\n\tand \xe4\n', 'text\r\n\tand \xe4\n', []],
    ['exclude', '', '# none\n\n', '# none\n\n', []],
  ] as const),
  ...[
    '',
    '\n',
    `${a}\n\n`,
    `${a} `,
    a.slice(1),
    `${a}a`,
    a.toUpperCase(),
    'ref: refs/heads/../x',
    'ref: refs/tags/x',
    'ref: HEAD',
    'ref:refs/heads/x',
    'ref: refs/heads/x\nx',
  ].map((text): Row => ['head', '', text]),
  ...['', `${a}\n\n`, 'ref: refs/heads/y', 'x'].map((text): Row => ['ref', 'refs/heads/x', text]),
  ...['refs/remotes/HEAD', 'refs/remotes/o/main', 'refs/heads/o/HEAD'].map(
    (name): Row => ['ref', name, 'ref: refs/remotes/o/x'],
  ),
  ['ref', 'refs/remotes/o/HEAD', 'ref: refs/heads/x'],
  ...['refs/notes/x', 'refs/heads/x.lock', 'HEAD', ''].map((name): Row => ['ref', name, a]),
  ...['', 'x', `${a}x`].map((text): Row => ['pseudo ref', '', text]),
  ...['x', 'x\n', '\n'].map((text): Row => ['reflog', '', text]),
  ...['\0', 'a\x1b[1m', '\x7f', '\x0e', '\x08'].map((text): Row => ['message', '', text]),
  ...(['state', 'other', 'sample', 'derived', 'loose object', 'pack', 'configuration'] as const).map(
    (part): Row => [part, '', a],
  ),
];

describe('what a file of a repository becomes', () => {
  it('is what git would have written, with the objects it needs, and nothing else comes', () => {
    for (const [part, name, text, written, needs = []] of rows) {
      const expected = written === undefined ? 'sensitive' : [written, needs];
      assert.deepEqual(asText(outcome(part, text, { name })), expected, JSON.stringify([part, name, text]));
    }
  });

  it('of a description, or of where history ends, is a text that only a new repository brings', () => {
    for (const [part, good, bad] of [
      ['description', ['', 'any text\n'], ['\0']],
      ['shallow', ['', `${a}\n`, `${a}\n${b}\n`], ['x\n', `${a}\n\n`, `x\n${a}\n`]],
    ] as const) {
      for (const text of good) {
        assert.deepEqual(asText(outcome(part, text, { isNew: true })), [text, []], text);
        assert.equal(outcome(part, text).is, 'sensitive', text);
      }
      for (const text of bad) assert.equal(outcome(part, text, { isNew: true }).is, 'sensitive', text);
    }
  });

  it('of packed refs is the person’s with the fork’s word for what comes, where both can be read', () => {
    const packed = (...lines: (readonly [string, string])[]) => lines.map(([id, name]) => `${id} ${name}\n`).join('');
    const [mine, tag] = [packed([a, 'refs/heads/m']), packed([b, 'refs/tags/t'])];
    const of = (fork: string, own = mine) => outcome('packed refs', fork, { mine: own });
    assert.deepEqual(asText(of(mine + tag)), [`# pack-refs with: sorted \n${mine}${tag}`, anything(b)]);
    assert.deepEqual(asText(of(packed([c, 'refs/heads/m']))), [
      `# pack-refs with: sorted \n${packed([c, 'refs/heads/m'])}`,
      commit(c),
    ]);
    for (const same of [mine, `# other\n${mine}`]) assert.deepEqual(of(same), { is: 'dropped', without: undefined });
    assert.deepEqual(asText(of('')), ['# pack-refs with: sorted \n', []], 'branches that went');
    const replacing = of(mine + packed([b, 'refs/replace/x']));
    assert.ok(replacing.is === 'dropped' && replacing.without?.includes('refs/replace/x'));
    const both = of(mine + tag + packed([b, 'refs/replace/x']), mine + packed([a, 'refs/replace/x']));
    assert.ok(both.is === 'file' && both.without?.includes('refs/replace/x'));
    assert.ok(
      both.is === 'file' && both.bytes.toString('latin1').includes(`${a} refs/replace/x`),
      'the person’s stays',
    );
    for (const bad of [mine.slice(0, -1), `${mine}x\n`, mine + mine]) {
      assert.equal(of(bad).is, 'sensitive', bad);
      assert.equal(of(mine, bad).is, 'sensitive', bad);
    }
  });

  it('of rules that hide files never comes, unless there are none, and says what it would hide or lose', () => {
    const of = (fork: string, mine?: string) => {
      const found = outcome('exclude', fork, mine === undefined ? {} : { mine });
      return found.is === 'sensitive' ? found.why : found.is;
    };
    const [hides, loses, other] = [of('*.o\n', 'a\n'), of('', 'a\n'), of('b\na\n', 'a\nb\n')];
    assert.ok(hides.includes('*.o') && !hides.includes(' a'));
    assert.equal(new Set([hides, loses, other, 'file']).size, 4);
    assert.equal(of('# mine\n\n', '# other\n'), 'file');
    assert.equal(of('a\n', 'a\nb\n'), loses);
  });

  it('names the first few of what stays, with the number of the rest', () => {
    const names = ['1', '2', '3', '4', '5', '6', '7'];
    assert.deepEqual(
      [someOf(names.slice(0, 5)), someOf(names)].map((text) => names.map((name) => text.split(/\D+/).includes(name))),
      [
        [true, true, true, true, true, false, false],
        [true, true, true, true, true, false, false].map((is, at) => is || at === 1),
      ],
    );
    assert.ok(someOf(names).endsWith('2 more') && !someOf(names.slice(0, 5)).includes('more'));
    assert.ok(!someOf(['\x1b[1m']).includes('\x1b'));
  });
});

const entry = (name: string, more: Partial<IndexEntry> = {}): IndexEntry => ({
  ...{ name, mode: 0o100644, id: a, stage: 0, assumeUnchanged: false, skipWorktree: false, intentToAdd: false },
  stat: Buffer.alloc(40, 1),
  ...more,
});

it('an index comes without flags that hide, with them where that is allowed, and not at all where it only was looked at', () => {
  const person = writeIndex([entry('a'), entry('b')], 'sha1').toString('latin1');
  const of = (entries: readonly IndexEntry[], keepsFlags = false) =>
    outcome('index', writeIndex(entries, 'sha1').toString('latin1'), { mine: person, keepsFlags });
  assert.deepEqual(of([entry('a'), entry('b', { stat: Buffer.alloc(40, 7) })]), { is: 'dropped', without: undefined });
  const hiding = [entry('a', { assumeUnchanged: true }), entry('b', { id: b })];
  const plain = of(hiding);
  assert.ok(plain.is === 'file' && plain.without?.endsWith(' a') && plain.needs.length === 1);
  const kept = of(hiding, true);
  assert.ok(kept.is === 'file' && kept.without === undefined && kept.bytes.equals(writeIndex(hiding, 'sha1')));
  assert.deepEqual(kept.is === 'file' && kept.needs, anything(b));
  const only = of([entry('a', { skipWorktree: true }), entry('b')]);
  assert.ok(only.is === 'dropped' && only.without?.endsWith(' a'));
  assert.equal(of([entry('a', { skipWorktree: true }), entry('b')], true).is, 'file');
  assert.equal(of([entry('b', { id: b })], true).is, 'file');
  assert.equal(of([entry('.git/x')], true).is, 'sensitive');
});
