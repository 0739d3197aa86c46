import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Keys } from './keys.js';
import { readHistory } from './read-history.js';
import { type RecordPlace, recordPlace } from './record-fixture.js';
import { sealAll } from './seal.js';
import { makeKeyPair } from './signature.js';

let place: RecordPlace;
beforeEach(() => {
  place = recordPlace();
});
afterEach(() => place.remove());

const currentFile = () => join(place.directory, 'key', 'current');

/** Something new to sign, and its seal; the key that signed it. */
function seal(): string {
  const recorder = place.recorder();
  recorder.append({ type: 'x', object: 'y', status: 'ok' });
  const { key } = sealAll(recorder, []);
  recorder.close();
  return key;
}

describe('the key in use', () => {
  it('is the one that the chain says, where a crash or a full disk kept the first from being named', () => {
    const first = seal();
    rmSync(currentFile());
    assert.equal(seal(), first);
    assert.deepEqual(
      readHistory(place.directory).keys.map(({ id }) => id),
      [first],
    );
    assert.equal(readFileSync(currentFile(), 'utf8'), `${first}\n`);
  });

  it('is the next one, where that was recorded and not named', () => {
    const first = seal();
    const next = new Keys(place.recorder()).rotate().id;
    writeFileSync(currentFile(), `${first}\n`);
    assert.equal(seal(), next);
    assert.equal(readHistory(place.directory).sealsOf('person').length, 2);
  });

  it('signs nothing where its file is missing or holds another key', () => {
    const first = seal();
    const file = (id: string) => join(place.directory, 'key', `${id}.key`);
    writeFileSync(file(first), makeKeyPair().privateKey);
    assert.throws(() => seal(), { code: 'EIO', path: file(first) });
    rmSync(file(first));
    assert.throws(() => seal(), { code: 'EIO', path: file(first) });
    assert.equal(readHistory(place.directory).sealsOf('person').length, 1);
  });

  it('is not taken from a chain that does not know the one that is named: its end was cut off', () => {
    seal();
    const chain = join(place.directory, 'host', '000000000001.jsonl');
    const before = readFileSync(chain);
    const next = new Keys(place.recorder()).rotate().id;
    writeFileSync(chain, before);
    assert.equal(seal(), next);
    assert.equal(
      readHistory(place.directory).sealsOf('person').length,
      1,
      'the second is signed by a key unknown to it',
    );
  });
});
