import assert from 'node:assert/strict';
import fs, { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { hasCode } from '../../base/errno.js';
import { readNewest, readState, readVersions, writeState } from './state-file.js';

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

/** Whatever is written between a listing and the reading of what was listed, so many times. */
function overtaking<T>(times: number, write: () => void, read: () => T): T {
  const list = fs.readdirSync;
  let left = times;
  const overtaken = (...asked: Parameters<typeof list>) => {
    const names = list(...asked);
    if (left-- > 0) {
      fs.readdirSync = list;
      syncBuiltinESMExports();
      write();
      Object.assign(fs, { readdirSync: overtaken });
      syncBuiltinESMExports();
    }
    return names;
  };
  Object.assign(fs, { readdirSync: overtaken });
  syncBuiltinESMExports();
  try {
    return read();
  } finally {
    fs.readdirSync = list;
    syncBuiltinESMExports();
  }
}

for (const durable of [true, false]) {
  it(`a reader who is overtaken, by states that ${durable ? 'are' : 'are not'} synced, finds one of those`, () => {
    let written = 0;
    const writing = (count: number, synced: boolean) => () => {
      for (let each = 0; each < count; each += 1) {
        written += 1;
        writeState(directory, written, { durable: synced });
      }
    };
    writing(1, true)();
    writing(2, false)();
    for (const times of [1, 2, 3]) {
      for (const count of [1, 2, 3]) {
        let before = written;
        const newest = overtaking(times, writing(count, durable), () => readNewest(directory));
        assert.ok(Number(newest?.value) >= before, `${newest?.value} of ${before}, newest ${times} ${count}`);
        assert.equal(newest?.skipped, false);
        before = written;
        const { whole, damaged } = overtaking(times, writing(count, durable), () => readVersions(directory));
        assert.ok(Number(whole[0]?.value) >= before, `${whole[0]?.value} of ${before}, all ${times} ${count}`);
        assert.deepEqual(damaged, []);
      }
    }
    rmSync(directory, { recursive: true });
    assert.equal(readNewest(directory), undefined);
  });
}

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
