import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourceDepth, sourceListBytes, sourceToolBytes } from '../../base/limits/objects.js';
import { indexBytesOf, isTooDeep, parseIndex, toolList } from './tool-list.js';

const tool = (name: unknown, more: object = {}) => ({ name, inputSchema: {}, ...more });
const reasons = (listed: readonly unknown[], source = 'x') =>
  toolList(source, listed).leftOut.map(({ name, reason }) => `${name}: ${reason}`);
const names = (listed: readonly unknown[]) => toolList('x', listed).tools.map(({ name }) => name);

describe('a tool that a server lists', () => {
  it('has a name that can be an object’s, and is left out with its reason where it has none', () => {
    const most = 64 - 'mcp.x.'.length;
    const good = ['a', '0', '_a', 'A.b', 'a+b-c_d', 'constructor', 'x'.repeat(most)];
    assert.deepEqual(names(good.map((name) => tool(name))), good.toSorted());
    for (const name of ['', '.a', '-a', '+a', 'a/b', 'a b', 'ä', 'a\n', 'a.d', 'a.sock', 'x'.repeat(most + 1)]) {
      const [only = '', ...more] = reasons([tool(name)]);
      assert.match(only, /mcp\.x\.NAME has to be at most 64/, JSON.stringify(name));
      assert.deepEqual([more, names([tool(name)])], [[], []]);
    }
    for (const value of [null, 7, 'x', [], {}, tool(7), tool(undefined), tool(['a'])]) {
      assert.deepEqual(reasons([value]), ['(no name): it has no name'], JSON.stringify(value));
    }
    const shown = (name: string) => toolList('x', [tool(name)]).leftOut[0]?.name;
    assert.equal(shown(`\u001b${'/'.repeat(79)}`), `\\e${'/'.repeat(79)}`);
    assert.equal(shown('/'.repeat(81)), `${'/'.repeat(80)}...`);
    assert.equal(shown('/'.repeat(80)), '/'.repeat(80));
  });

  it('has schemas that are objects, and a description that is a text without what moves a terminal', () => {
    const { tools, leftOut } = toolList('x', [
      tool('b', { description: 'one\u001b[2J\ntwo', inputSchema: undefined }),
      tool('a', { description: 7, outputSchema: { type: 'object' } }),
      ...[null, 7, [], 'x'].flatMap((schema, at) => [
        tool(`i${at}`, { inputSchema: schema }),
        tool(`o${at}`, { outputSchema: schema }),
      ]),
    ]);
    assert.deepEqual(tools, [
      { name: 'a', description: '', input: {}, output: { type: 'object' } },
      { name: 'b', description: 'one\\e[2J\ntwo', input: {}, output: undefined },
    ]);
    assert.deepEqual(new Set(leftOut.map(({ reason }) => reason)), new Set(['its schema is not an object']));
    assert.equal(leftOut.length, 8);
  });

  it('is the first of its name', () => {
    const { tools, leftOut } = toolList('x', [tool('a', { description: 'first' }), tool('a'), tool('b')]);
    assert.deepEqual(
      [tools.map(({ name, description }) => name + description), leftOut],
      [['afirst', 'b'], [{ name: 'a', reason: 'the server lists another one of that name before it' }]],
    );
  });

  it('is as large as it may be, alone and with those before it', () => {
    const size = '[{},null]'.length;
    const of = (name: string, bytes: number) => tool(name, { description: 'x'.repeat(bytes - size) });
    assert.deepEqual(names([of('a', sourceToolBytes)]), ['a']);
    assert.match(reasons([of('a', sourceToolBytes + 1)])[0] ?? '', /^a: its description and schemas have more than/);
    const full = Array.from({ length: sourceListBytes / sourceToolBytes }, (_, at) => of(`t${at}`, sourceToolBytes));
    assert.equal(names(full).length, full.length);
    assert.deepEqual(reasons([...full, of('z', size)]), [`z: the tools before it have ${sourceListBytes} bytes`]);
    const [first, ...rest] = full;
    assert.ok(first !== undefined);
    assert.deepEqual(reasons([of('y', sourceToolBytes - size), ...rest, of('z', size)]), []);
  });

  it('is nested as deep as it may be', () => {
    const nested = (levels: number) => {
      let value: unknown = 1;
      for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
      return value;
    };
    assert.deepEqual([isTooDeep(nested(sourceDepth)), isTooDeep(nested(sourceDepth + 1))], [false, true]);
    assert.deepEqual([isTooDeep(null), isTooDeep('x'), isTooDeep([])], [false, false, false]);
  });
});

describe('the file of a list', () => {
  it('is damaged where any part of its index is not what it has to be', () => {
    const whole = { version: 1, server: 's', tools: [['a', 0, 2]], leftOut: [{ name: 'n', reason: 'r' }] };
    const parse = (value: unknown) => parseIndex(Buffer.from(JSON.stringify(value)));
    const { tools, leftOut, server } = parse(whole);
    const length = JSON.stringify(whole).length;
    assert.deepEqual(
      [[...tools], leftOut, server],
      [[['a', { offset: 12 + length, descriptionBytes: 0, schemaBytes: 2 }]], whole.leftOut, 's'],
    );
    for (const damage of [
      ...[null, [], 7, { ...whole, version: 2 }, { ...whole, version: '1' }, { ...whole, server: 7 }],
      ...[
        { ...whole, tools: {} },
        { ...whole, leftOut: {} },
        { ...whole, leftOut: [7] },
      ],
      ...[7, null, {}, [], ['a'], ['a', 1], [7, 1, 1], ['a', -1, 1], ['a', 1, -1], ['a', 1.5, 1], ['a', '1', 1]].map(
        (row) => ({ ...whole, tools: [row] }),
      ),
      ...[{ name: 'n' }, { reason: 'r' }, { name: 7, reason: 'r' }].map((each) => ({ ...whole, leftOut: [each] })),
    ]) {
      assert.throws(() => parse(damage), { code: 'EIO' }, JSON.stringify(damage));
    }
    assert.equal(indexBytesOf('00000000012\n'), 12);
    for (const head of ['', '0000000012\n', '000000000012', '0000000001a\n', '00000000012\n ', ' 0000000012\n'])
      assert.throws(() => indexBytesOf(head), { code: 'EIO' }, head);
  });
});
