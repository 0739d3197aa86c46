import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasCode } from '../../base/errno.js';
import { parseTree } from './jail-trees.js';

describe('SPEC=TARGET[:rw][:grants=FILE]', () => {
  it('is split at the last =/, and is read-only without :rw', () => {
    const forms: readonly (readonly [string, string, string, boolean])[] = [
      ['memory:=/mnt/m', 'memory:', '/mnt/m', false],
      ['memory:=/mnt/m:rw', 'memory:', '/mnt/m', true],
      ['host:/a=/b=/c', 'host:/a=/b', '/c', false],
      ['chunked:x=y=/c=d:rw', 'chunked:x=y', '/c=d', true],
      ['chunked:f@monday=/c', 'chunked:f@monday', '/c', false],
      ['trees/vfs.toml=/c:rw', 'trees/vfs.toml', '/c', true],
    ];
    for (const [text, specification, target, writable] of forms) {
      assert.deepEqual(parseTree(text, '/w'), { specification, target, writable }, text);
    }
  });

  it('has a file of grants at its end, which may be any path', () => {
    const tree = { specification: 'memory:', target: '/m' };
    const forms: readonly (readonly [string, boolean, string])[] = [
      ['memory:=/m:grants=g', false, 'g'],
      ['memory:=/m:rw:grants=/a=/b:rw', true, '/a=/b:rw'],
      ['memory:=/m:rw:grants=../g s', true, '../g s'],
    ];
    for (const [text, writable, grants] of forms) {
      assert.deepEqual(parseTree(text, '/w'), { ...tree, writable, grants }, text);
    }
  });

  it('is refused where it is anything else', () => {
    const others = [
      'memory:=/m:grants=',
      'memory::grants=/m',
      '',
      'memory:',
      'memory:=m',
      '=/m',
      'tape:=/m',
      'memory:x=/m',
      'host:=/m',
    ];
    for (const text of others)
      assert.throws(
        () => parseTree(text, '/w'),
        (error) => hasCode(error, 'EINVAL'),
        text,
      );
  });
});
