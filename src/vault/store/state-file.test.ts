import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { hasCode } from '../../base/errno.js';
import { readState, writeState } from './state-file.js';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ctx-state-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('state that is written often', () => {
  it('is absent where none was written, and then the last that was written', () => {
    assert.equal(readState(directory), undefined);
    assert.equal(readState(join(directory, 'none')), undefined);
    for (let value = 0; value < 12; value++) {
      writeState(directory, { value }, { durable: value % 2 === 0 });
      assert.deepEqual(readState(directory), { value });
    }
    assert.deepEqual(readdirSync(directory).sort(), ['state-11.json', 'state-12.json']);
    for (const value of [12, 13, 14]) writeState(directory, { value }, { durable: false });
    // The last that was synced stays, until there is a newer one.
    assert.deepEqual(readdirSync(directory).sort(), ['state-11.json', 'state-14.json', 'state-15.json']);
    writeState(directory, { value: 15 }, { durable: true });
    assert.deepEqual(readdirSync(directory), ['state-16.json']);
  });

  it('is the one before where a power cut left the newest empty or cut short', () => {
    for (const value of [1, 2]) writeState(directory, { value }, { durable: false });
    truncateSync(join(directory, 'state-2.json'), 3);
    assert.deepEqual(readState(directory), { value: 1 });
    truncateSync(join(directory, 'state-2.json'), 0);
    assert.deepEqual(readState(directory), { value: 1 });
    writeState(directory, { value: 3 }, { durable: false });
    assert.deepEqual(readState(directory), { value: 3 });
  });

  it('is refused where no version is whole', () => {
    writeFileSync(join(directory, 'state-7.json'), '{');
    assert.throws(
      () => readState(directory),
      (error) => hasCode(error, 'EIO'),
    );
  });

  it('does not mind what a crash left beside it', () => {
    writeState(directory, { value: 1 }, { durable: false });
    writeFileSync(join(directory, 'state.new'), '{"value":');
    assert.deepEqual(readState(directory), { value: 1 });
    writeState(directory, { value: 2 }, { durable: false });
    assert.deepEqual(readState(directory), { value: 2 });
  });
});

it('a state that cannot be listed, read or written says so, and keeps the one before', () => {
  writeState(directory, { value: 1 }, { durable: false });
  const [name = ''] = readdirSync(directory);
  mkdirSync(join(directory, 'state-2.json'));
  assert.throws(() => readState(directory), { code: 'EISDIR' });
  rmSync(join(directory, 'state-2.json'), { recursive: true });
  assert.ok(readdirSync(directory).includes(name));
  assert.deepEqual(readState(directory), { value: 1 });
  assert.throws(() => writeState(join(directory, 'none'), {}, { durable: false }), { code: 'ENOENT' });
  writeFileSync(join(directory, 'file'), '');
  assert.throws(() => readState(join(directory, 'file')), { code: 'ENOTDIR' });
});
