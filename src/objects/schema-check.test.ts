import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { type Schema, schemaFault, valueFault } from './schema-check.js';

const leaf = fc.constantFrom<Schema>(
  { type: 'string', minLength: 2, maxLength: 4 },
  { type: 'integer', minimum: 1, maximum: 9 },
  { type: 'number', exclusiveMinimum: 0 },
  { type: ['boolean', 'null'] },
  { enum: ['a', 1, null] },
  { const: 'x' },
  {},
);
const schema: fc.Arbitrary<Schema> = fc.letrec<{ any: Schema }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.record({ items: tie('any'), maxItems: fc.nat(3) }).map((parts) => ({ type: 'array', ...parts })),
    fc
      .record({
        properties: fc.dictionary(fc.constantFrom('a', 'b', 'constructor'), tie('any'), { maxKeys: 3 }),
        required: fc.subarray(['a', 'constructor']),
        additionalProperties: fc.oneof(fc.boolean(), leaf),
      })
      .map((parts) => ({ type: 'object', ...parts })),
  ),
})).any;
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(
    fc.constantFrom('a', 'b', 'constructor', 'c'),
    fc.constantFrom('x', 'xyz', 3, 0, null, true, ['x'], {}),
  ),
);

describe('a value and its schema', () => {
  it('agree where a validator of others says so', () => {
    const ajv = new Ajv({ strict: false, ownProperties: true });
    const property = fc.property(schema, value, (made, given) => {
      assert.equal(schemaFault(made), undefined);
      assert.equal(
        valueFault(given, made) === undefined,
        ajv.validate({ ...made }, given),
        JSON.stringify([made, given]),
      );
    });
    fc.assert(property, { numRuns: 400, seed: 20_240_229 });
  });

  it('agree where parts of it are named, also of a list that holds itself', () => {
    const ajv = new Ajv({ strict: false, ownProperties: true });
    const property = fc.property(schema, schema, value, (one, other, given) => {
      const $ref = '#/$defs/part';
      const made = {
        $defs: { part: one, more: { type: 'object', properties: { a: { $ref: '#/$defs/more' }, b: { $ref } } } },
        properties: { a: { $ref }, b: { ...other, $ref }, c: { $ref: '#/$defs/more' } },
        items: { $ref },
      };
      assert.equal(schemaFault({ ...made, $schema: 'https://json-schema.org/draft/2020-12/schema' }), undefined);
      const isValid = ajv.validate({ ...made }, given);
      assert.equal(valueFault(given, made) === undefined, isValid, JSON.stringify([made, given]));
    });
    fc.assert(property, { numRuns: 400, seed: 20_240_229 });
  });

  it('refuse a name that leads nowhere, in a circle, or out of the schema', () => {
    const of = ($ref: string, $defs: Schema) => schemaFault({ items: { $ref }, $defs }) ?? '';
    assert.match(of('#/$defs/b', { a: {} }), /the schema has no #\/\$defs\/b/);
    assert.match(of('#/$defs/a', { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }), /refers to itself/);
    assert.match(of('https://example.org/a', {}), /expected \$ref to be/);
    assert.match(of('#/$defs/a', { a: 1 }), /#\/\$defs\/a: expected an object/);
    assert.match(of('#/$defs/a', { a: { pattern: 'x' } }), /pattern is not supported/);
    assert.match(schemaFault({ items: { $defs: {} } }) ?? '', /\$defs is not supported/);
  });

  it('are not compared where the schema has a word that is not checked', () => {
    assert.match(schemaFault({ type: 'string', pattern: '^a' }) ?? '', /pattern is not supported/);
    assert.match(schemaFault({ properties: { a: { $ref: '#/x' } } }) ?? '', /^\/a: expected \$ref to be/);
    for (const word of ['constructor', 'toString', 'valueOf', 'hasOwnProperty']) {
      assert.match(schemaFault({ [word]: true }) ?? '', new RegExp(`${word} is not supported`));
    }
    assert.match(schemaFault({ type: 'text' }) ?? '', /value of type/);
    assert.match(schemaFault([]) ?? '', /expected an object/);
  });
});
