import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourceTools } from '../../base/limits/objects.js';
import { checkablePart, valueFault } from '../schema-check.js';
import { indexBytesOf, indexHeadBytes, isTooDeep, parseIndex, printToolList, toolList } from './tool-list.js';

const tool = (name: unknown, more: object = {}) => ({
  name,
  description: 'd',
  inputSchema: { type: 'object' },
  ...more,
});

describe('the list of a source', () => {
  it('comes back from its file, each text where the index says', () => {
    const list = toolList('x', [
      tool('b', { description: 'é\u001b[2J' }),
      tool('a', { outputSchema: { type: 'object' } }),
    ]);
    const bytes = Buffer.from(printToolList(list, 'server 1'));
    const length = indexBytesOf(bytes.toString('latin1', 0, indexHeadBytes));
    const { server, tools } = parseIndex(bytes.subarray(indexHeadBytes, indexHeadBytes + length));
    assert.equal(server, 'server 1');
    const texts = [...tools].map(([name, { offset, descriptionBytes, schemaBytes }]) => [
      name,
      bytes.toString('utf8', offset, offset + descriptionBytes),
      bytes.toString('utf8', offset + descriptionBytes, offset + descriptionBytes + schemaBytes),
    ]);
    assert.deepEqual(texts, [
      ['a', 'd\n', '{"input":{"type":"object"},"output":{"type":"object"}}\n'],
      ['b', 'é\\e[2J\n', '{"input":{"type":"object"}}\n'],
    ]);
    assert.throws(() => parseIndex(Buffer.from('{')), { code: 'EIO' });
    assert.throws(() => indexBytesOf('x'), { code: 'EIO' });
  });

  it('holds as many as a source may have, and none that is too deep', () => {
    const many = Array.from({ length: sourceTools + 5 }, (_, index) => tool(`t${index}`));
    const { tools, leftOut } = toolList('x', many);
    assert.deepEqual([tools.length, leftOut.length], [sourceTools, 5]);
    let deep: object = {};
    for (let level = 0; level < 100_000; level += 1) deep = { properties: deep };
    assert.equal(isTooDeep(deep), true);
    assert.match(toolList('x', [tool('deep', { inputSchema: deep })]).leftOut[0]?.reason ?? '', /levels/);
  });
});

describe('a schema of somebody else’s', () => {
  it('is checked as far as it is understood, and never more strictly', () => {
    const fault = (schema: object, value: unknown) =>
      valueFault(value, checkablePart(schema as Record<string, unknown>));
    assert.match(fault({ type: 'object', required: ['a'] }, {}) ?? '', /\/a/);
    assert.equal(fault({ $ref: '#/$defs/x', type: 'string' }, 7), undefined);
    assert.equal(fault({ anyOf: [{ type: 'string' }], minProperties: 7 }, {}), undefined);
    assert.equal(fault({ additionalProperties: false, patternProperties: { x: {} } }, { x: 1 }), undefined);
    assert.match(fault({ additionalProperties: false, properties: {} }, { x: 1 }) ?? '', /unknown member/);
    // What would break a reader that trusts it.
    for (const value of [null, 7, 'x', [], {}]) {
      for (const word of ['required', 'properties', 'items', 'type', 'enum', 'additionalProperties', 'minimum']) {
        assert.doesNotThrow(() => fault({ [word]: value }, { a: [1], b: 'x' }), `${word} ${JSON.stringify(value)}`);
        assert.doesNotThrow(() => fault({ properties: { a: { [word]: value } } }, { a: [1] }), word);
        assert.doesNotThrow(() => fault({ properties: { a: value } }, { a: [1] }), word);
      }
    }
  });
});
