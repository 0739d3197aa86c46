import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ofShape } from '../../base/shape.js';
import { stepShape } from './steps.js';

it('a step that was written down is taken only where it is whole', () => {
  const move = { step: 'move', from: '/a', to: '/b', mode: 0o755 };
  const whole = [{ step: 'make', path: '/a' }, move, { step: 'write', path: '/a', text: 'x' }];
  for (const step of [...whole, { step: 'hold', path: '/a', names: ['b'] }])
    assert.equal(ofShape(step, stepShape), step);
  for (const step of [
    null,
    'make',
    {},
    { step: 'constructor' },
    { step: 'delete', path: '/' },
    { step: 'make' },
    { ...move, to: undefined },
    { ...move, mode: '755' },
    { ...move, from: '/a\0' },
  ])
    assert.equal(ofShape(step, stepShape), undefined, JSON.stringify(step));
});
