import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { readJsonFile, writeFileAtomic } from './atomic-file.js';
import { canonicalJson, type Json } from './canonical-json.js';
import { ErrnoError, ExitCode, exitCodeFor, fromSystemError } from './errno.js';
import { visible, visibleCommand } from './visible-text.js';

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
    assert.match(
      said(() => statSync(nothing), '/nonexistent'),
      /, stat '\/nonexistent\/a, b'$/,
    );
    assert.match(
      said(() => renameSync(nothing, '/b')),
      /'\/nonexistent\/a, b' -> '\/b'/,
    );
  });
});

describe('visible text', () => {
  it('never contains a control or direction character, and never loses information', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        assert.doesNotMatch(visible(a), /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        if (a !== b) assert.notEqual(visible(a), visible(b));
      }),
    );
  });

  it('shows letters that nobody sees', () => {
    assert.equal(visible('a\u{e0041}b\u3164'), 'a\\u{e0041}b\\u3164');
    assert.equal(visible('größe 😀 中'), 'größe 😀 中');
  });

  it('quotes a command the way a shell would read it', () => {
    assert.equal(visibleCommand(['echo', 'a b', "it's", 'x\ny']), "echo 'a b' 'it'\\''s' 'x\\ny'");
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
});
