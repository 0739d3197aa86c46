import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import type { Json } from '../base/canonical-json.js';
import { bodyText } from './format.js';
import { parseBody } from './parse-body.js';
import { PlainBodies } from './plain-body.js';
import type { RecordEntry } from './record.js';

const time = '2026-01-02T03:04:05.678Z';
const entry: RecordEntry = {
  type: 'exec',
  object: 'fork/9f2c/main',
  status: 'ok',
  session: 's1',
  facts: { argv: ['make', '-j2'], bytes: 12, decision: { effect: 'allow', rules: [] }, live: false, none: null },
};

/** As it is in a segment: something before it, and the end of its line behind it. */
function reads(bodies: PlainBodies, body: Uint8Array): boolean {
  const line = Buffer.concat([Buffer.from('["",'), body, Buffer.from(']\n')]);
  return bodies.read(line, 4, 4 + body.length);
}

function isRead(text: string, agent: string | null = null): boolean {
  return reads(new PlainBodies(agent), Buffer.from(text));
}

/** Whatever it takes, the strict reader takes too, and reads the same. */
function agrees(bodies: PlainBodies, body: Buffer, agent: string | null): boolean {
  if (!reads(bodies, body)) return false;
  const parsed = parseBody(body, 0, body.length);
  assert.ok(!('fault' in parsed), body.toString());
  assert.equal(parsed.seq, bodies.seq);
  assert.equal(parsed.ts, bodies.ts);
  assert.equal(parsed.agent, agent);
  assert.notEqual(parsed.status, 'denied');
  assert.doesNotMatch(parsed.type, /^audit\./);
  return true;
}

describe('a plain body', () => {
  it('is read from its bytes', () => {
    const bodies = new PlainBodies('coder');
    assert.ok(reads(bodies, Buffer.from(bodyText(entry, 'coder', 12, time))));
    assert.deepEqual([bodies.seq, bodies.ts], [12, time]);
    const later = '2026-01-02T03:04:05.679Z';
    assert.ok(reads(bodies, Buffer.from(bodyText({ ...entry, session: null }, 'coder', 13, later))));
    assert.deepEqual([bodies.seq, bodies.ts], [13, later]);
  });

  it('is left to the long way where anything is out of the ordinary', () => {
    const text = bodyText(entry, null, 12, time);
    assert.ok(isRead(text));
    const others: Readonly<Record<string, string>> = {
      'of another agent': bodyText(entry, 'coder', 12, time),
      'a refusal': bodyText({ ...entry, status: 'denied', layer: 'hook' }, null, 12, time),
      'a refusal without a layer': text.replace('"ok"', '"denied"'),
      'about the record': bodyText({ ...entry, type: 'audit.torn' }, null, 12, time),
      'an escape': bodyText({ ...entry, object: 'a"b' }, null, 12, time),
      'not ASCII': bodyText({ ...entry, object: 'größe' }, null, 12, time),
      'a fraction': text.replace('12,"decision"', '1.5,"decision"'),
      'an exponent': text.replace('12,"decision"', '1e5,"decision"'),
      'a minus zero': text.replace('12,"decision"', '-0,"decision"'),
      'a leading zero': text.replace('"seq":12', '"seq":012'),
      'number zero': text.replace('"seq":12', '"seq":0'),
      'a negative number': text.replace('"seq":12', '"seq":-12'),
      'a space': text.replace('"seq":12', '"seq": 12'),
      'keys out of order': text.replace('"live":false,"none":null', '"none":null,"live":false'),
      'a key twice': text.replace('"live":false,', '"live":false,"live":false,'),
      'a comma too many': text.replace('[]', '[,]'),
      'another time': text.replace('.678Z', '.678z'),
      'a member too many': text.replace('"type":', '"type":"x","zone":'),
      'more behind it': `${text}}`,
      'less than all': text.slice(0, -1),
    };
    for (const [what, other] of Object.entries(others)) assert.equal(isRead(other), false, what);
  });

  it('is never taken where the strict reader would refuse it, or read it otherwise', () => {
    const name = fc.oneof(fc.constantFrom('', 'a', 'b', 'ab', '1', '10', '2', '__proto__', 'é', '"'), fc.string());
    const { facts } = fc.letrec<{ facts: Json; value: Json }>((tie) => ({
      facts: fc.dictionary(name, tie('value'), { maxKeys: 4 }),
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<Json>(null, true, false, 0, 10, -3, 1.5, 1e21),
        name,
        fc.array(tie('value'), { maxLength: 3 }),
        tie('facts'),
      ),
    }));
    const entries = fc.record({
      type: fc.constantFrom('exec', 'audit.seal', 'child.denied', 'a\\b'),
      object: name,
      status: fc.constantFrom('begin' as const, 'ok' as const, 'failed' as const, 'denied' as const),
      session: fc.option(name),
      facts: facts as fc.Arbitrary<Record<string, Json>>,
    });
    const edits = fc.array(
      fc.record({ at: fc.nat(), byte: fc.constantFrom(...Buffer.from('"{}[]:,01-.eatx\\ \u0000\u00ff', 'latin1')) }),
      { maxLength: 2 },
    );
    const bodies = new PlainBodies('coder');
    let taken = 0;
    fc.assert(
      fc.property(entries, fc.integer({ min: 1, max: 1e6 }), edits, (each, seq, changes) => {
        const body = Buffer.from(bodyText(each, 'coder', seq, time));
        for (const { at, byte } of changes) body[at % body.length] = byte;
        if (agrees(bodies, body, 'coder')) taken += 1;
      }),
      seeded(3000),
    );
    assert.ok(taken > 100, `${taken} were plain`);
  });
});
