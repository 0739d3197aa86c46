import assert from 'node:assert/strict';
import { it } from 'node:test';
import { genesisHead } from './format.js';
import { segmentName } from './layout.js';
import { find, recordsIn } from './query.js';
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
