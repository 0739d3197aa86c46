/** Both verifiers, ours and the one in Python, say the same of what somebody wrote who knows the format. */
import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileAnchor } from '../../src/audit/anchor/file-anchor.js';
import { Hasher, lineText } from '../../src/audit/format.js';
import { segmentName } from '../../src/audit/layout.js';
import { directoryReader } from '../../src/audit/reader.js';
import { library, recordPlace } from '../../src/audit/record-fixture.js';
import { ChainRecorder } from '../../src/audit/recorder.js';
import { sealAll } from '../../src/audit/seal.js';
import { editLines, type SealedRecord, sealedRecord, segmentsOf } from '../../src/audit/tamper-fixture.js';
import { verify } from '../../src/audit/verify.js';
import { verifySecond, verifyUnsealed } from '../support/second-verifier.js';

const original = sealedRecord({ segmentBytes: 1200, commands: 5 });
after(() => original.remove());

const coder = 'agent/coder';
const lastOf = (copy: SealedRecord, chain: string) => segmentsOf(copy, chain).at(-1) ?? '';

/** With one more command, and a second seal. */
function resealed(copy: SealedRecord): void {
  const recorder = new ChainRecorder({ record: copy.record, library, now: () => new Date('2026-02-01T00:00:00Z') });
  recorder.append({ type: 'x', object: 'x', status: 'ok' });
  sealAll(recorder, [fileAnchor(copy.root, 'root')]);
  recorder.close();
}

/** Members of a record in their order, each as text; those of `more` are others, or none where they are empty. */
function recordText(seq: number, more: Readonly<Record<string, string>>): string {
  const plain = { agent: 'null', object: '"x"', seq: String(seq), session: 'null', status: '"ok"', type: '"x"' };
  const members = { ...plain, ts: '"2026-02-01T00:00:00.000Z"', ...more };
  const written = Object.entries(members).filter(([, text]) => text !== '');
  return `{${written
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => `"${name}":${text}`)
    .join()}}`;
}

