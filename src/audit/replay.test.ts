/** One chain, in memory: each way of not being one, and what is said of one that is. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Body, bodyText, formatVersion, genesisHead, Hasher, lineText, types } from './format.js';
import { agentOfChain, segmentName } from './layout.js';
import type { RecordReader } from './reader.js';
import type { RecordEntry } from './record.js';
import { replay } from './replay.js';

const chain = 'agent/coder';
const timeOf = (second: number) => new Date(second * 1000).toISOString();

interface Line extends Partial<RecordEntry> {
  readonly agent?: string | null;
  readonly seq?: number;
  /** Seconds; its number otherwise. */
  readonly time?: number;
  /** Written as it is, with a head that follows. */
  readonly body?: string;
  /** Written as it is. */
  readonly raw?: string;
}

const open = (facts: object = {}): Line => ({ type: types.open, facts: { format: formatVersion, chain, ...facts } });
const close: Line = { type: types.close };
const plain: Line = {};

/** Segments by the number of their first record, or by their names. */
function readerOf(segments: Readonly<Record<string, readonly Line[]>>) {
  const hasher = new Hasher();
  const heads: string[] = [];
  const files = new Map<string, Buffer>();
  for (const [name, lines] of Object.entries(segments)) {
    const texts = lines.map(
      ({ body, raw, agent = agentOfChain(chain), seq = heads.length + 1, time = seq, ...more }) => {
        if (raw !== undefined) return raw;
        const entry: RecordEntry = { type: 'exec', object: 'fork/1/main', status: 'ok', ...more };
        const text = body ?? bodyText(entry, agent, seq, timeOf(time));
        heads.push(hasher.next(heads.at(-1) ?? genesisHead, text));
        return lineText(heads.at(-1) ?? '', text);
      },
    );
    files.set(/^\d+$/.test(name) ? segmentName(Number(name)) : name, Buffer.from(texts.join('')));
  }
  const reader: RecordReader = {
    chains: () => [chain],
    files: () => [...files.keys(), 'denials.json', 'lock'].sort(),
    read: (_chain, file) => files.get(file) ?? assert.fail(file),
  };
  return { reader, heads, bytes: [...files.values()].reduce((sum, { length }) => sum + length, 0) };
}

function read(segments: Readonly<Record<string, readonly Line[]>>, wants?: (seq: number) => boolean) {
  const visited: Body[] = [];
  const { reader, heads, bytes } = readerOf(segments);
  const replayed = replay(
    reader,
    chain,
    new Hasher(),
    (body, head, where) => {
      assert.equal(head, heads[body.seq - 1]);
      assert.deepEqual([where.chain, where.seq], [chain, body.seq]);
      visited.push(body);
    },
    wants,
  );
  assert.equal(replayed.head, heads[replayed.seq - 1] ?? genesisHead, 'of the last record that is good');
  assert.equal(replayed.records, replayed.seq);
  return { ...replayed, visited, whole: bytes };
}

const good = {
  1: [open(), plain, { status: 'denied', layer: 'hook' } as const, plain, close],
  6: [open(), plain, { type: types.clock, time: 1, facts: { was: timeOf(7) } }, { time: 1 }, { time: 1 }],
};

/** `fault` in line `line`, where record `seq` was to be. */
const bad: Readonly<
  Record<string, readonly [fault: string, line: number, seq: number, Record<string, readonly Line[]>]>
