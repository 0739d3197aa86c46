import assert from 'node:assert/strict';
import { it } from 'node:test';
import { genesisHead } from './format.js';
import { segmentName } from './layout.js';
import { find, isBookkeeping, matches, type Query, recordsIn } from './query.js';
import type { RecordReader } from './reader.js';
import { readTail } from './tail.js';

const body = {
  agent: null,
  facts: { argv: ['true'] },
  object: 'fork/1/main',
  seq: 1,
  session: null,
  status: 'ok',
  ts: '2026-01-01T00:00:00.000Z',
  type: 'exec',
};
const damaged = [
  null,
  [],
  7,
  { ...body, type: undefined },
  { ...body, facts: null },
  { ...body, status: 'fine' },
  { ...body, seq: '1' },
  { ...body, agent: 3 },
  { ...body, count: 0 },
  { ...body, count: '1' },
  { ...body, layer: 'x' },
  { ...body, session: 3 },
  { ...body, object: undefined },
  { ...body, ts: 5 },
];
const line = (value: unknown) => `["${genesisHead}",${JSON.stringify(value)}]\n`;

function readerOf(text: string): RecordReader {
  return { chains: () => ['person'], files: () => [segmentName(1)], read: () => Buffer.from(text) };
}

it('a line of the record that is not one is passed over by those who look for records', () => {
  const reader = readerOf([...damaged, body].map(line).join(''));
  assert.deepEqual(
    [...recordsIn(reader, 'person')].map((found) => found.body),
    [body],
  );
  assert.equal(find(reader, { type: 'exec', path: 'main' }).length, 1);
});

it('a record of a directory that came as a whole is found by a path in it', () => {
  const steps = ['remove gone/', 'put a b/', 'put file'];
  const reader = readerOf(line({ ...body, type: 'apply', facts: { steps, argv: ['ls', '/', 'in/'] } }));
  const isFound = (path: string) => find(reader, { path }).length === 1;
  for (const path of ['gone', 'gone/in/3', 'a b/in', 'file']) assert.ok(isFound(path), path);
  for (const path of ['gone2/in', 'b/in', 'file/in', 'in/3', '/etc']) assert.ok(!isFound(path), path);
});

it('the last record of a segment is one that has a number, a time and a type', () => {
  for (const end of [null, [], { ...body, seq: '2' }, { ...body, ts: 5 }, { ...body, type: undefined }]) {
    const reading = readTail(Buffer.from(line(body) + line(end)), true);
    assert.equal(reading.kind === 'read' ? reading.last?.seq : reading.kind, 1, JSON.stringify(end));
  }
});

it('a record is found by a path that is a part of another word in it, too', () => {
  const isFound = (change: string, path: string) =>
    matches(
      { chain: 'person', head: genesisHead, body: { ...body, status: 'ok', facts: { changes: [change] } } },
      { path },
    );
  for (const [change, path] of [
    ['modified mod', 'mod'],
    ['added a', 'a'],
    ['added contest/test', 'test'],
    ['added main.tsx/main.ts', 'main.ts'],
  ] as const)
    assert.ok(isFound(change, path), path);
  for (const path of ['modif', 'odified', 'od', '']) assert.ok(!isFound('modified mod', path), path);
});

