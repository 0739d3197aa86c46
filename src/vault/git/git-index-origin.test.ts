/** An index is walked where it is: whatever two of them hold, the answer is that of looking at each entry by itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { type IndexEntry, parseIndex, writeIndex } from './git-index-file.js';
import { type OriginIndex, originIndex } from './git-index-origin.js';
import { isSameIndex } from './same-index.js';

const unknown = Buffer.alloc(40);
const personTime = 5_000_000_100n;

/** As documented: entry by entry, with whole objects. */
function naive(fork: readonly IndexEntry[], person: readonly IndexEntry[], changed: ReadonlySet<string>) {
  const own = new Map(person.filter(({ stage }) => stage === 0).map((entry) => [entry.name, entry]));
  const [hidden, ids]: [string[], string[]] = [[], []];
  const entries = fork.map((entry) => {
    const mine = entry.stage === 0 ? own.get(entry.name) : undefined;
    const assumeUnchanged = entry.assumeUnchanged && mine?.assumeUnchanged === true;
    const skipWorktree = entry.skipWorktree && mine?.skipWorktree === true;
    if (assumeUnchanged !== entry.assumeUnchanged || skipWorktree !== entry.skipWorktree) hidden.push(entry.name);
    const isSame = mine?.mode === entry.mode && mine.id === entry.id;
    if (!isSame && !entry.intentToAdd) ids.push(entry.id);
    const time = BigInt(mine?.stat.readUInt32BE(8) ?? 0) * 1_000_000_000n + BigInt(mine?.stat.readUInt32BE(12) ?? 0);
    const isKnown = isSame && time < personTime && !changed.has(entry.name);
    return { ...entry, assumeUnchanged, skipWorktree, stat: isKnown ? mine.stat : unknown };
  });
  return { hidden, ids, bytes: writeIndex(entries, 'sha1') };
}

const names = ['a', 'a.b', 'a/HEAD', 'a/b', 'b', 'b'.repeat(5000), 'c/d/e.txt', 'c/d/f.txt', 'c/d/g.txt', 'é', 'z'];

const entryOf = fc.record({
  id: fc.constantFrom('a', 'b').map((digit) => digit.repeat(40)),
  mode: fc.constantFrom(0o100644, 0o100755),
  seconds: fc.constantFrom(4, 5, 6),
  nanoseconds: fc.constantFrom(99, 100, 101),
  flags: fc.constantFrom('none', 'none', 'none', 'assumeUnchanged', 'skipWorktree', 'intentToAdd'),
  stages: fc.constantFrom([0], [0], [0], [1, 2, 3], [2, 3]),
});
const indexOf = fc.dictionary(fc.constantFrom(...names), entryOf).map((entries) =>
  Object.entries(entries)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([name, { id, mode, seconds, nanoseconds, flags, stages }]) =>
      stages.map((stage): IndexEntry => {
        const stat = Buffer.alloc(40, 7);
        stat.writeUInt32BE(seconds, 8);
        stat.writeUInt32BE(nanoseconds, 12);
        stat.writeUInt32BE(mode, 24);
        const is = (flag: string) => flags === flag && stage === 0;
        const [assumeUnchanged, skipWorktree] = [is('assumeUnchanged'), is('skipWorktree')];
        return { name, mode, id, stage, assumeUnchanged, skipWorktree, intentToAdd: is('intentToAdd'), stat };
      }),
    ),
);

const isSame = (key: string, one: IndexEntry, two: IndexEntry) => Reflect.get(one, key) === Reflect.get(two, key);

