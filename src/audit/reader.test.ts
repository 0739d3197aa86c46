/** A record on the disk as a verifier needs it: its chains, their files, and nothing outside of it. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { directoryReader } from './reader.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-reader-'));
after(() => rmSync(base, { recursive: true }));

const reader = directoryReader(base);
const file = (path: string, text = '') => {
  mkdirSync(join(base, path, '..'), { recursive: true });
  writeFileSync(join(base, path), text);
};

describe('a reader of a record', () => {
  it('finds the chains that have begun, the host’s first', () => {
    assert.deepEqual(directoryReader(join(base, 'none')).chains(), []);
    file('agent/b/1');
    file('agent/a/1');
    file('agent/locked/lock');
    mkdirSync(join(base, 'agent/empty'));
    mkdirSync(join(base, 'person'));
    file('agent/.hidden/1');
    file('key/x.pub');
    assert.deepEqual(reader.chains(), ['agent/a', 'agent/b']);
    file('person/lock');
    assert.deepEqual(reader.chains(), ['agent/a', 'agent/b'], 'it is about to begin');
    file('person/1');
    assert.deepEqual(reader.chains(), ['person', 'agent/a', 'agent/b']);
    file('host/1');
    assert.deepEqual(reader.chains(), ['host', 'person', 'agent/a', 'agent/b']);
  });

  it('gives the files of a chain in order, and their bytes', () => {
    for (const name of ['3', '1', '2']) file(`person/${name}`, `text ${name}`);
    assert.deepEqual(reader.files('person'), ['1', '2', '3', 'lock']);
    assert.deepEqual(reader.files('agent/none'), []);
    assert.deepEqual(reader.read('person', '2'), Buffer.from('text 2'));
    assert.throws(() => reader.read('person', '4'), { code: 'ENOENT', path: join(base, 'person/4') });
  });

  it('reads no other place, and does not take what it cannot read for nothing', () => {
    for (const chain of ['', '.', '..', 'key', 'agent/', 'agent/..', 'agent/a/b', '../x', '/etc', 'person/../key']) {
      assert.throws(() => reader.files(chain), { code: 'EINVAL' }, chain);
      assert.throws(() => reader.read(chain, 'x.pub'), { code: 'EINVAL' }, chain);
    }
    file('agent/plain');
    assert.throws(() => reader.chains(), { code: 'ENOTDIR', operation: 'read the record' });
    assert.throws(() => reader.files('agent/plain'), { code: 'ENOTDIR' });
  });
});