it('a record is found by each thing that it says, and not by another', () => {
  const given = { ...body, agent: 'coder', session: 's1', status: 'failed', type: 'fork.delete' } as const;
  const found = { chain: 'agent/coder', head: genesisHead, body: given };
  const ways: Readonly<Record<keyof Query, readonly [good: readonly string[], bad: readonly string[]]>> = {
    agent: [['coder'], ['code', 'person', '']],
    session: [['s1'], ['s', '', 's12']],
    type: [
      ['fork.delete', 'fork'],
      ['fork.', 'for', 'delete', 'fork.delete.x', ''],
    ],
    status: [['failed'], ['ok', 'begin', '']],
    path: [
      ['main', 'true', 'fork', '1'],
      ['mai', 'fork2', 'rue', 'x'],
    ],
    since: [
      ['2025', given.ts],
      ['2026-01-01T00:00:00.001Z', '2027'],
    ],
    until: [
      ['2026-01-01T00:00:00.001Z', '2027'],
      ['2025', given.ts],
    ],
  };
  assert.ok(matches(found, {}));
  for (const [name, [good, bad]] of Object.entries(ways)) {
    for (const value of good) assert.ok(matches(found, { [name]: value }), `${name} ${value}`);
    for (const value of bad) assert.ok(!matches(found, { [name]: value }), `${name} ${value}`);
  }
  assert.ok(!matches({ ...found, chain: 'person' }, { agent: 'coder' }), 'whose chain it is in');
});

it('records of a chain stay in its order where the clock was set back', () => {
  const at = (seq: number, second: number) => ({ ...body, seq, ts: new Date(second * 1000).toISOString() });
  const texts: Readonly<Record<string, string>> = {
    person: [at(1, 1), at(2, 9), at(3, 4), at(4, 5), at(5, 10)].map(line).join(''),
    'agent/a': [at(1, 2), at(2, 10)].map(line).join(''),
  };
  const reader: RecordReader = {
    chains: () => Object.keys(texts),
    files: () => [segmentName(1)],
    read: (chain) => Buffer.from(texts[chain] ?? ''),
  };
  const told = (query: Query) => find(reader, query).map(({ chain, body: { seq } }) => `${chain} ${seq}`);
  const all = ['person 1', 'agent/a 1', 'person 2', 'person 3', 'person 4', 'person 5', 'agent/a 2'];
  assert.deepEqual(told({}), all);
  assert.deepEqual(told({ until: at(1, 9).ts }), ['person 1', 'agent/a 1', 'person 3', 'person 4']);
});

it('records of several chains are found in the order of time, in those that may be read', () => {
  const at = (seq: number, second: number) => ({ ...body, seq, ts: new Date(second * 1000).toISOString() });
  const texts: Readonly<Record<string, string>> = {
    host: line(at(1, 9)),
    'agent/a': [at(1, 2), at(2, 5), at(3, 5)].map(line).join(''),
    'agent/b': [at(1, 1), at(2, 5), at(3, 7)].map(line).join(''),
  };
  const read: string[] = [];
  const reader: RecordReader = {
    chains: () => Object.keys(texts),
    files: () => [segmentName(1), 'denials.json'],
    read: (chain) => {
      read.push(chain);
      return Buffer.from(texts[chain] ?? '');
    },
  };
  const told = (query: Query, mayRead?: (chain: string) => boolean) =>
    find(reader, query, mayRead).map(({ chain, body: { seq } }) => `${chain} ${seq}`);
  const [a, b] = [told({ agent: 'a' }), told({ agent: 'b' })];
  assert.deepEqual(a, ['agent/a 1', 'agent/a 2', 'agent/a 3']);
  assert.deepEqual(told({}), ['agent/b 1', 'agent/a 1', 'agent/a 2', 'agent/a 3', 'agent/b 2', 'agent/b 3', 'host 1']);
  read.length = 0;
  assert.deepEqual(
    told({}, (chain) => chain === 'agent/b'),
    b,
  );
  assert.deepEqual(
    told({ agent: 'a' }, () => false),
    [],
  );
  assert.deepEqual(read, ['agent/b'], 'others are not even read');
});

it('what is about the record itself is told from what happened', () => {
  const told = (chain: string, type: string) => isBookkeeping({ chain, head: '', body: { ...body, type } as never });
  assert.deepEqual(
    ['audit.open', 'audit.close', 'audit.torn', 'exec'].map((type) => [told('person', type), told('host', type)]),
    [
      [true, true],
      [true, true],
      [false, true],
      [false, true],
    ],
  );
});
