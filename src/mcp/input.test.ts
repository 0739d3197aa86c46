import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ErrnoError } from '../base/errno.js';
import { count, flag, type InputSchema, jsonSchemaOf, ToolInput, text, words } from './input.js';

const schema: InputSchema = {
  fields: { path: text('a path'), all: flag('all'), argv: words('words'), limit: count('how many', 10) },
  required: ['path'],
};

const refused = (given: Record<string, unknown>) => {
  try {
    new ToolInput('tool', schema, given);
    return '';
  } catch (error) {
    assert.ok(error instanceof ErrnoError);
    assert.equal(error.code, 'EINVAL');
    return error.reason;
  }
};

describe("a tool's input", () => {
  it('is given as it was written', () => {
    const input = new ToolInput('tool', schema, { path: 'a', all: true, argv: ['b'], limit: 10 });
    assert.deepEqual(
      [input.text('path'), input.flag('all'), input.words('argv'), input.count('limit'), input.optionalText('other')],
      ['a', true, ['b'], 10, undefined],
    );
  });

  it('is refused with what was expected', () => {
    assert.equal(refused({}), 'missing argument "path"');
    assert.equal(refused({ path: 1 }), 'expected path to be a string');
    assert.equal(refused({ path: 'a', all: 'yes' }), 'expected all to be true or false');
    assert.equal(refused({ path: 'a', argv: ['b', 1] }), 'expected argv to be an array of strings');
    assert.equal(refused({ path: 'a', limit: 11 }), 'expected limit to be a whole number from 1 to 10');
    assert.equal(refused({ path: 'a', limit: 0.5 }), 'expected limit to be a whole number from 1 to 10');
    assert.equal(refused({ path: 'a', toString: 1 }), 'unknown argument "toString"');
    assert.equal(refused(JSON.parse('{"path":"a","__proto__":{"all":true}}')), 'unknown argument "__proto__"');
  });

  it('whatever it is, it is taken or refused, and never anything else', () => {
    const key = fc.constantFrom('path', 'all', 'argv', 'limit', 'other');
    fc.assert(
      fc.property(fc.dictionary(key, fc.anything()), (given) => {
        refused(given);
      }),
    );
  });

  it('is told to the client as a schema that takes nothing else', () => {
    const { required, additionalProperties, properties } = jsonSchemaOf(schema);
    assert.deepEqual(
      [required, additionalProperties, Object.keys(properties)],
      [['path'], false, ['path', 'all', 'argv', 'limit']],
    );
  });
});