describe('tampering with the record', () => {
  const ways: readonly (readonly [
    what: string,
    tamper: (copy: SealedRecord) => void,
    fault: string,
    second: RegExp,
  ])[] = [
    [
      'something is written behind the end of a segment',
      (copy) => appendFileSync(segmentsOf(copy, coder)[0] ?? '', '["half'),
      'segment',
      /something stands behind the end of its segment/,
    ],
    [
      'the points of the anchor are in another order',
      (copy) => {
        resealed(copy);
        editLines(copy.root, (lines) => [...lines].reverse());
      },
      'anchor',
      /its points are out of order/,
    ],
    [
      'the anchor is removed',
      (copy) => {
        resealed(copy);
        rmSync(copy.root);
      },
      'anchor',
      /anchor root: it is empty/,
    ],
  ];
  for (const [what, tamper, fault, second] of ways) {
    it(`is found by both where ${what}`, () => {
      const copy = original.copy();
      try {
        tamper(copy);
        assert.equal(copy.verify().problems[0]?.fault, fault);
        assert.match(verifySecond(copy).problems.join('\n'), second);
      } finally {
        copy.remove();
      }
    });
  }

  it('is judged alike by both verifiers, whatever somebody chains who knows the format', () => {
    const deep = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    const good = ['{"a":0.000001,"b":1e-7,"c":1e+21,"d":1.5e+300}', deep(60), '{"a":123456789012345680000,"b":-0.5}'];
    const cases: readonly (readonly [boolean, Readonly<Record<string, string>>])[] = [
      ...good.map((facts) => [true, { facts }] as const),
      ...['[]', 'null', '"x"', '{"a":12345678901234567890}', '{"a":1.0}', '{"a":1E5}', deep(1_200), '{"a":1e999}'].map(
        (facts) => [false, { facts }] as const,
      ),
      ...['"2"', 'true', '0', '1.5', 'null'].map((count) => [false, { count }] as const),
      ...(['agent', 'object', 'session', 'status', 'ts', 'type'] as const).map(
        (name) => [false, { [name]: '' }] as const,
      ),
      ...[{ session: '1' }, { layer: '"x"' }, { status: '"denied"' }, { ts: '"٢٠٢٦-02-01T00:00:00.000Z"' }].map(
        (more) => [false, more] as const,
      ),
    ];
    const copy = original.copy();
    try {
      const path = lastOf(copy, 'person');
      const whole = readFileSync(path, 'utf8');
      const [head, { seq }] = JSON.parse(whole.trimEnd().split('\n').at(-1) ?? '') as [string, { seq: number }];
      for (const [ok, more] of cases) {
        const text = recordText(seq + 1, more);
        writeFileSync(path, `${whole}${lineText(new Hasher().next(head, text), text)}`);
        assert.equal(copy.verify().ok, ok, text.slice(0, 200));
        assert.equal(verifySecond(copy).ok, ok, text.slice(0, 200));
      }
    } finally {
      copy.remove();
    }
  });

  it('is not taken for a crash before the first record of a chain, or of a segment, nor that for it', () => {
    const place = recordPlace();
    const now = () => new Date('2026-02-01T00:00:00Z');
    const told = () => {
      const [ours, second] = [verify({ reader: directoryReader(place.directory), anchors: [] }), verifyUnsealed(place)];
      assert.equal(second.ok, ours.ok, second.problems.join());
      return [ours.ok, ours.warnings.map(({ text }) => text).join()] as const;
    };
    try {
      const recorder = place.recorder({ now });
      recorder.append({ type: 'x', object: 'x', status: 'ok', agent: 'coder' });
      recorder.append({ type: 'x', object: 'x', status: 'ok' });
      place.recorder({ now, segmentBytes: 1 }).append({ type: 'x', object: 'x', status: 'ok' });
      assert.equal(told()[0], true);
      rmSync(join(place.directory, 'person', segmentName(4)));
      rmSync(join(place.directory, coder), { recursive: true });
      const [ok, warned] = told();
      assert.ok(ok);
      assert.match(warned, /no other was begun.*announced and has no record/);
      writeFileSync(join(place.directory, 'person', segmentName(5)), '');
      assert.equal(told()[0], false);
      rmSync(join(place.directory, 'person', segmentName(5)));
      sealAll(recorder, []);
      rmSync(join(place.directory, 'person'), { recursive: true });
      assert.equal(told()[0], false);
    } finally {
      place.remove();
    }
  });

  it('is not hidden by a record that no key has signed, where one is trusted', () => {
    const copy = original.copy();
    try {
      rmSync(copy.record, { recursive: true });
      const recorder = new ChainRecorder({ record: copy.record, library, now: () => new Date('2026-02-01T00:00:00Z') });
      recorder.append({ type: 'x', object: 'x', status: 'ok' });
      recorder.close();
      assert.ok(copy.verify(false).problems.some(({ fault }) => fault === 'key'));
      assert.match(verifySecond(copy, false).problems.join(), /does not begin with the trusted key/);
    } finally {
      copy.remove();
    }
  });

  it('of what was set aside, or with an anchor, that cannot be read is noted by both', () => {
    const copy = original.copy();
    try {
      appendFileSync(lastOf(copy, coder), '["half');
      resealed(copy);
      const recorder = new ChainRecorder({ record: copy.record, library, now: () => new Date('2026-02-01T00:00:00Z') });
      recorder.append({ type: 'x', object: 'x', status: 'ok', agent: 'coder' });
      recorder.close();
      const notes = () => [
        copy
          .verify()
          .warnings.map(({ text }) => text)
          .join('\n'),
        verifySecond(copy).notes.join('\n'),
      ];
      for (const text of notes()) assert.doesNotMatch(text, /differs|is not what|cannot be read/);
      const [torn = ''] = readdirSync(join(copy.record, coder)).filter((name) => name.startsWith('torn.'));
      writeFileSync(join(copy.record, coder, torn), 'another');
      writeFileSync(copy.root, 'no point\n');
      for (const text of notes()) assert.match(text, /torn\.\d+ (?:differs|is not what)[\s\S]*root cannot be read/);
      rmSync(join(copy.record, coder, torn));
      for (const text of notes()) assert.match(text, /torn\.\d+ (?:was set aside and is missing|is not what)/);
    } finally {
      copy.remove();
    }
  });
});
