/** The strict reader of a body: what it takes is written in one way only, and each other way is named. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalJson, type Json } from '../base/canonical-json.js';
import { parseBody } from './parse-body.js';
import { layers, statuses } from './record.js';

const body = {
  agent: 'coder',
  count: 2,
  facts: { argv: ['a', { b: 1, c: [null] }], text: 'ä "q" \u0001 \ufffd', 10: 'x', 9: 'y' },
  layer: 'hook',
  object: 'fork/1/main',
  seq: 7,
  session: 's',
  status: 'denied',
  ts: '2026-01-02T03:04:05.678Z',
  type: 'exec "x"',
};
const parse = (bytes: Buffer | string) => {
  const given = Buffer.concat([Buffer.from('xx'), Buffer.from(bytes), Buffer.from('yy')]);
  return parseBody(given, 2, given.length - 2);
};
const written = (more: object) => canonicalJson({ ...body, ...more } as Json);
const faultOf = (text: Buffer | string) => {
  const found = parse(text);
  return 'fault' in found ? found.fault : 'none';
};

/** Each member by itself: values that it may have, and others. */
const members: Readonly<
  Record<keyof typeof body, { readonly good: readonly unknown[]; readonly bad: readonly unknown[] }>
> = {
  agent: { good: ['a"b\\', '', null], bad: [undefined, 1, {}, ['a']] },
  count: { good: [1, 10, 999_999_999_999_999, undefined], bad: [0, -1, 1.5, 1e15, '1', null] },
  facts: { good: [{}, { a: [] }, { a: { z: {} } }, undefined], bad: [[], null, 'a', 1, [{}]] },
  layer: { good: layers, bad: ['kernel', '', null, 1] },
  object: { good: ['', 'ä'], bad: [undefined, null, 1, {}] },
  seq: { good: [1, 999_999_999_999_999], bad: [0, -1, 1.5, 1e15, '7', null, undefined] },
  session: { good: ['', null], bad: [undefined, 1, []] },
  status: { good: statuses, bad: ['fine', '', null, undefined, 1] },
  ts: {
    good: ['1970-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'],
    bad: ['2026-01-02T03:04:05Z', '2026-01-02 03:04:05.678Z', '2026-01-02T03:04:05.678', 'x', null, 1, undefined],
  },
  type: { good: ['', 'a\n'], bad: [undefined, null, 1, []] },
};

describe('a body', () => {
  it('is read with every member that it has, and no other', () => {
    assert.deepEqual(parse(written({})), body);
    for (const leave of [['count'], ['layer'], ['facts'], ['count', 'layer'], ['count', 'layer', 'facts']]) {
      const rest = Object.fromEntries(
        Object.entries({ ...body, status: 'ok' }).filter(([name]) => !leave.includes(name)),
      );
      assert.deepEqual(parse(canonicalJson(rest as Json)), rest, leave.join());
    }
  });

  it('has members of their kinds, each tried alone', () => {
    for (const [name, { good, bad }] of Object.entries(members)) {
      for (const value of good) {
        const { [name]: _left, ...rest } = { ...body, status: 'ok' } as Record<string, unknown>;
        const whole = value === undefined ? rest : { ...rest, [name]: value };
        const expected = value === 'denied' ? { ...whole, status: 'denied' } : whole;
        assert.deepEqual(parse(canonicalJson(whole as Json)), expected, `${name} ${JSON.stringify(value)}`);
      }
      for (const value of bad)
        assert.equal(faultOf(written({ [name]: value })), 'fields', `${name} ${JSON.stringify(value)}`);
    }
    assert.equal(faultOf(written({ more: 1 })), 'fields');
    for (const text of ['null', '7', '"a"', '[]', '[{}]', '{}']) assert.equal(faultOf(text), 'fields', text);
  });

  it('names the layer of a refusal, and of a refusal only where it has one', () => {
    assert.equal(faultOf(written({ layer: undefined })), 'fields');
    assert.equal(faultOf(written({ layer: undefined, status: 'ok' })), 'none');
  });

  it('is canonical, in every part of it', () => {
    const text = written({});
    const facts = canonicalJson(body.facts as Json);
    const others: Readonly<Record<string, string>> = {
      'a blank': text.replace('"seq":7', '"seq": 7'),
      'another order': text.replace('"agent":"coder","count":2', '"count":2,"agent":"coder"'),
      'a member twice': text.replace('"seq":7', '"seq":7,"seq":7'),
      'a fraction': text.replace('"count":2', '"count":2.0'),
      'a letter as its number': text.replace('"coder"', '"\\u0063oder"'),
      'a letter of the object as its number': text.replace('"fork/1/main"', '"fork\\/1/main"'),
      'a letter of the session as its number': text.replace('"session":"s"', '"session":"\\u0073"'),
      'a letter of the type as its number': text.replace('"exec \\"x\\""', '"\\u0065xec \\"x\\""'),
      'a letter of the facts as its number': text.replace('"argv":["a"', '"argv":["\\u0061"'),
      'members of the facts in another order': text.replace(facts, '{"b":1,"a":2}'),
      'members within a list in another order': text.replace(facts, '{"a":[1,{"a":1,"b":2},{"b":1,"a":2}]}'),
      'members within a list of lists in another order': text.replace(facts, '{"a":[[{"b":1,"a":2}]]}'),
      'members within a member in another order': text.replace(facts, '{"a":{"a":{"b":1,"a":2}},"b":{"c":1}}'),
      'numbers as names in the order of numbers': text.replace(facts, '{"9":1,"10":2}'),
      'a member of the facts twice': text.replace(facts, '{"a":1,"a":1}'),
      'half a character': text.replace(facts, '{"a":"\\ud800"}').replace('"agent":"coder"', '"agent": "coder"'),
    };
    for (const [what, other] of Object.entries(others)) {
      assert.notEqual(other, text, what);
      assert.equal(faultOf(other), 'not canonical', what);
    }
    const right = text.replace(facts, '{"10":1,"9":2,"a":[1,{"a":1,"b":2},[{"a":1}]],"b":{"a":{"a":1,"b":2}}}');
    assert.equal(faultOf(right), 'none');
  });

  it('with a value that canonical JSON does not have is named like any other', () => {
    const withFacts = (facts: string) => written({ facts: { x: 0 } }).replace('"x":0', facts);
    assert.equal(faultOf(withFacts('"a":1e999')), 'not canonical');
    for (const depth of [100, 30_000]) {
      const deep = (open: string, close: string) => `"a":${open.repeat(depth)}1${close.repeat(depth)}`;
      for (const facts of [deep('[', ']'), deep('{"a":', '}'), deep('[ ', ']'), deep('{"b":1,"a":', '}')]) {
        const fault = faultOf(withFacts(facts));
        if (depth > 100 || / |"b"/.test(facts)) assert.equal(fault, 'not canonical', facts.slice(0, 20));
      }
    }
  });

  it('is JSON, and UTF-8', () => {
    const text = written({});
    for (const bad of [
      '',
      '{',
      text.slice(0, -1),
      `${text}}`,
      text.replace('"coder"', 'coder'),
      text.replace('coder', 'co\nder'),
    ])
      assert.equal(faultOf(bad), 'malformed', bad);
    const [before, behind] = text.split('coder') as [string, string];
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xef, 0xbf]]) {
      const whole = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(behind)]);
      assert.equal(faultOf(whole), 'malformed');
    }
    assert.equal(faultOf(text.replace('coder', '\ufffd')), 'none', 'the character itself may be there');
  });
});
