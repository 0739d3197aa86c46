import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { hasCode } from '../base/errno.js';
import { hookMilliseconds } from '../base/limits/decisions.js';
import { recordLockMilliseconds } from '../base/limits/store.js';
import { genesisHead, Hasher } from './format.js';
import type { RecordEntry } from './record.js';
import { bodiesOf, library, linesOf, type RecordPlace, recordPlace } from './record-fixture.js';

let place: RecordPlace;
beforeEach(() => {
  place = recordPlace();
});
afterEach(() => place.remove());

const segment = (chain: string, first = 1) => join(place.directory, chain, `${String(first).padStart(12, '0')}.jsonl`);
const typesOf = (chain?: string) => bodiesOf(place.directory, chain).map(({ type }) => type);
const plain = (type: string): RecordEntry => ({ type, object: 'y', status: 'ok' });

/** Runs the script with `recorder` in another process. */
function elsewhere(script: string): string[] {
  const url = new URL('./recorder.js', import.meta.url).href;
  const options = `{ record: ${JSON.stringify(place.directory)}, library: ${JSON.stringify(library)}, now: () => new Date(0) }`;
  const text = `const { ChainRecorder } = await import(${JSON.stringify(url)});
    const recorder = new ChainRecorder(${options}); ${script}`;
  return ['--input-type=module', '-e', text];
}

