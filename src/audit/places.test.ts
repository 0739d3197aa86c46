/** What an operator says of the record in `audit.json`: taken as it is written, or refused as a whole. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { anchorsOf } from './anchors-of.js';
import { auditPlaces, readAuditSettings } from './places.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-audit-settings-'));
const file = join(base, 'audit.json');
after(() => rmSync(base, { recursive: true }));

const read = (value: unknown) => {
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  return readAuditSettings(file);
};
const nothing = { durable: false, anchors: [], retired: [] };

const good: readonly object[] = [
  { kind: 'file', path: '/mnt/points' },
  { kind: 'command', argv: ['/bin/log', 'a b'] },
  { kind: 'tpm' },
  { kind: 'tpm', counterIndex: '0x01500c70' },
  { kind: 'tpm', counterIndex: '0x1500c70', headIndex: '0x01500c71', tcti: 'swtpm' },
];
const bad: readonly unknown[] = [
  null,
  'file',
  [],
  {},
  { kind: 'paper' },
  ...[undefined, '', 'points', 7, ['/x']].map((path) => ({ kind: 'file', path })),
  ...[undefined, [], '/bin/log', ['/bin/log', ''], [7], { 0: '/bin/log', length: 1 }].map((argv) => ({
    kind: 'command',
    argv,
  })),
  ...['counterIndex', 'headIndex'].flatMap((name) =>
    ['', '01500c70', '0x1500', '0x01500c700', '0x01500C70', '0x01500c7g', 7, null].map((index) => ({
      kind: 'tpm',
      counterIndex: '0x01500c70',
      headIndex: '0x01500c71',
      [name]: index,
    })),
  ),
];

describe('the settings of the record', () => {
  it('are none where there is no file, and those that are left out have a default', () => {
    assert.deepEqual(readAuditSettings(join(base, 'none')), nothing);
    assert.deepEqual(read({}), nothing);
    assert.deepEqual(read({ durable: true }), { ...nothing, durable: true });
    assert.deepEqual(read({ retired: ['file:/x'] }), { ...nothing, retired: ['file:/x'] });
  });

  it('name anchors of three kinds, each with what it needs and nothing else', () => {
    assert.deepEqual(read({ anchors: good }).anchors, good);
    assert.deepEqual(
      read({
        anchors: [
          { ...good[0], argv: ['x'], more: 1 },
          { ...good[2], tcti: '', path: '/x' },
        ],
      }).anchors,
      [good[0], good[2]],
    );
    for (const each of bad) {
      assert.throws(() => read({ anchors: [good[0], each] }), { code: 'EINVAL', path: file }, JSON.stringify(each));
    }
  });

  it('are refused where they are something else', () => {
    const others = [
      '[]',
      '7',
      'null',
      '"text"',
      { durable: 'yes' },
      { durable: 1 },
      { anchors: {} },
      { anchors: 'root' },
      { retired: 'root' },
      { retired: [''] },
      { retired: ['root', 7] },
      { retired: { 0: 'root' } },
      { anchor: [] },
    ];
    for (const other of others) assert.throws(() => read(other), { code: 'EINVAL', path: file }, JSON.stringify(other));
    assert.throws(() => read('{'));
  });
});

describe('the anchors of a record', () => {
  it('are the software root, one a store, and those of the settings, in their order', () => {
    const [one, other] = ['/store/one', '/store/other'].map((record) => auditPlaces(record, base, 'library'));
    assert.ok(one !== undefined && other !== undefined);
    assert.deepEqual([one.record, one.library, one.settings], ['/store/one', 'library', file]);
    assert.notEqual(one.root, other.root);
    assert.match(one.root, new RegExp(`^${base}/audit-root/[0-9a-f]{16}\\.jsonl$`));
    read({ anchors: good });
    assert.deepEqual(
      anchorsOf(one).map(({ name }) => name),
      [
        'root',
        'file:/mnt/points',
        'command:/bin/log a b',
        'tpm:0x01500c70:0x01500c71',
        'tpm:0x01500c70:0x01500c71',
        'tpm:0x1500c70:0x01500c71',
      ],
    );
    rmSync(file);
    assert.deepEqual(
      anchorsOf(one).map(({ name }) => name),
      ['root'],
    );
    anchorsOf(one)[0]?.commit({ counter: 1, seq: 2, head: 'h', root: 'r' });
    assert.deepEqual(anchorsOf(one)[0]?.read(), {
      kind: 'points',
      points: [{ counter: 1, seq: 2, head: 'h', root: 'r' }],
    });
    assert.deepEqual(anchorsOf(other)[0]?.read(), { kind: 'empty' });
  });
});
