import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { readJsonFile, writeFileAtomic } from './atomic-file.js';
import { canonicalJson, type Json } from './canonical-json.js';
import { ErrnoError, ExitCode, exitCodeFor, fromSystemError } from './errno.js';

describe('errno', () => {
  it('gives bad input, denial and unavailability their own exit codes', () => {
    const error = (code: 'EINVAL' | 'EACCES' | 'EBUSY' | 'EIO') =>
      new ErrnoError(code, { operation: 'x', reason: 'y' });
    assert.equal(exitCodeFor(error('EINVAL')), ExitCode.badInput);
    assert.equal(exitCodeFor(error('EACCES')), ExitCode.denied);
    assert.equal(exitCodeFor(error('EBUSY')), ExitCode.unavailable);
    assert.equal(exitCodeFor(error('EIO')), ExitCode.failed);
    assert.equal(exitCodeFor(new TypeError('a defect')), ExitCode.internal);
  });

  it('does not dress a defect up as a system error', () => {
    const defect = new TypeError('a defect');
    assert.throws(() => fromSystemError(defect, 'read'), defect);
  });

  it('says a code and a path once, and leaves out no other path', () => {
    const said = (act: () => void, path?: string) => {
      try {
        act();
      } catch (error) {
        return fromSystemError(error, 'try', path).reason;
      }
      return '';
    };
    const nothing = '/nonexistent/a, b';
    assert.equal(
      said(() => statSync(nothing)),
      'stat failed: no such file or directory',
    );
    assert.equal(
      said(() => statSync(nothing), '/nonexistent'),
      "stat failed: no such file or directory: '/nonexistent/a, b'",
    );
    assert.equal(
      said(() => statSync('/proc/self/fd/999/x'), '/nonexistent/x'),
      'stat failed: no such file or directory',
    );
    assert.match(
      said(() => renameSync(nothing, '/b')),
      /'\/nonexistent\/a, b' -> '\/b'/,
    );
  });
});

describe('canonical JSON', () => {
  it('is one text for one value, whatever the order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<Json>), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).reverse());
        assert.equal(canonicalJson(value), canonicalJson(reversed));
        assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('refuses what JSON cannot say', () => {
    for (const value of [Number.NaN, 1n, () => 1, new Map()]) {
      assert.throws(() => canonicalJson({ value } as unknown as Json), { code: 'EINVAL' });
    }
  });
});

describe('atomic file', () => {
  it('replaces the whole file and leaves nothing beside it', () => {
    const directory = mkdtempSync(join(tmpdir(), 'ctx-atomic-'));
    const path = join(directory, 'meta.json');
    assert.equal(readJsonFile(path), undefined);
    writeFileAtomic(path, '{"a":1}', { durable: true });
    writeFileAtomic(path, '{"a":2}', { durable: false });
    assert.deepEqual(readJsonFile(path), { a: 2 });
    assert.deepEqual(readdirSync(directory), ['meta.json']);
    writeFileSync(path, '{');
    assert.throws(() => readJsonFile(path), { code: 'EIO' });
    assert.equal(readFileSync(path, 'utf8'), '{');
    rmSync(directory, { recursive: true });
  });

  it('is for those whom it is said to be for, whatever the umask is', (context) => {
    const directory = mkdtempSync(join(tmpdir(), 'ctx-atomic-'));
    const umask = process.umask(0o077);
    context.after(() => {
      process.umask(umask);
      rmSync(directory, { recursive: true });
    });
    for (const mode of [undefined, 0o600, 0o644]) {
      writeFileAtomic(join(directory, 'file'), '', { durable: false, ...(mode === undefined ? {} : { mode }) });
      assert.equal(statSync(join(directory, 'file')).mode & 0o777, mode ?? 0o600);
    }
  });
});
