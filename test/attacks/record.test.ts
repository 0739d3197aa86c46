/** Tampering with the record: each way of it is found and named, by our verifier and by the one in Python. */
import assert from 'node:assert/strict';
import { appendFileSync, cpSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileAnchor } from '../../src/audit/anchor/file-anchor.js';
import { directoryReader } from '../../src/audit/reader.js';
import { library } from '../../src/audit/record-fixture.js';
import { ChainRecorder } from '../../src/audit/recorder.js';
import { sealAll } from '../../src/audit/seal.js';
import { headStatement, makeKeyPair, sign } from '../../src/audit/signature.js';
import {
  editLines,
  forgeChain,
  type SealedRecord,
  sealedRecord,
  segmentsOf,
  swapFiles,
} from '../../src/audit/tamper-fixture.js';
import { type Verification, verify } from '../../src/audit/verify.js';
import { flipEveryByteSecond, verifySecond } from '../support/second-verifier.js';

/** Of the bytes of a file, in Python: odd, so that each bit of a byte has its turn. CTX_SOAK=1 flips them all there, too. */
const stepOfSecond = process.env['CTX_SOAK'] === '1' ? 1 : 5;

const original = sealedRecord({ segmentBytes: 1200, commands: 5 });
after(() => original.remove());

interface Attempt {
  readonly what: string;
  tamper(copy: SealedRecord): void;
  /** The first problem of ours. */
  readonly expected: {
    readonly chain: string;
    readonly fault: Verification['problems'][number]['fault'];
    readonly seq?: number;
  };
  readonly second: RegExp;
}

const coder = 'agent/coder';
const lastOf = (copy: SealedRecord, chain: string) => segmentsOf(copy, chain).at(-1) ?? '';
const firstOf = (copy: SealedRecord, chain: string) => segmentsOf(copy, chain)[0] ?? '';

