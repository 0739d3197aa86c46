import assert from 'node:assert/strict';
import { it } from 'node:test';
import { having, integer, ofShape, word } from './shape.js';

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
