/** How a tree is written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { parseSpecification } from './specification.js';

test('a tree is an engine and what it needs, relative to a directory', () => {
  const parsed = (text: string) => parseSpecification(text, '/here');
  assert.deepEqual(parsed('memory:'), { engine: 'memory' });
  assert.deepEqual(parsed('host:a:b'), { engine: 'host', path: '/here/a:b' });
  assert.deepEqual(parsed('host:/srv'), { engine: 'host', path: '/srv' });
  assert.deepEqual(parsed('chunked:f'), { engine: 'chunked', file: '/here/f', snapshot: undefined });
  assert.deepEqual(parsed('chunked:/a@b/f@s-1'), { engine: 'chunked', file: '/a@b/f', snapshot: 's-1' });
  assert.deepEqual(parsed('s3://trees'), { engine: 's3', bucket: 'trees', prefix: '' });
  assert.deepEqual(parsed('s3://trees//a b/c.toml/'), { engine: 's3', bucket: 'trees', prefix: 'a b/c.toml' });
  assert.deepEqual(parsed('webdav:https://h/d'), { engine: 'webdav', url: 'https://h/d' });
  assert.deepEqual(parsed('webdav:http://h/d'), { engine: 'webdav', url: 'http://h/d' });
  for (const remote of ['drive:a/b', 'drive:a,b:c', '/a,b:c', 'a,b', ':local:/a'])
    assert.deepEqual(parsed(`rclone:${remote}`), { engine: 'rclone', remote });
  assert.deepEqual(parsed('a/vfs.toml'), { engine: 'table', file: '/here/a/vfs.toml' });
  assert.deepEqual(parsed('host:x.toml'), { engine: 'host', path: '/here/x.toml' });
  assert.deepEqual(parsed('./a:b.toml'), { engine: 'table', file: '/here/a:b.toml' });
  assert.deepEqual(parsed('chunked:/a@b/f'), { engine: 'chunked', file: '/a@b/f', snapshot: undefined });
});

test('what is none of the forms is EINVAL', () => {
  for (const text of [
    '',
    'memory',
    'memory:x',
    'host:',
    'chunked:',
    'chunked:d/',
    'chunked:f@',
    'chunked:f@-',
    'gopher:x',
    'gopher:x.toml',
    's3:',
    'webdav:',
    'webdav:ftp://h/',
    'webdav:http://u:p@h/',
    'webdav:http://u@h/',
    'webdav:http://:p@h/',
    'webdav:xhttp://h/',
    'webdav:http://h/#x',
    'webdav:http://',
    ':x',
    'host',
    'chunked:@s',
    'chunked:a/@s',
    'webdav:http://h/?q',
    'rclone:',
    'rclone:--config=x',
    'rclone:drive,token=x:a',
    'rclone::sftp,host=h,pass=x:a',
    's3:trees',
    's3://',
    's3:///x',
    's3://trees/../x',
    's3://user@host/x',
    'host:\0',
  ]) {
    assert.throws(
      () => parseSpecification(text, '/here'),
      (error: unknown) => error instanceof ErrnoError && error.code === 'EINVAL',
      text,
    );
  }
});

test('a password of a URL is in no message', () => {
  assert.throws(
    () => parseSpecification('webdav:http://me:hunter2@h/', '/here'),
    (error: unknown) => error instanceof ErrnoError && error.path === 'webdav:' && !String(error).includes('hunter2'),
  );
});
