/** Room for the record: whole before anything begins, given up once. */
import assert from 'node:assert/strict';
import fs, { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, mock } from 'node:test';
import type { ErrnoError } from '../base/errno.js';
import { recordReserveBytes } from '../base/limits/store.js';
import { Reserve } from './reserve.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-reserve-'));
after(() => rmSync(base, { recursive: true }));

describe('the reserve', () => {
  it('is made whole where it is not, for its owner alone', () => {
    const path = join(base, 'new', 'reserve');
    const reserve = new Reserve(path, 1000);
    reserve.demand();
    assert.equal(statSync(join(base, 'new')).mode & 0o777, 0o700);
    for (const size of [1000, 0, 1, 999, 1001]) {
      writeFileSync(path, Buffer.alloc(size, 'x'));
      const { ino, mtimeNs } = statSync(path, { bigint: true });
      reserve.demand();
      assert.equal(readFileSync(path).length, 1000, String(size));
      const now = statSync(path, { bigint: true });
      if (size === 1000)
        assert.deepEqual([now.ino, now.mtimeNs, readFileSync(path, 'utf8')], [ino, mtimeNs, 'x'.repeat(1000)]);
      else assert.ok(readFileSync(path).every((byte) => byte === 0));
    }
    rmSync(path);
    reserve.demand();
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const usual = join(base, 'usual');
    new Reserve(usual).demand();
    assert.equal(statSync(usual).size, recordReserveBytes);
  });

  it('makes room once, where there is any', () => {
    const path = join(base, 'reserve');
    const reserve = new Reserve(path, 10);
    assert.equal(reserve.release(), false);
    reserve.demand();
    assert.deepEqual([reserve.release(), reserve.release()], [true, false]);
    writeFileSync(path, '');
    assert.equal(reserve.release(), false, 'an empty one holds none');
    writeFileSync(path, 'x');
    assert.equal(reserve.release(), true);
  });

  it('is not there where the disk is full, and nothing of it stays', () => {
    const path = join(base, 'full');
    symlinkSync('/dev/full', path);
    assert.throws(() => new Reserve(path, 10).demand(), { code: 'ENOSPC', path, operation: 'record' });
    assert.throws(() => statSync(path), { code: 'ENOENT' });
    const refused = (code: string) => {
      mock.method(fs, 'writeSync', () => {
        throw Object.assign(new Error(code), { code, syscall: 'write' });
      });
      syncBuiltinESMExports();
      try {
        new Reserve(path, 10).demand();
        return undefined;
      } catch (error) {
        return error as ErrnoError;
      } finally {
        mock.restoreAll();
        syncBuiltinESMExports();
      }
    };
    const codes = ['EDQUOT', 'EFBIG', 'EIO'].map((code) => refused(code)?.code);
    assert.deepEqual(codes, ['ENOSPC', 'EFBIG', 'EIO']);
    assert.match(refused('EFBIG')?.remedy ?? '', /ulimit -f/);
    assert.throws(() => statSync(path), { code: 'ENOENT' });
    const below = join(path, 'below');
    writeFileSync(path, '');
    assert.throws(() => new Reserve(below, 10).demand(), { code: 'ENOTDIR' });
    assert.throws(() => new Reserve(below, 10).release(), { code: 'ENOTDIR' });
    const directory = join(base, 'directory');
    mkdirSync(directory);
    assert.throws(() => new Reserve(directory, 10).demand(), { code: 'EISDIR' });
  });
});
