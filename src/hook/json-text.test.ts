import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isRecord, memberOf, parseJsonText, plainValue } from './json-text.js';

const parse = (text: string) => plainValue(parseJsonText(text));

describe('JSON text', () => {
  it('means what JSON.parse says it means', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        // Keys that are there twice are refused, and objects have no prototype.
        assert.equal(JSON.stringify(parse(text)), JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 1000 },
    );
  });

  it('takes nothing that JSON.parse refuses', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '1',
      '-',
      '.',
      'e',
      'true',
      ' ',
      '\n',
      '\\u12',
      'é',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        let strict: unknown;
        try {
          strict = parse(text);
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'EINVAL');
          return;
        }
        assert.equal(JSON.stringify(strict), JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 20_000 },
    );
  });

  it('refuses a key that stands twice, however it is written', () => {
    for (const text of ['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '[{"x":{"__proto__":1,"__proto__":2}}]']) {
      assert.throws(() => parse(text), { code: 'EINVAL' }, text);
    }
  });

  it('refuses deep nesting and does not exhaust the stack', () => {
    for (const text of ['['.repeat(1_000_000), `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`]) {
      assert.throws(() => parse(text), { code: 'EINVAL' });
    }
  });

  it('reads a string of megabytes', () => {
    const text = JSON.stringify({ content: '"\\'.repeat(2_000_000) });
    assert.equal(JSON.stringify(parse(text)), text);
  });

  it('keeps __proto__ a key like any other', () => {
    const value = parse('{"__proto__":{"polluted":true},"constructor":1}');
    assert.ok(isRecord(value));
    assert.deepEqual(Object.keys(value), ['__proto__', 'constructor']);
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    assert.equal((value as { polluted?: boolean }).polluted, undefined);
  });

  it('says where each value stands', () => {
    const text = ' { "a" : [ 1 , "x" ] } ';
    const list = memberOf(parseJsonText(text), 'a');
    assert.equal(text.slice(list?.start, list?.end), '[ 1 , "x" ]');
    assert.ok(list?.kind === 'array');
    assert.deepEqual(
      list.items.map(({ start, end }) => text.slice(start, end)),
      ['1', '"x"'],
    );
  });

  it('never quotes what it read', () => {
    assert.throws(
      () => parse('{"secret-token-42'),
      (error: Error) => !error.message.includes('secret'),
    );
  });
});
