import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { primitivesSecond } from '../../test/support/second-verifier.js';
import { isSignedBy, keyId, makeKeyPair, publicOf, publicPem, sign } from './signature.js';

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../../test/vectors/${name}.json`, import.meta.url), 'utf8'));
const { cases: signed } = read('ed25519') as { cases: { public: string; message: string; signature: string }[] };
const { cases: hashed } = read('blake3') as { cases: { length: number; hash: string }[] };

describe('signatures', () => {
  it('are good where they are, and bad for another text, key or signature', () => {
    const { privateKey, publicKey } = makeKeyPair();
    const other = makeKeyPair().publicKey;
    const signature = sign(privateKey, 'text');
    assert.equal(publicOf(privateKey), publicKey);
    assert.ok(isSignedBy(publicKey, 'text', signature));
    assert.ok(!isSignedBy(publicKey, 'texts', signature));
    assert.ok(!isSignedBy(other, 'text', signature));
    assert.ok(
      !isSignedBy(
        publicKey,
        'text',
        signature.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
      ),
    );
    for (const wrong of ['', 'zz', `${signature}00`]) assert.ok(!isSignedBy(publicKey, 'text', wrong));
    assert.match(publicPem(publicKey), /^-----BEGIN PUBLIC KEY-----\n/);
    assert.match(keyId(publicKey), /^[0-9a-f]{16}$/);
  });

  it('of the published vectors are good, to node and to the plain code of the second verifier, whose BLAKE3 is right, too', () => {
    // Ours takes texts; these messages are bytes.
    const ours = signed.filter(({ message }) => /^([0-7].)*$/.test(message));
    assert.ok(ours.length >= 2);
    for (const { public: key, message, signature } of ours) {
      assert.ok(isSignedBy(key, Buffer.from(message, 'hex').toString('latin1'), signature));
    }
    const short = hashed.filter(({ length }) => length <= 8192);
    const bad = signed.map((each) => ({ ...each, message: `${each.message}00` }));
    const { digests, good } = primitivesSecond({
      lengths: short.map(({ length }) => length),
      signatures: [...signed, ...bad],
    });
    assert.deepEqual(
      digests,
      short.map(({ hash }) => hash),
    );
    assert.deepEqual(good, [...signed.map(() => true), ...bad.map(() => false)]);
  });
});
