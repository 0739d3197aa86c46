import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkablePart, checkedInput, type Schema, valueFault } from './schema-check.js';

const holds = (schema: Schema, value: unknown) => valueFault(value, schema) === undefined;

describe('a bound of a schema', () => {
  it('holds what it names, on both sides', () => {
    for (const [schema, good, bad] of [
      [{ minimum: 2 }, [2, 3, 'x', null], [1, -5, 1.99]],
      [{ maximum: 2 }, [2, 1, -9, 'xxxx'], [3, 2.01]],
      [{ exclusiveMinimum: 2 }, [2.01, 3], [2, 1]],
      [{ minLength: 2 }, ['ab', 'abc', 1], ['a', '']],
      [{ maxLength: 2 }, ['ab', '', 1234], ['abc']],
      [{ minimum: 0 }, [0], [-1]],
      [{ maxLength: 0 }, [''], ['a']],
      [{ maxItems: 1 }, [[], [1], 'abc'], [[1, 2]]],
      [{ maxItems: 0 }, [[]], [[1]]],
      [{ items: { type: 'string' } }, [[], ['a', 'b'], 'x'], [[1], ['a', 1]]],
      [{ type: 'integer' }, [0, -1, 2], [0.5, '1', null]],
      [{ type: 'number' }, [0, 0.5], ['1', null]],
      [{ type: 'null' }, [null], [0, '', false, {}]],
      [{ type: 'array' }, [[]], [{}, null]],
      [{ type: 'object' }, [{}], [[], null]],
      [{ type: 'boolean' }, [true, false], [0, 'true']],
      [{ type: ['string', 'null'] }, ['', null], [0, []]],
      [{ const: null }, [null], [0, undefined]],
      [{ const: [1, { a: 2 }] }, [[1, { a: 2 }]], [[1, { a: 3 }], [1]]],
      [{ enum: [] }, [], [1, null]],
    ] as const) {
      for (const value of good) assert.ok(holds(schema, value), JSON.stringify([schema, value]));
      for (const value of bad) assert.ok(!holds(schema, value), JSON.stringify([schema, value]));
    }
  });

  it('says where and what was expected', () => {
    const schema = { properties: { list: { items: { properties: { a: { minimum: 1 } } } }, b: { maxLength: 1 } } };
    assert.equal(valueFault({ list: [{}, { a: 0 }] }, schema), '/list/1/a: expected at least 1');
    assert.equal(valueFault({ b: 'xy' }, schema), '/b: expected at most 1 characters');
    assert.equal(valueFault(3, { maximum: 2 }), 'the input: expected at most 2');
    assert.equal(valueFault(2, { exclusiveMinimum: 2 }), 'the input: expected more than 2');
    assert.equal(valueFault('', { minLength: 1 }), 'the input: expected at least 1 characters');
    assert.equal(valueFault(7, { type: ['string', 'null'] }), 'the input: expected string or null, got number');
    assert.equal(valueFault([], { type: 'object' }), 'the input: expected object, got array');
  });
});

describe('the input of a call', () => {
  const schema = { properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };

  it('is a JSON object as the schema has it; nothing at all is an empty one', () => {
    assert.deepEqual(checkedInput('t', '{"a":"x"}', schema), { a: 'x' });
    for (const text of ['', ' \n']) assert.deepEqual(checkedInput('t', text, {}), {});
    for (const [text, reason] of [
      ['{', /^expected JSON: /],
      ['7', /^expected a JSON object, got number$/],
      ['null', /^expected a JSON object, got null$/],
      ['[]', /^expected a JSON object, got array$/],
      ['"x"', /^expected a JSON object, got string$/],
      ['', /^\/a: required, but missing$/],
      ['{"a":1}', /^\/a: expected string, got number$/],
      ['{"a":"x","b":1}', /^\/b: unknown member; valid members: a$/],
    ] as const) {
      assert.throws(
        () => checkedInput('t', text, schema),
        { code: 'EINVAL', operation: 't', reason, remedy: /\/ctx\/tool\/t\.d\/schema/ },
        text,
      );
    }
  });
});

describe('what is understood of a schema of somebody else’s', () => {
  it('is each known word with a value that it may have, at each depth, and nothing of the others', () => {
    const inner = { type: 'string', pattern: 'x' };
    assert.deepEqual(checkablePart({ ...inner, maxLength: 3, minLength: 'x' }), { type: 'string', maxLength: 3 });
    assert.deepEqual(checkablePart({ properties: { a: inner } }), { properties: { a: { type: 'string' } } });
    assert.deepEqual(checkablePart({ items: inner }), { items: { type: 'string' } });
    assert.deepEqual(checkablePart({ items: inner, prefixItems: [{}] }), { items: {} });
    assert.deepEqual(checkablePart({ additionalProperties: inner }), { additionalProperties: { type: 'string' } });
    assert.deepEqual(checkablePart({ additionalProperties: false }), { additionalProperties: false });
    assert.deepEqual(checkablePart({ additionalProperties: inner, patternProperties: {} }), {});
    for (const word of ['$ref', '$dynamicRef']) assert.deepEqual(checkablePart({ ...inner, [word]: '#' }), {});
  });
});