const attempts: readonly Attempt[] = [
  {
    what: 'a text is changed',
    tamper: (copy) =>
      editLines(firstOf(copy, coder), (lines) => lines.map((line) => line.replace('"make","0"', '"true","0"'))),
    expected: { chain: coder, fault: 'changed', seq: 2 },
    second: /^agent\/coder .*:2 record 2: its digest/,
  },
  {
    what: 'a record is dropped',
    tamper: (copy) => editLines(firstOf(copy, coder), (lines) => lines.toSpliced(2, 1)),
    expected: { chain: coder, fault: 'changed', seq: 3 },
    second: /record 3: its digest/,
  },
  {
    what: 'two records are swapped',
    tamper: (copy) => editLines(firstOf(copy, coder), ([a = '', b = '', c = '', ...rest]) => [a, c, b, ...rest]),
    expected: { chain: coder, fault: 'changed', seq: 2 },
    second: /record 2: its digest/,
  },
  {
    what: 'a record is repeated',
    tamper: (copy) => editLines(firstOf(copy, coder), ([a = '', b = '', ...rest]) => [a, b, b, ...rest]),
    expected: { chain: coder, fault: 'changed', seq: 3 },
    second: /record 3: its digest/,
  },
  {
    what: 'the last records are cut off',
    tamper: (copy) => editLines(lastOf(copy, coder), (lines) => lines.slice(0, -1)),
    expected: { chain: coder, fault: 'seal' },
    second: /^agent\/coder record \d+: it was sealed .*, or is not there/,
  },
  {
    what: 'the file is cut in the middle of a record',
    tamper: (copy) => truncateSync(lastOf(copy, coder), readFileSync(lastOf(copy, coder)).length - 20),
    expected: { chain: coder, fault: 'seal' },
    second: /is not there/,
  },
  {
    what: 'a record of another chain is appended',
    tamper: (copy) => appendFileSync(lastOf(copy, coder), readFileSync(firstOf(copy, 'person')).subarray(0, 300)),
    expected: { chain: coder, fault: 'changed' },
    second: /its digest/,
  },
  {
    what: 'the first segments of two chains are exchanged',
    tamper: (copy) => swapFiles(firstOf(copy, coder), firstOf(copy, 'agent/tester')),
    expected: { chain: coder, fault: 'fields', seq: 1 },
    second: /^agent\/coder .* record 1: it is of another agent/,
  },
  {
    what: 'later segments of two chains are exchanged',
    tamper: (copy) => swapFiles(lastOf(copy, coder), lastOf(copy, 'agent/tester')),
    expected: { chain: coder, fault: 'changed' },
    second: /^agent\/coder .*its digest/,
  },
  {
    what: 'a segment in the middle is removed',
    tamper: (copy) => rmSync(segmentsOf(copy, coder)[1] ?? ''),
    expected: { chain: coder, fault: 'missing' },
    second: /records are missing/,
  },
  {
    what: 'the last segment is removed',
    tamper: (copy) => rmSync(lastOf(copy, coder)),
    expected: { chain: coder, fault: 'seal' },
    second: /it was sealed with another head, or is not there/,
  },
  {
    what: 'a whole chain is removed',
    tamper: (copy) => rmSync(join(copy.record, 'agent', 'coder'), { recursive: true }),
    expected: { chain: coder, fault: 'missing', seq: 1 },
    second: /^agent\/coder: record 1 is missing/,
  },
  {
    what: 'a chain is added that the host does not know',
    tamper: (copy) => cpSync(join(copy.record, 'person'), join(copy.record, 'agent', 'ghost'), { recursive: true }),
    expected: { chain: 'agent/ghost', fault: 'fields', seq: 1 },
    second: /^agent\/ghost/,
  },
  {
    what: 'a refusal is rewritten by somebody who knows the format',
    tamper: (copy) =>
      forgeChain(copy, coder, (type, facts) => {
        if (type === 'exec') facts['argv'] = ['true'];
      }),
    expected: { chain: coder, fault: 'seal' },
    second: /it was sealed with another head/,
  },
  {
    what: 'the host chain is rewritten by somebody who knows the format and has no key',
    tamper: (copy) =>
      forgeChain(copy, 'host', (type, facts) => {
        if (type === 'audit.chain' && facts['chain'] === coder) facts['head'] = '1'.repeat(64);
      }),
    expected: { chain: 'host', fault: 'seal' },
    second: /^host .*it seals another host chain|signature/,
  },
  {
    what: 'a head is forged with another key',
    tamper: (copy) => {
      const { privateKey, publicKey } = makeKeyPair();
      forgeChain(copy, 'host', (type, facts) => {
        if (type !== 'audit.seal') return;
        facts['key'] = publicKey;
        facts['signature'] = sign(
          privateKey,
          headStatement(String(facts['chain']), Number(facts['seq']), String(facts['head'])),
        );
      });
    },
    expected: { chain: 'host', fault: 'seal' },
    second: /a key that is unknown/,
  },
  {
    what: 'the clock is set back in a record that somebody made',
    tamper: (copy) => {
      const path = lastOf(copy, coder);
      const recorder = new ChainRecorder({ record: copy.record, library, now: () => new Date('2026-02-01T00:00:00Z') });
      recorder.append({ type: 'late', object: 'x', status: 'ok', agent: 'coder' });
      recorder.close();
      forgeChain(copy, coder, () => undefined);
      const text = readFileSync(lastOf(copy, coder), 'utf8').replaceAll('2026-02-01T', '2025-02-01T');
      writeFileSync(lastOf(copy, coder), text);
      assert.ok(path);
      forgeChain(copy, coder, () => undefined);
    },
    expected: { chain: coder, fault: 'clock' },
    second: /its time is before/,
  },
  {
    what: 'a record that is not sealed yet is dropped, and commands go on',
    tamper: (copy) => {
      const now = () => new Date('2026-02-01T00:00:00Z');
      const record = (type: string) => {
        const recorder = new ChainRecorder({ record: copy.record, library, now });
        recorder.append({ type, object: 'x', status: 'ok', agent: 'coder' });
        recorder.close();
      };
      for (const type of ['one', 'two', 'three']) record(type);
      editLines(lastOf(copy, coder), (lines) => lines.toSpliced(-2, 1));
      record('four');
    },
    expected: { chain: coder, fault: 'changed' },
    second: /its digest does not match/,
  },
  {
    what: 'the end of a chain is overwritten with something else, and commands go on',
    tamper: (copy) => {
      editLines(lastOf(copy, coder), (lines) => [...lines.slice(0, -1), 'nothing to see']);
      const recorder = new ChainRecorder({ record: copy.record, library, now: () => new Date('2026-02-01T00:00:00Z') });
      recorder.append({ type: 'x', object: 'x', status: 'ok', agent: 'coder' });
      recorder.close();
    },
    expected: { chain: coder, fault: 'seal' },
    second: /a crash does not leave that/,
  },
  {
    what: 'the last seal of the host chain is cut off',
    tamper: (copy) => editLines(lastOf(copy, 'host'), (lines) => lines.slice(0, -1)),
    expected: { chain: 'host', fault: 'anchor' },
    second: /rewritten or cut off/,
  },
  {
    what: 'a refusal is taken out of the counters',
    tamper: (copy) => {
      const path = join(copy.record, 'agent', 'coder', 'denials.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"hook":2', '"hook":1'));
    },
    expected: { chain: coder, fault: 'counters' },
    second: /hook counted 1 refusals, and 2 are recorded/,
  },
];

