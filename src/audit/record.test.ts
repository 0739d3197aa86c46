import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { hasCode } from '../base/errno.js';
import { fileRecorder, type RecordEntry } from './record.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-record-'));
after(() => rmSync(base, { recursive: true }));
let count = 0;
let path = '';
beforeEach(() => {
  count += 1;
  path = join(base, String(count), 'record', 'host.jsonl');
});

const now = () => new Date(0);
const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1);

describe('the record', () => {
  it('is one line of canonical JSON an entry, in the order of the calls, for its owner alone', () => {
    const recorder = fileRecorder(path, now);
    recorder.append({ type: 'exec', object: 'fork/1/main', status: 'begin', facts: { b: 1, a: [true, null] } });
    recorder.append({ type: 'exec', object: 'fork/1/main', status: 'ok' });
    assert.deepEqual(linesOf(path), [
      '{"facts":{"a":[true,null],"b":1},"object":"fork/1/main","status":"begin","ts":"1970-01-01T00:00:00.000Z","type":"exec"}',
      '{"object":"fork/1/main","status":"ok","ts":"1970-01-01T00:00:00.000Z","type":"exec"}',
    ]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
  });

  it('only ever grows: what was there stays, byte for byte', () => {
    const recorder = fileRecorder(path, now);
    const entry: fc.Arbitrary<RecordEntry> = fc.record({
      type: fc.string(),
      object: fc.string(),
      status: fc.constantFrom('begin' as const, 'ok' as const, 'failed' as const, 'denied' as const),
      facts: fc.dictionary(fc.string(), fc.string({ unit: 'binary' }), { noNullPrototype: true }),
    });
    fc.assert(
      fc.property(entry, (given) => {
        const before = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
        recorder.append(given);
        const grown = readFileSync(path);
        assert.ok(grown.subarray(0, before.length).equals(before));
        const added = grown.subarray(before.length).toString();
        assert.equal(added.indexOf('\n'), added.length - 1, 'one line, whatever the texts hold');
        assert.deepEqual(JSON.parse(added), { ...given, ts: '1970-01-01T00:00:00.000Z' });
      }),
      seeded(200),
    );
  });

  it('refuses what JSON cannot say, and writes nothing of it', () => {
    const recorder = fileRecorder(path, now);
    assert.throws(
      () => recorder.append({ type: 'x', object: 'y', status: 'ok', facts: { a: Number.NaN } }),
      (error) => hasCode(error, 'EINVAL'),
    );
    assert.equal(existsSync(path), false);
  });

  it('fails where it cannot be written, so that the effect does not happen', () => {
    mkdirSync(join(path, '..'), { recursive: true });
    symlinkSync('/dev/full', path);
    assert.throws(
      () => fileRecorder(path, now).append({ type: 'x', object: 'y', status: 'begin' }),
      (error) => hasCode(error, 'ENOSPC'),
    );
  });

  it('ends what a crash left half written, and spoils nothing after it', () => {
    const recorder = fileRecorder(path, now);
    recorder.append({ type: 'a', object: 'y', status: 'ok' });
    appendFileSync(path, '{"half":');
    recorder.append({ type: 'b', object: 'y', status: 'ok' });
    recorder.append({ type: 'c', object: 'y', status: 'ok' });
    const [first, torn, ...rest] = linesOf(path);
    assert.equal(torn, '{"half":');
    assert.deepEqual(
      [first, ...rest].map((line) => JSON.parse(line ?? '').type),
      ['a', 'b', 'c'],
    );
  });

  it('says so when a part of an entry was written only', () => {
    const script = `
      const { fileRecorder } = await import(${JSON.stringify(new URL('./record.js', import.meta.url).href)});
      try {
        fileRecorder(process.argv[1], () => new Date(0)).append({
          type: 'x', object: 'y', status: 'begin', facts: { text: 'x'.repeat(1_000_000) },
        });
        console.log('written');
      } catch (error) {
        console.log(error.code);
      }`;
    // A limit of the file's size cuts one write as a full filesystem does.
    const limited = [
      '-c',
      'ulimit -f 64 && exec "$0" "$@"',
      process.execPath,
      '--input-type=module',
      '-e',
      script,
      path,
    ];
    assert.equal(execFileSync('/bin/sh', limited, { encoding: 'utf8' }), 'ENOSPC\n');
  });

  it('never mixes the lines of processes that write at once', async () => {
    const script = `
      const { fileRecorder } = await import(${JSON.stringify(new URL('./record.js', import.meta.url).href)});
      const recorder = fileRecorder(process.argv[1], () => new Date(0));
      const text = process.argv[2].repeat(20_000);
      for (let index = 0; index < 50; index += 1) {
        recorder.append({ type: 'exec', object: process.argv[2], status: 'ok', facts: { index, text } });
      }`;
    const names = ['a', 'b', 'c', 'd'];
    const children = names.map((name) =>
      spawn(process.execPath, ['--input-type=module', '-e', script, path, name], { stdio: 'inherit' }),
    );
    const ends = await Promise.all(children.map((child) => once(child, 'close')));
    assert.deepEqual(
      ends.map(([code]) => code),
      [0, 0, 0, 0],
    );
    const entries = linesOf(path)
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { object: string; facts: { index: number; text: string } });
    assert.equal(entries.length, 200);
    for (const { object, facts } of entries) assert.equal(facts.text, object.repeat(20_000));
    for (const name of names) {
      assert.deepEqual(
        entries.filter(({ object }) => object === name).map(({ facts }) => facts.index),
        Array.from({ length: 50 }, (_, index) => index),
      );
    }
  });
});
