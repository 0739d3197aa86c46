import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  abortSignal,
  anything,
  bytes,
  callback,
  closed,
  either,
  flag,
  having,
  integer,
  isRecord,
  list,
  longestMilliseconds,
  mapOf,
  membersOf,
  milliseconds,
  nullable,
  ofShape,
  oneOf,
  optional,
  parsedAs,
  positive,
  refuseShape,
  type Shape,
  text,
  word,
} from './shape.js';

it('a file of ours that is damaged is none, and members of another version do not matter', () => {
  const shape = having({ pid: integer(1), origin: word, more: having({}) });
  const whole = { pid: 7, origin: '/w', more: { x: 1 }, later: true };
  assert.equal(ofShape(whole, shape), whole);
  for (const damaged of [
    undefined,
    null,
    [],
    'text',
    {},
    { ...whole, pid: '7' },
    { ...whole, origin: 'a\0' },
    { ...whole, more: null },
  ])
    assert.equal(ofShape(damaged, shape), undefined, JSON.stringify(damaged));
});

class Own {
  readonly a = 1;
}

describe('a shape', () => {
  const values: readonly unknown[] = [
    ...[undefined, null, true, false, 0, 1, 2, 3, 4, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 1n],
    ...[longestMilliseconds, longestMilliseconds + 1, Number.MAX_SAFE_INTEGER, '', 'a', 'b', 'a\0', Symbol('x')],
    ...[
      [],
      ['a'],
      [1],
      [undefined],
      {},
      { a: 1 },
      { a: 'x' },
      { a: 1, b: 2 },
      { b: 1 },
      new Own(),
      new Date(),
      new Map(),
    ],
    ...[Promise.resolve(), () => 1, new Uint8Array(1), Buffer.alloc(1), new AbortController().signal],
  ];
  const isOne = (shape: Shape) => (value: unknown) => {
    try {
      shape(value, 'at');
      return true;
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'EINVAL');
      return false;
    }
  };
  const rows: Readonly<Record<string, readonly [Shape, (value: unknown) => boolean]>> = {
    text: [text, (value) => typeof value === 'string'],
    word: [word, (value) => typeof value === 'string' && value !== 'a\0'],
    flag: [flag, (value) => value === true || value === false],
    callback: [callback, (value) => typeof value === 'function'],
    abortSignal: [abortSignal, (value) => value instanceof AbortSignal],
    bytes: [bytes, (value) => typeof value === 'string' || value instanceof Uint8Array],
    integer: [integer(1, 3), (value) => [1, 2, 3].includes(value as number)],
    'integer without end': [integer(1), (value) => Number.isSafeInteger(value) && (value as number) >= 1],
    positive: [positive(2), (value) => [0.5, 1, 2].includes(value as number)],
    'positive without end': [positive(), (value) => typeof value === 'number' && value > 0 && value < 2 ** 53],
    milliseconds: [milliseconds, (value) => typeof value === 'number' && value >= 0 && value <= longestMilliseconds],
    oneOf: [oneOf('a', 'b'), (value) => value === 'a' || value === 'b'],
    list: [list(text), (value) => Array.isArray(value) && (value.length === 0 || value[0] === 'a')],
    optional: [optional(flag), (value) => value === undefined || typeof value === 'boolean'],
    nullable: [nullable(flag), (value) => value === null || typeof value === 'boolean'],
    either: [
      either((value) => typeof value === 'number', integer(2, 2), text),
      (value) => value === 2 || typeof value === 'string',
    ],
    anything: [anything, () => true],
    closed: [
      closed<{ a: number; b?: number }>({ a: integer(1), b: optional(integer(2)) }),
      (value) => isRecord(value) && 'a' in value && value.a === 1,
    ],
    having: [having({ a: integer(1) }), (value) => isRecord(value) && 'a' in value && value.a === 1],
    mapOf: [mapOf(integer(0)), (value) => isRecord(value) && !('a' in value && value.a === 'x')],
  };

  it('takes what it is of, and refuses every other value, each of them', () => {
    for (const [name, [shape, expected]] of Object.entries(rows)) {
      assert.deepEqual(values.map(isOne(shape)), values.map(expected), name);
    }
    const records = values.filter(isRecord);
    assert.deepEqual(records.length, 6);
    for (const record of records) assert.equal(membersOf(record), record);
    assert.deepEqual([membersOf(7), membersOf([1]), membersOf({ a: 1 })], [{}, {}, { a: 1 }]);
  });

  it('that is closed names what is none of its members, and one that is missing in a list is not passed over', () => {
    const shape = closed<{ a?: number }>({ a: optional(integer(1)) });
    for (const value of [{ c: 1 }, { [Symbol('c')]: 1 }, { a: 1, toString: 1 }, { A: 1 }])
      assert.ok(!isOne(shape)(value));
    // biome-ignore lint/suspicious/noSparseArray: this is what is tried.
    assert.ok(!isOne(list(text))(['a', , 'b']));
    assert.throws(() => list(list(integer(1)))([[1], [1, 0]], 'at'), { operation: 'at[1][1]' });
    assert.throws(() => mapOf(flag)({ x: 1 }, 'at'), { operation: 'at.x' });
    assert.throws(() => shape({ a: 0 }, 'at'), { operation: 'at.a' });
  });

  it('says what it got, and never all of it', () => {
    const said = (value: unknown) => {
      try {
        return refuseShape('at', 'x', value);
      } catch (error) {
        return (error as { reason: string }).reason.slice('expected x, got '.length);
      }
    };
    const described: readonly (readonly [unknown, string])[] = [
      [null, 'null'],
      [undefined, 'undefined'],
      [true, 'true'],
      [7, 'the number 7'],
      [7n, 'the number 7'],
      ['x'.repeat(40), `"${'x'.repeat(40)}"`],
      ['x'.repeat(41), 'a string of 41 characters'],
      [[1, 2], 'an array of 2'],
      [() => 1, 'a function'],
      [new Date(), 'an object of type Date'],
      [{ secret: 1 }, 'an object'],
    ];
    for (const [value, words] of described) assert.equal(said(value), words);
  });

  it('of a text is undefined where that is not JSON or not of it, and a defect stays one', () => {
    assert.deepEqual(
      [parsedAs('7', integer(7)), parsedAs('8', integer(9)), parsedAs('{', anything)],
      [7, undefined, undefined],
    );
    const defect: Shape = () => {
      throw new TypeError('a defect');
    };
    for (const act of [() => parsedAs('1', defect), () => ofShape(1, defect)]) assert.throws(act, TypeError);
  });
});