> = {
  'no segment': ['missing', 1, 1, {}],
  'an empty segment alone': ['missing', 1, 1, { 1: [] }],
  'a first segment that is not the first': ['missing', 1, 1, { 2: [open()] }],
  'a segment that begins too late': ['missing', 1, 4, { 1: [open(), plain, close], 5: [open()] }],
  'a segment that begins too early': ['missing', 1, 4, { 1: [open(), plain, close], 3: [open()] }],
  'a segment by another name': ['missing', 1, 1, { '0000000000001.jsonl': [open()] }],
  'a segment after one that was not ended': ['segment', 1, 3, { 1: [open(), plain], 3: [open()] }],
  'a segment after an empty one': ['segment', 1, 1, { 1: [], 2: [open()] }],
  'a record after the end of its segment': ['segment', 3, 3, { 1: [open(), close, plain] }],
  'half a record after the end of its segment': ['segment', 3, 3, { 1: [open(), close, { raw: '["' }] }],
  'a segment that does not open': ['segment', 1, 1, { 1: [plain] }],
  'a later segment that does not open': ['segment', 1, 3, { 1: [open(), close], 3: [plain] }],
  'a segment that opens twice': ['segment', 2, 2, { 1: [open(), open()] }],
  'a segment of another chain': ['wrong chain', 1, 1, { 1: [open({ chain: 'agent/other' })] }],
  'a segment of another format': ['wrong chain', 1, 1, { 1: [open({ format: formatVersion + 1 })] }],
  'a segment that says nothing of itself': ['wrong chain', 1, 1, { 1: [{ type: types.open }] }],
  'a number too high': ['number', 3, 3, { 1: [open(), plain, { seq: 4 }] }],
  'a number twice': ['number', 3, 3, { 1: [open(), plain, { seq: 2, time: 9 }] }],
  'a refusal with the wrong number': ['number', 2, 2, { 1: [open(), { seq: 3, status: 'denied', layer: 'jail' }] }],
  'an agent of another chain': ['fields', 2, 2, { 1: [open(), { agent: 'other' }] }],
  'no agent': ['fields', 2, 2, { 1: [open(), { agent: null }] }],
  'a time before the last': ['clock', 3, 3, { 1: [open(), plain, { time: 1 }] }],
  'a time before the last segment': ['clock', 1, 3, { 1: [open(), close], 3: [{ ...open(), time: 1 }] }],
  'a line that is not a record': ['malformed', 2, 2, { 1: [open(), { raw: 'x\n' }] }],
  'an empty line': ['malformed', 2, 2, { 1: [open(), { raw: '\n' }, plain] }],
  'a head that does not follow': ['changed', 2, 2, { 1: [open(), { raw: lineText('a'.repeat(64), '{"a":1}') }] }],
  'a body that is not JSON': ['malformed', 2, 2, { 1: [open(), { body: '{"a"}' }] }],
  'a body that is not canonical': ['not canonical', 2, 2, { 1: [open(), { body: '{"a": 1}' }] }],
  'a body without its members': ['fields', 2, 2, { 1: [open(), { body: '{"a":1}' }] }],
};

describe('a chain', () => {
  it('that is whole is visited record by record, and counted', () => {
    const { problem, visited, records, bytes, whole, notes } = read(good);
    assert.equal(problem, undefined);
    assert.deepEqual([records, bytes], [10, whole]);
    assert.deepEqual(
      visited.map(({ seq }) => seq),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
    assert.deepEqual(
      notes.map(({ fault, seq, line }) => [fault, seq, line]),
      [['clock', 8, 3]],
    );
  });

  it('gives refusals and what is about the record itself to everyone, and other records to who wants them', () => {
    for (const wanted of [[], [2], [4, 9]]) {
      const { problem, visited, records } = read(good, (seq) => wanted.includes(seq));
      assert.deepEqual([problem, records], [undefined, 10]);
      const always = [1, 3, 5, 6, 8];
      assert.deepEqual(
        visited.map(({ seq }) => seq),
        [...always, ...wanted].sort((a, b) => a - b),
      );
    }
  });

  for (const [what, [fault, line, seq, segments]] of Object.entries(bad)) {
    it(`ends where there is ${what}, whoever wants what of it`, () => {
      for (const wants of [undefined, () => false]) {
        const { problem, records } = read(segments, wants);
        assert.deepEqual([problem?.fault, problem?.line, problem?.seq, problem?.chain], [fault, line, seq, chain]);
        assert.equal(records, seq - 1, 'records before it are good');
      }
    });
  }

  it('is good where it ends in the middle of a record, or was about to begin a segment, and says so', () => {
    for (const raw of ['[', '["half', lineText('a'.repeat(64), '{}').trimEnd()]) {
      const { problem, notes, records } = read({ 1: [open(), plain, { raw }] });
      assert.deepEqual([problem, records], [undefined, 2]);
      assert.deepEqual(
        notes.map((note) => [note.fault, note.line, note.seq]),
        [['torn', 3, 3]],
      );
      assert.match(notes[0]?.text ?? '', new RegExp(`^${raw.length} bytes `));
    }
    const empty = read({ 1: [open(), close], 3: [] });
    assert.deepEqual([empty.problem, empty.notes.map(({ fault, line }) => [fault, line])], [undefined, [['torn', 1]]]);
    const none = read({ 1: [open(), close] });
    assert.deepEqual([none.problem, none.notes.map(({ fault, seq }) => [fault, seq])], [undefined, [['missing', 3]]]);
  });

  it('says what was set aside of it', () => {
    const torn = { type: types.torn, status: 'failed', facts: { bytes: 12, file: 'torn.3' } } as const;
    const { notes } = read({ 1: [open(), plain, torn] });
    assert.deepEqual(
      notes.map(({ fault, seq, text }) => [fault, seq, text]),
      [['torn', 3, '12 bytes of a torn end were set aside as torn.3']],
    );
  });
});
