/** What of keys, seals and anchors is on the disk before what, who may read it, and what is recorded where an anchor fails. */
import assert from 'node:assert/strict';
import fs, { readlinkSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, it, mock } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { loadFlock } from '../base/file-lock.js';
import { fileAnchor } from './anchor/file-anchor.js';
import type { Anchor } from './anchor.js';
import { types } from './format.js';
import { Keys } from './keys.js';
import type { RecordEntry } from './record.js';
import { bodiesOf, library, type RecordPlace, recordPlace } from './record-fixture.js';
import { sealAll } from './seal.js';

let place: RecordPlace;
beforeEach(() => {
  place = recordPlace();
});
afterEach(() => {
  mock.restoreAll();
  syncBuiltinESMExports();
  place.remove();
});

/** Names of what is waited for, one after the other; keys and segments by what they are. */
function synced(act: () => unknown): readonly string[] {
  const names: string[] = [];
  for (const what of ['fsyncSync', 'fdatasyncSync'] as const) {
    const real = fs[what];
    mock.method(fs, what, (descriptor: number) => {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`);
      const isSegment = path.endsWith('.jsonl');
      const name = basename(isSegment ? join(path, '..') : path).replace(/\.[0-9a-z-]+\.new$/, '');
      names.push(name.replace(/^[0-9a-f]{16}/, 'ID'));
      return real(descriptor);
    });
  }
  syncBuiltinESMExports();
  try {
    act();
    return names;
  } finally {
    mock.restoreAll();
    syncBuiltinESMExports();
  }
}

/** A record to which something was added. */
function begun() {
  const recorder = place.recorder();
  recorder.append({ type: 'x', object: 'y', status: 'ok' });
  return recorder;
}

const named = ['current', 'key'];
const halves = ['ID.key', 'key', 'ID.pub', 'key'];

it('a key is there before the chain tells of it, and the chain tells of it before it is the one in use', () => {
  const recorder = begun();
  const keys = new Keys(recorder);
  recorder.endOf('host');
  // The end of the chain is asked for first.
  assert.deepEqual(
    synced(() => keys.current()),
    ['host', 'record', ...halves, 'host', ...named],
    'the first is in a directory that is new, too',
  );
  const first = keys.current().id;
  assert.deepEqual(
    synced(() => keys.current()),
    ['host'],
  );
  assert.deepEqual(
    synced(() => keys.rotate()),
    ['host', ...halves, 'host', ...named],
  );
  assert.deepEqual(
    synced(() => keys.revoke(first)),
    ['host', 'host'],
    'that is not in use any more',
  );
  const second = keys.current().id;
  assert.deepEqual(
    synced(() => keys.revoke(second)),
    ['host', 'host', ...halves, 'host', ...named, 'host'],
  );
  assert.notEqual(keys.current().id, second, 'one that is in use is put out of use first');
  for (const id of keys.ids())
    for (const half of ['key', 'pub'])
      assert.equal(statSync(join(place.directory, 'key', `${id}.${half}`)).mode & 0o777, 0o600);
  recorder.close();
});

it('a seal is on the disk after what it seals, and before an anchor has it, which is then', () => {
  const recorder = begun();
  new Keys(recorder).current();
  const root = join(place.directory, '..', 'anchor');
  const sealed = synced(() => sealAll(recorder, [fileAnchor(root, 'root')]));
  assert.deepEqual(sealed.filter((name) => name !== 'host').slice(0, 1), ['person']);
  // The host's end is asked for, its seal is added, and the anchor is given that.
  assert.deepEqual(sealed.slice(-4), ['host', 'host', 'anchor', basename(join(place.directory, '..'))]);
  // What has a name on the disk needs none.
  recorder.append({ type: 'x', object: 'y', status: 'ok' });
  assert.deepEqual(synced(() => sealAll(recorder, [fileAnchor(root, 'root')])).slice(-3), ['host', 'host', 'anchor']);
  assert.equal(statSync(root).mode & 0o777, 0o600);
  recorder.append({ type: 'x', object: 'y', status: 'ok' });
  const failing = { ...fileAnchor(root, 'root'), commit: () => fileAnchor(join(root, 'none')).commit({} as never) };
  assert.equal(synced(() => sealAll(recorder, [failing])).at(-1), 'host', 'that it failed is recorded');
  recorder.close();
});

it('a chain is announced on the disk before anything of it is there', () => {
  const recorder = begun();
  assert.deepEqual(
    synced(() => recorder.append({ type: 'x', object: 'y', status: 'ok', agent: 'coder' })),
    ['host', 'coder'],
  );
  recorder.close();
});

it('refusals are counted on the disk before a record is there that waits for it, once after they came', () => {
  const recorder = begun();
  const append = (more: Partial<RecordEntry>) => synced(() => recorder.append({ ...entry, ...more }));
  const entry: RecordEntry = { type: 'x', object: 'y', status: 'ok' };
  const refused: Partial<RecordEntry> = { status: 'denied', layer: 'hook' };
  assert.deepEqual(append(refused), []);
  const counts = ['denials.json', 'person', 'denials.json', 'person'];
  assert.deepEqual(append({ durable: true }), [...counts, 'person']);
  assert.deepEqual(append({ durable: true }), ['person']);
  assert.deepEqual(append({ ...refused, object: 'z', durable: true }), ['denials.json', 'person', 'person']);
  assert.deepEqual(append({}), []);
  recorder.close();
});

it('whatever a record is made of is for its owner alone, under any umask', () => {
  const before = process.umask(0);
  try {
    place.recorder().alone(() => undefined);
    const recorder = begun();
    recorder.append({ type: 'x', object: 'y', status: 'begin', agent: 'coder' });
    recorder.append({ type: 'x', object: 'y', status: 'denied', layer: 'hook' });
    recorder.close();
    fs.appendFileSync(join(place.directory, 'person', '000000000001.jsonl'), 'torn');
    sealAll(begun(), []);
    const names = fs.readdirSync(place.directory, { recursive: true, withFileTypes: true });
    for (const each of names) {
      const path = join(each.parentPath, each.name);
      assert.equal(statSync(path).mode & 0o777, each.isDirectory() ? 0o700 : 0o600, path);
    }
    assert.equal(statSync(place.directory).mode & 0o777, 0o700);
    const found = new Set(names.map(({ name }) => name.replace(/\d{12}|^[0-9a-f]{16}/, 'N')));
    for (const name of ['N.jsonl', 'torn.N', 'denials.json', 'N.key', 'lock', 'seal.lock', 'reserve'])
      assert.ok(found.has(name), name);
  } finally {
    process.umask(before);
  }
});

it('an anchor that failed, or that a crash kept from its point, is in the host chain before the next seal', () => {
  const recorder = begun();
  const grow = () => recorder.append({ type: 'x', object: 'y', status: 'ok' });
  const points = fileAnchor(join(place.directory, '..', 'anchor'), 'root');
  const failures = () =>
    bodiesOf(place.directory, 'host').flatMap(({ type, status, facts }) =>
      type === types.anchor ? [[status, facts?.['anchor'], facts?.['counter']]] : [],
    );
  const told = (anchor: Anchor) => {
    grow();
    return sealAll(recorder, [anchor]).anchors.map(({ counter, error }) => [counter, error !== undefined]);
  };
  assert.deepEqual([told(points), failures()], [[[1, false]], []]);
  const failing = () => {
    throw new ErrnoError('EIO', { operation: 'test', reason: 'no' });
  };
  assert.deepEqual(told({ ...points, commit: failing }), [[2, true]]);
  assert.deepEqual(failures(), [['failed', 'root', 2]]);
  assert.deepEqual(told({ ...points, commit: () => undefined }), [[2, false]], 'it ends before it is written');
  assert.deepEqual([told(points), failures().length], [[[2, false]], 2]);
  assert.deepEqual([told({ ...points, next: failing }), failures().length], [[[0, true]], 2]);
  recorder.close();
});

it('one process at a time makes keys and seals, and lets others when it has ended or failed', () => {
  const recorder = begun();
  const path = join(place.directory, 'seal.lock');
  const flock = loadFlock(library, 'test');
  const isTaken = () => {
    const descriptor = fs.openSync(path, 'a');
    const number = flock.lock(descriptor, 0);
    fs.closeSync(descriptor);
    return number !== 0;
  };
  for (let count = 0; count < 2; count += 1) {
    assert.equal(recorder.alone(isTaken), true);
    assert.equal(
      recorder.alone(() => recorder.alone(isTaken)),
      true,
    );
    assert.equal(isTaken(), false);
    assert.throws(() => recorder.alone(() => assert.fail('of a test')), /of a test/);
    assert.equal(isTaken(), false);
  }
  recorder.close();
});