test('an index that is walked beside the person’s comes home as one whose entries are looked at one by one', () => {
  const sides = fc.record({ person: indexOf, edits: indexOf, changed: fc.subarray(names) });
  fc.assert(
    fc.property(sides, fc.boolean(), ({ person, edits, changed }, isAnother) => {
      // Mostly the person's own, with some entries in place of theirs.
      const edited = new Set(edits.map(({ name }) => name));
      const kept = isAnother ? [] : person.filter(({ name }) => !edited.has(name));
      const fork = [...kept, ...edits].sort((left, right) => (left.name < right.name ? -1 : 1));
      const [theirs, mine] = [writeIndex(fork, 'sha1'), writeIndex(person, 'sha1')];
      const request = { fork: theirs, person: mine, personTime, format: 'sha1', changed: new Set(changed) } as const;
      const home = originIndex(request) as OriginIndex;
      const expected = naive(fork, person, request.changed);
      assert.deepEqual(home.hidden, expected.hidden);
      // What the person's index has already, its unfinished merges too, need not be asked for.
      const has = (one: IndexEntry) =>
        person.some((two) => ['name', 'stage', 'mode', 'id'].every((key) => isSame(key, one, two)));
      const needed = fork.filter((entry) => !entry.intentToAdd && !has(entry)).map(({ id }) => id);
      assert.ok(needed.every((id) => home.ids.includes(id)) && home.ids.every((id) => expected.ids.includes(id)));
      const withoutStat = (bytes: Buffer) =>
        parseIndex(bytes)?.entries.map((entry) => (entry.stage === 0 ? entry : { ...entry, stat: unknown }));
      assert.deepEqual(withoutStat(home.bytes), withoutStat(expected.bytes));
      const isOwn = isSameIndex(mine, expected.bytes);
      assert.ok(home.isOwn === isOwn || (isOwn && person.some(({ stage }) => stage > 0)));
    }),
    seeded(300),
  );
});

test('an index with an entry that git itself would not write stays in its fork, whatever the person’s has', () => {
  const entry = (name: string, more: Partial<IndexEntry> = {}): IndexEntry => ({
    ...{ name, mode: 0o100644, id: 'a'.repeat(40), stage: 0, stat: unknown },
    ...{ assumeUnchanged: false, skipWorktree: false, intentToAdd: false, ...more },
  });
  const home = (entries: readonly IndexEntry[], own: readonly IndexEntry[]) =>
    originIndex({
      fork: writeIndex(entries, 'sha1'),
      person: writeIndex(own, 'sha1'),
      ...{ personTime, format: 'sha1', changed: new Set<string>() },
    });
  const comes = (...entries: readonly IndexEntry[]) =>
    [[], [entry('m')]].map((own) => typeof home(entries, own) !== 'string');
  const parts = ['.git', '.GIT', '.Git', '.gIt', '.', '..', ''];
  for (const part of parts)
    for (const name of [part, `${part}/x`, `d/${part}`, `d/${part}/x`])
      if (name !== '') assert.deepEqual(comes(entry(name)), [false, false], name);
  for (const part of ['.gitignore', '.git.', 'git', '...', '.g', '..a', 'a..', 'x.git', 'GIT'])
    for (const name of [part, `${part}/x`, `d/${part}`]) assert.deepEqual(comes(entry(name)), [true, true], name);
  for (const mode of [0o100644, 0o100755, 0o120000, 0o160000])
    assert.deepEqual(comes(entry('a', { mode })), [true, true], `${mode}`);
  for (const mode of [0, 0o100600, 0o100666, 0o104755, 0o040000, 0o020644])
    assert.deepEqual(comes(entry('a', { mode })), [false, false], `${mode}`);
  const pairs: readonly (readonly [IndexEntry, IndexEntry, boolean])[] = [
    [entry('a'), entry('b'), true],
    [entry('b'), entry('a'), false],
    [entry('a'), entry('a'), false],
    [entry('a', { stage: 1 }), entry('a', { stage: 2 }), true],
    [entry('a', { stage: 2 }), entry('a', { stage: 1 }), false],
    [entry('a', { stage: 2 }), entry('a', { stage: 2 }), false],
  ];
  for (const [one, two, isInOrder] of pairs)
    assert.deepEqual(comes(one, two), [isInOrder, isInOrder], `${one.name} ${one.stage}, ${two.name} ${two.stage}`);
});
