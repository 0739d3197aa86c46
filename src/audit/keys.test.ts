import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Keys } from './keys.js';
import { readHistory } from './read-history.js';
import { type RecordPlace, recordPlace } from './record-fixture.js';
import { sealAll } from './seal.js';
import { keyId, makeKeyPair, publicOf } from './signature.js';

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

describe('keys', () => {
  const keysOf = () => readHistory(place.directory).keys.map(({ id, state }) => [id, state]);

  it('are made when they are first needed, for their owner alone, and are the same from then on', () => {
    const keys = new Keys(place.recorder());
    assert.deepEqual(keys.ids(), []);
    const { id, publicKey, privateKey } = keys.current();
    assert.deepEqual(new Keys(place.recorder()).current(), { id, publicKey, privateKey });
    assert.deepEqual([publicOf(privateKey), keyId(publicKey)], [publicKey, id]);
    assert.deepEqual(keys.ids(), [id]);
    assert.deepEqual(keysOf(), [[id, 'in use']]);
    const directory = join(place.directory, 'key');
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(directory).sort(), [`${id}.key`, `${id}.pub`, 'current'].sort());
    for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
    assert.equal(readFileSync(join(directory, `${id}.pub`), 'utf8'), `${publicKey}\n`);
  });

  it('take turns, and each is known by its state', () => {
    const keys = new Keys(place.recorder());
    const first = keys.current().id;
    const second = keys.rotate().id;
    assert.notEqual(first, second);
    assert.equal(keys.current().id, second);
    assert.deepEqual(keys.ids(), [first, second].sort());
    assert.deepEqual(keysOf(), [
      [first, 'rotated'],
      [second, 'in use'],
    ]);
    assert.equal(keys.revoke(first).id, second, 'the key in use has signed it');
    assert.deepEqual(keysOf(), [
      [first, 'revoked'],
      [second, 'in use'],
    ]);
    assert.equal(keys.current().id, second);
  });

  it('that are revoked while they are in use are out of use first', () => {
    const keys = new Keys(place.recorder());
    const first = keys.current().id;
    const second = keys.revoke(first).id;
    assert.notEqual(first, second);
    assert.equal(keys.current().id, second);
    assert.deepEqual(keysOf(), [
      [first, 'revoked'],
      [second, 'in use'],
    ]);
    assert.equal(seal(), second);
  });

  it('are revoked by their names alone', () => {
    const keys = new Keys(place.recorder());
    const { id } = keys.current();
    for (const other of [`./${id}`, `../key/${id}`, 'a'.repeat(300)])
      assert.throws(() => keys.revoke(other), { code: 'ENOENT' });
    assert.deepEqual(keysOf(), [[id, 'in use']]);
  });

  it('that nobody knows are not revoked', () => {
    const keys = new Keys(place.recorder());
    assert.throws(() => keys.revoke('0'.repeat(16)), { code: 'ENOENT' });
    assert.deepEqual(keys.ids(), []);
    mkdirSync(join(place.directory, 'key', 'current'), { recursive: true });
    assert.throws(() => keys.current(), { code: 'EISDIR' }, 'what cannot be read is not missing');
    rmSync(join(place.directory, 'key'), { recursive: true });
    writeFileSync(join(place.directory, 'key'), '');
    assert.throws(() => keys.ids(), { code: 'ENOTDIR' });
  });

  it('are not made, and nothing is signed, where the host chain does not hold', () => {
    seal();
    const chain = join(place.directory, 'host', '000000000001.jsonl');
    writeFileSync(chain, readFileSync(chain, 'utf8').replace('"person"', '"parson"'));
    const keys = new Keys(place.recorder());
    const before = keys.ids();
    for (const act of [() => keys.current(), () => keys.rotate(), () => seal()])
      assert.throws(act, { code: 'EIO', reason: /^record 2 of the host chain is not valid: its digest/ });
    assert.deepEqual(keys.ids(), before);
  });
});