describe('tampering with the record', () => {
  it('is not seen where there was none', () => {
    assert.deepEqual(original.verify().problems, []);
    const second = verifySecond(original);
    assert.deepEqual([second.ok, second.problems], [true, []]);
    assert.ok(segmentsOf(original, coder).length > 2, 'several segments');
    for (const { chain, records, sealed } of original.verify().chains) {
      assert.deepEqual(second.chains[chain], { records, sealed }, chain);
    }
  });

  for (const { what, tamper, expected, second } of attempts) {
    it(`is found and named where ${what}`, () => {
      const copy = original.copy();
      try {
        tamper(copy);
        const [first] = copy.verify().problems;
        const { chain, fault, seq } = first ?? {};
        const found = expected.seq === undefined ? { chain, fault } : { chain, fault, seq };
        assert.deepEqual(found, expected, JSON.stringify(copy.verify().problems));
        const other = verifySecond(copy);
        assert.equal(other.ok, false);
        assert.ok(
          other.problems.some((problem) => second.test(problem)),
          other.problems.join('\n'),
        );
      } finally {
        copy.remove();
      }
    });
  }

  it('is found for every single byte of a small record', () => {
    const small = sealedRecord({ commands: 1, agents: [] });
    try {
      const reader = directoryReader(small.record);
      const contents = new Map(
        reader
          .chains()
          .flatMap((chain) => reader.files(chain).map((file) => [`${chain} ${file}`, reader.read(chain, file)])),
      );
      const inMemory = {
        ...reader,
        read: (chain: string, file: string) => contents.get(`${chain} ${file}`) ?? Buffer.alloc(0),
      };
      const isFine = () =>
        verify({ reader: inMemory, anchors: [fileAnchor(small.root, 'root')], trusted: [small.publicKey] }).ok;
      assert.ok(isFine());
      const unnoticed: string[] = [];
      let flips = 0;
      for (const [name, whole] of [...contents].filter(([name]) => name.endsWith('.jsonl'))) {
        for (let at = 0; at < whole.length; at += 1) {
          whole[at] = (whole[at] ?? 0) ^ (1 << (at % 8));
          flips += 1;
          if (isFine()) unnoticed.push(`${name}:${at}`);
          whole[at] = (whole[at] ?? 0) ^ (1 << (at % 8));
        }
      }
      assert.deepEqual(unnoticed, []);
      const second = flipEveryByteSecond(small, stepOfSecond);
      assert.ok(second.flips > 0 && Math.abs(second.flips - flips / stepOfSecond) <= contents.size, `${second.flips}`);
      assert.deepEqual(second.unnoticed, []);
    } finally {
      small.remove();
    }
  });

  it('by an insider without the key: a whole record of their own does not begin with the trusted key', () => {
    const own = sealedRecord();
    const copy = original.copy();
    try {
      rmSync(copy.record, { recursive: true });
      renameSync(own.record, copy.record);
      assert.ok(copy.verify(false).problems.some(({ fault }) => fault === 'key'));
      assert.ok(!verifySecond(copy, false).ok);
      const trusting = verify({ reader: directoryReader(copy.record), anchors: [], trusted: [] });
      assert.ok(
        trusting.ok && trusting.cannot.some((text) => text.startsWith('whose key it is')),
        'it says what it cannot know',
      );
    } finally {
      own.remove();
      copy.remove();
    }
  });

  it('by an insider with the key: it passes without the anchor, and is caught by it', () => {
    const copy = original.copy();
    try {
      forgeChain(copy, coder, (type, facts) => {
        if (type === 'exec') facts['argv'] = ['true'];
      });
      // The key is at hand: everything is sealed anew, in a host chain that never held the old heads.
      rmSync(join(copy.record, 'host'), { recursive: true });
      const current = readFileSync(join(copy.record, 'key', 'current'), 'utf8').trim();
      const secret = readFileSync(join(copy.record, 'key', `${current}.key`), 'utf8');
      resealWith(copy, secret);
      assert.deepEqual(copy.verify(false).problems, [], 'the key alone does not show it');
      assert.equal(verifySecond(copy, false).ok, true);
      const caught = copy.verify().problems;
      assert.ok(caught.length > 0 && caught.every(({ fault }) => fault === 'anchor'), JSON.stringify(caught));
      assert.equal(verifySecond(copy).ok, false);
    } finally {
      copy.remove();
    }
  });

  it('is refused as something to sign on top of', () => {
    const copy = original.copy();
    try {
      editLines(firstOf(copy, 'host'), (lines) => lines.toSpliced(1, 1));
      const recorder = new ChainRecorder({ record: copy.record, library, now: () => new Date() });
      assert.throws(() => sealAll(recorder, []), /is not valid/);
    } finally {
      copy.remove();
    }
  });
});

/** What the holder of the key can do: a host chain that announces, keys and seals what is there now. */
function resealWith(copy: SealedRecord, privateKey: string): void {
  const publicKey = copy.publicKey;
  const recorder = new ChainRecorder({ record: copy.record, library, now: () => new Date('2026-01-03T00:00:00Z') });
  const reader = directoryReader(copy.record);
  for (const chain of reader.chains().filter((name) => name !== 'host')) {
    const [first = ''] = readFileSync(firstOf(copy, chain), 'utf8').split('\n');
    recorder.appendToHost({
      type: 'audit.chain',
      object: chain,
      status: 'ok',
      facts: { chain, head: JSON.parse(first)[0] },
    });
  }
  const signature = sign(privateKey, `ctxfs audit key v1\nmade\n${publicKey}\n`);
  recorder.appendToHost({
    type: 'audit.key',
    object: 'key/x',
    status: 'ok',
    facts: { action: 'made', public: publicKey, by: publicKey, signature },
  });
  recorder.close();
  const sealing = new ChainRecorder({ record: copy.record, library, now: () => new Date('2026-01-03T00:00:01Z') });
  sealAll(sealing, []);
  sealing.close();
}
