import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeCall, objectContentBytes } from './wire.js';

const call = (...words: readonly string[]) => decodeCall(Buffer.from(words.join('\0')));

describe('the words of a call', () => {
  it('are the object, the directory it was called in, and its input', () => {
    assert.deepEqual(call('/ctx/tool/lint', '/work', '{"a":1}'), {
      path: '/ctx/tool/lint',
      directory: '/work',
      input: '{"a":1}',
    });
    assert.equal(call('/ctx/tool/lint', '/', 'a\0b').input, 'a\0b');
    assert.equal(call('/x', '/', 'x'.repeat(objectContentBytes)).input?.length, objectContentBytes);
  });

  it('have no input where it is not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('/x\0/\0{"path":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    assert.equal(decodeCall(bytes).input, undefined);
  });

  it('are refused where one is missing, the directory is not a whole path, or the input is too long', () => {
    for (const words of [[], ['/x'], ['/x', '/'], ['/x', '', ''], ['/x', 'work', ''], ['/x', './', '']]) {
      assert.throws(() => call(...words), { code: 'EINVAL' }, JSON.stringify(words));
    }
    assert.throws(() => call('/x', '/', 'x'.repeat(objectContentBytes + 1)), { code: 'EINVAL' });
  });
});