describe('the record', () => {
  it('is one line of canonical JSON an entry, each with its head, for its owner alone', () => {
    const recorder = place.recorder();
    recorder.append({ type: 'exec', object: 'fork/1/main', status: 'begin', facts: { b: 1, a: [true, null] } });
    recorder.append({ type: 'exec', object: 'fork/1/main', status: 'ok', session: 's' });
    const bodies = [
      '{"agent":null,"facts":{"chain":"person","format":1},"object":"person","seq":1,"session":null,"status":"ok","ts":"1970-01-01T00:00:00.000Z","type":"audit.open"}',
      '{"agent":null,"facts":{"a":[true,null],"b":1},"object":"fork/1/main","seq":2,"session":null,"status":"begin","ts":"1970-01-01T00:00:00.000Z","type":"exec"}',
      '{"agent":null,"object":"fork/1/main","seq":3,"session":"s","status":"ok","ts":"1970-01-01T00:00:00.000Z","type":"exec"}',
    ];
    const hasher = new Hasher();
    let head = genesisHead;
    const expected = bodies.map((body) => {
      head = hasher.next(head, body);
      return `["${head}",${body}]`;
    });
    assert.deepEqual(linesOf(place.directory), expected);
    assert.equal(statSync(segment('person')).mode & 0o777, 0o600);
    assert.equal(statSync(join(place.directory, 'person')).mode & 0o777, 0o700);
  });

  it('gives each agent a chain of its own, whose beginning stands in the host chain', () => {
    const recorder = place.recorder();
    recorder.append({ ...plain('exec'), agent: 'coder' });
    recorder.append(plain('apply'));
    assert.deepEqual(typesOf('agent/coder'), ['audit.open', 'exec']);
    assert.deepEqual(typesOf('person'), ['audit.open', 'apply']);
    const announced = bodiesOf(place.directory, 'host').filter(({ type }) => type === 'audit.chain');
    assert.deepEqual(
      announced.map(({ facts }) => facts?.['chain']),
      ['agent/coder', 'person'],
    );
    const [first = ''] = linesOf(place.directory, 'agent/coder');
    assert.equal(announced[0]?.facts?.['head'], JSON.parse(first)[0]);
    assert.equal(bodiesOf(place.directory, 'agent/coder')[1]?.agent, 'coder');
  });

  it('only ever grows: what was there stays, byte for byte, whatever the texts hold', () => {
    const recorder = place.recorder();
    recorder.append(plain('first'));
    const path = segment('person');
    const entry: fc.Arbitrary<RecordEntry> = fc.record({
      type: fc.string(),
      object: fc.string({ unit: 'binary' }),
      status: fc.constantFrom('begin' as const, 'ok' as const, 'failed' as const),
      facts: fc.dictionary(
        fc.string().map((name) => `x${name}`),
        fc.string({ unit: 'binary' }).map((text) => text.replace(/[=:@_.-]|eyJ|PRIVATE/g, '')),
        { noNullPrototype: true },
      ),
    });
    fc.assert(
      fc.property(entry, (given) => {
        const before = readFileSync(path);
        recorder.append(given);
        const grown = readFileSync(path);
        assert.ok(grown.subarray(0, before.length).equals(before));
        const added = grown.subarray(before.length).toString();
        assert.equal(added.indexOf('\n'), added.length - 1, 'one line');
        const { type, object, status, facts } = JSON.parse(added)[1];
        assert.deepEqual({ type, object, status, facts }, { ...given });
      }),
      seeded(200),
    );
  });

  it('refuses what JSON cannot say, and writes nothing of it', () => {
    const recorder = place.recorder();
    recorder.append(plain('a'));
    assert.throws(
      () => recorder.append({ ...plain('x'), facts: { a: Number.NaN } }),
      (error) => hasCode(error, 'EINVAL'),
    );
    recorder.append(plain('b'));
    assert.deepEqual(typesOf(), ['audit.open', 'a', 'b']);
  });

  it('fails where it cannot be written, so that the effect does not happen', () => {
    mkdirSync(place.directory, { recursive: true });
    symlinkSync('/dev/full', join(place.directory, 'reserve'));
    assert.throws(
      () => place.recorder().append({ type: 'x', object: 'y', status: 'begin' }),
      (error) => hasCode(error, 'ENOSPC'),
    );
    assert.equal(existsSync(join(place.directory, 'person')), false);
  });

  it('keeps aside what a crash left half written, says so, and goes on', () => {
    place.recorder().append(plain('a'));
    appendFileSync(segment('person'), '["half');
    const recorder = place.recorder();
    recorder.append(plain('b'));
    recorder.append(plain('c'));
    assert.deepEqual(typesOf(), ['audit.open', 'a', 'audit.torn', 'b', 'c']);
    const { facts } = bodiesOf(place.directory)[2] ?? {};
    assert.equal(facts?.['bytes'], 6);
    assert.equal(facts?.['digest'], new Hasher().of(Buffer.from('["half')));
    assert.equal(readFileSync(join(place.directory, 'person', String(facts?.['file'])), 'utf8'), '["half');
  });

  it('keeps aside a whole line too, where it is no record', () => {
    place.recorder().append(plain('a'));
    appendFileSync(segment('person'), 'something else\n');
    place.recorder().append(plain('b'));
    assert.deepEqual(typesOf(), ['audit.open', 'a', 'audit.torn', 'b']);
  });

  it('goes on where a crash left an empty segment, or nothing but a torn one', () => {
    mkdirSync(join(place.directory, 'person'), { recursive: true });
    writeFileSync(segment('person'), '');
    place.recorder().append(plain('a'));
    assert.deepEqual(typesOf(), ['audit.open', 'a']);
    rmSync(segment('person'));
    writeFileSync(segment('person'), '["torn');
    place.recorder().append(plain('b'));
    assert.deepEqual(typesOf(), ['audit.open', 'audit.torn', 'b']);
  });

  it('begins another segment where one is full, and each says to which chain it belongs', () => {
    const recorder = place.recorder({ segmentBytes: 1000 });
    for (let index = 0; index < 20; index += 1) recorder.append({ ...plain('x'), facts: { index } });
    const seqs = bodiesOf(place.directory).map(({ seq }) => seq);
    assert.deepEqual(
      seqs,
      seqs.map((_, index) => index + 1),
    );
    assert.ok(typesOf().filter((type) => type === 'audit.open').length > 3);
    assert.equal(typesOf().filter((type) => type === 'x').length, 20);
    const other = place.recorder({ segmentBytes: 1000 });
    other.append(plain('other'));
    recorder.append(plain('same'));
    assert.deepEqual(typesOf().slice(-2), ['other', 'same']);
  });

  it('begins another segment where one is a day old', () => {
    place.recorder().append(plain('a'));
    place.recorder({ now: () => new Date(25 * 3600_000) }).append(plain('b'));
    assert.deepEqual(typesOf(), ['audit.open', 'a', 'audit.close', 'audit.open', 'b']);
  });

  it('says when the clock was set back', () => {
    place.recorder({ now: () => new Date(5000) }).append(plain('a'));
    place.recorder().append(plain('b'));
    assert.deepEqual(typesOf(), ['audit.open', 'a', 'audit.clock', 'b']);
  });

  it('leaves nothing of an entry of which a part was written only', () => {
    place.recorder().append(plain('a'));
    const script = `
      try {
        recorder.append({ type: 'x', object: 'y', status: 'ok', facts: { text: 'x'.repeat(1_000_000) } });
        console.log('written');
      } catch (error) {
        console.log(error.code);
      }`;
    // A limit of the file's size cuts one write as a full filesystem does.
    const limited = ['-c', 'trap "" XFSZ; ulimit -f 64 && exec "$0" "$@"', process.execPath, ...elsewhere(script)];
    assert.equal(execFileSync('/bin/sh', limited, { encoding: 'utf8' }), 'EFBIG\n');
    assert.deepEqual(typesOf(), ['audit.open', 'a']);
  });

  it('has no entry twice where the disk does not confirm it at first', () => {
    place.recorder().append(plain('a'));
    writeFileSync(join(place.directory, 'reserve'), 'room');
    const script = `
      const { default: fs } = await import('node:fs');
      const { syncBuiltinESMExports } = await import('node:module');
      const sync = fs.fdatasyncSync;
      let refused = 2;
      fs.fdatasyncSync = (descriptor) => {
        if (refused-- > 0) throw Object.assign(new Error('ENOSPC: full'), { code: 'ENOSPC', syscall: 'fdatasync' });
        sync(descriptor);
      };
      syncBuiltinESMExports();
      const entry = (type) => ({ type, object: 'y', status: 'ok', durable: true });
      // The first has the reserve for a second try, which fails, too.
      for (const type of ['b', 'c']) {
        try {
          recorder.append(entry(type));
        } catch (error) {
          console.log(type, error.code);
        }
      }`;
    assert.equal(execFileSync(process.execPath, elsewhere(script), { encoding: 'utf8' }), 'b ENOSPC\n');
    assert.deepEqual(
      bodiesOf(place.directory).map(({ seq, type }) => [seq, type]),
      [
        [1, 'audit.open'],
        [2, 'a'],
        [3, 'c'],
      ],
    );
  });

  it('is appended to as it is there now, whatever was done to its files since the last entry', () => {
    const written = segment('person');
    const changes: Readonly<Record<string, () => void>> = {
      'was deleted': () => rmSync(written),
      'is a copy of itself': () => {
        const bytes = readFileSync(written);
        rmSync(written);
        writeFileSync(written, bytes, { mode: 0o600 });
      },
      'was cut to what it was before the last entry': () => {
        const lines = readFileSync(written, 'utf8').split('\n');
        writeFileSync(written, `${lines.slice(0, -2).join('\n')}\n`);
      },
    };
    for (const [what, change] of Object.entries(changes)) {
      const recorder = place.recorder();
      recorder.append(plain('before'));
      change();
      recorder.append(plain(what));
      assert.equal(typesOf().at(-1), what);
    }
    const recorder = place.recorder();
    recorder.append(plain('before'));
    rmSync(dirname(written), { recursive: true });
    assert.throws(
      () => recorder.append(plain('into nothing')),
      (error) => hasCode(error, 'ENOENT'),
    );
  });

  it('is waited for where another process is slow in it, for less than a hook has', async () => {
    const recorder = place.recorder();
    recorder.append(plain('first'));
    const words = [join(place.directory, 'person', 'lock'), 'sh', '-c', 'echo held; exec sleep 4'];
    const holder = spawn('flock', words, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');
    recorder.append(plain('second'));
    assert.deepEqual(typesOf(), ['audit.open', 'first', 'second']);
    assert.ok(recordLockMilliseconds < hookMilliseconds);
  });

  it('is one chain, whoever writes at once', async () => {
    const script = (name: string) => `
      const text = ${JSON.stringify(name)}.repeat(5_000);
      for (let index = 0; index < 50; index += 1) {
        recorder.append({ type: 'exec', object: ${JSON.stringify(name)}, status: 'ok', facts: { index, text } });
      }`;
    const names = ['a', 'b', 'c', 'd'];
    const children = names.map((name) => spawn(process.execPath, elsewhere(script(name)), { stdio: 'inherit' }));
    const ends = await Promise.all(children.map((child) => once(child, 'close')));
    assert.deepEqual(
      ends.map(([code]) => code),
      [0, 0, 0, 0],
    );
    const hasher = new Hasher();
    let head = genesisHead;
    for (const line of linesOf(place.directory)) {
      head = hasher.next(head, line.slice(68, -1));
      assert.equal(line.slice(2, 66), head);
    }
    const entries = bodiesOf(place.directory).filter(({ type }) => type === 'exec');
    assert.equal(entries.length, 200);
    for (const { object, facts } of entries) assert.equal(facts?.['text'], object.repeat(5_000));
    for (const name of names) {
      assert.deepEqual(
        entries.filter(({ object }) => object === name).map(({ facts }) => facts?.['index']),
        Array.from({ length: 50 }, (_, index) => index),
      );
    }
  });
});

describe('refusals in the record', () => {
  const refused: RecordEntry = {
    type: 'hook',
    object: 'hook/x',
    status: 'denied',
    layer: 'hook',
    facts: { path: '/a' },
  };

  it('are recorded once, and repeats by their count when their time is over', () => {
    let time = 0;
    const recorder = place.recorder({ now: () => new Date(time) });
    for (let index = 0; index < 7; index += 1) recorder.append(refused);
    recorder.append({ ...refused, facts: { path: '/b' } });
    assert.deepEqual(typesOf(), ['audit.open', 'hook', 'hook']);
    time = 20_000;
    recorder.append(plain('exec'));
    const [, , , repeated] = bodiesOf(place.directory);
    assert.deepEqual([repeated?.type, repeated?.count, repeated?.facts?.['path']], ['hook', 6, '/a']);
  });

  it('raise an alert at every power of ten', () => {
    const recorder = place.recorder();
    for (let index = 0; index < 10; index += 1) recorder.append({ ...refused, facts: { index } });
    recorder.append({ ...refused, count: 95, facts: { index: 'many' } });
    const alerts = bodiesOf(place.directory).filter(({ type }) => type === 'audit.alert');
    assert.deepEqual(
      alerts.map(({ facts }) => facts),
      [
        { denials: 10, threshold: 10 },
        { denials: 105, threshold: 100 },
      ],
    );
  });

  it('of a child stand in its own chain, and its parent hears of them', () => {
    place.recorder().append({ ...refused, agent: 'child', parent: 'coder' });
    const [, heard] = bodiesOf(place.directory, 'agent/coder');
    assert.deepEqual(heard?.facts, { child: 'agent/child', count: 1, layer: 'hook', record: 2, type: 'hook' });
    assert.deepEqual([heard?.type, heard?.status], ['child.denied', 'ok']);
  });

  it('that were counted and not recorded because of a crash are made up for', () => {
    const recorder = place.recorder();
    recorder.append({ ...refused, count: 3 });
    recorder.close();
    const path = segment('person');
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    // As if the process had been killed after counting.
    writeFileSync(path, `${lines.slice(0, -1).join('\n')}\n`);
    place.recorder().append(plain('next'));
    const made = bodiesOf(place.directory).find(({ type }) => type === 'audit.recovered');
    assert.deepEqual([made?.status, made?.layer, made?.count], ['denied', 'hook', 3]);
  });
});
