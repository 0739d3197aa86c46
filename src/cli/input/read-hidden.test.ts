import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { typedLine } from './read-hidden.js';

describe('a line that is typed without being shown', () => {
  it('ends with Enter, and is corrected as at any terminal', () => {
    assert.deepEqual(typedLine('abc\r'), { line: 'abc' });
    assert.deepEqual(typedLine('abd\u007fc\n'), { line: 'abc' });
    assert.deepEqual(typedLine('wrong\u0015right\r'), { line: 'right' });
    assert.deepEqual(typedLine('\r'), { line: '' });
    assert.equal(typedLine('abc'), undefined);
  });

  it('is cancelled by Ctrl-C, and by Ctrl-D where nothing is typed', () => {
    assert.equal(typedLine('abc\u0003'), 'cancelled');
    assert.equal(typedLine('\u0004'), 'cancelled');
    assert.deepEqual(typedLine('a\u0004\r'), { line: 'a\u0004' });
  });
});
