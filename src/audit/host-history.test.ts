import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Body, formatVersion, types } from './format.js';
import { HostHistory } from './host-history.js';
import { headStatement, type KeyAction, type KeyPair, keyStatement, makeKeyPair, sign } from './signature.js';

const head = 'ab'.repeat(32);

/** A history to which records are added one after the other; each says what is wrong with it. */
function told() {
  const history = new HostHistory();
  let seq = 0;
  const add = (type: string, facts: Body['facts']) => {
    const body = { v: formatVersion, seq, ts: '2026-01-01T00:00:00.000Z', type, agent: null, facts } as unknown as Body;
    seq += 1;
    return history.add(body, head);
  };
  const key = (action: KeyAction, about: KeyPair, by: KeyPair) =>
    add(types.key, {
      action,
      public: about.publicKey,
      by: by.publicKey,
      signature: sign(by.privateKey, keyStatement(action, about.publicKey)),
    });
  const seal = (by: KeyPair, chain = 'vault/a', sealed = head) =>
    add(types.seal, {
      chain,
      seq: 0,
      head: sealed,
      key: by.publicKey,
      signature: sign(by.privateKey, headStatement(chain, 0, sealed)),
    });
  return { history, key, seal };
}

describe('the keys of the host chain', () => {
  const [first, second, stranger] = [makeKeyPair(), makeKeyPair(), makeKeyPair()];

  it('seal while they are in use, and not after they were rotated or revoked', () => {
    const { history, key, seal } = told();
    assert.match(seal(first) ?? '', /which is unknown/);
    assert.equal(key('made', first, first), undefined);
    assert.equal(seal(first), undefined);
    assert.match(seal(stranger) ?? '', /which is unknown/);
    assert.equal(key('rotated', second, first), undefined);
    assert.match(seal(first) ?? '', /which is rotated/);
    assert.equal(seal(second), undefined);
    assert.equal(key('revoked', first, second), undefined);
    assert.match(seal(first) ?? '', /which is revoked/);
    assert.equal(key('revoked', second, second), undefined);
    assert.match(seal(second) ?? '', /which is revoked/);
    assert.deepEqual(
      history.keys.map(({ state }) => state),
      ['revoked', 'revoked'],
    );
  });

  it('are changed by the key in use alone, once, and are made once', () => {
    const { key } = told();
    assert.match(key('rotated', second, second) ?? '', /not signed by the required key/);
    assert.equal(key('made', first, first), undefined);
    assert.match(key('made', second, second) ?? '', /a second initial key/);
    assert.match(key('rotated', second, stranger) ?? '', /not signed by the required key/);
    assert.match(key('revoked', stranger, first) ?? '', /never in use/);
    assert.equal(key('rotated', second, first), undefined);
    assert.match(key('rotated', stranger, first) ?? '', /not signed by the required key/);
    assert.match(key('rotated', first, second) ?? '', /came into use twice/);
  });

  it('seal the host chain with the head that it has', () => {
    const { key, seal } = told();
    key('made', first, first);
    assert.match(
      seal(first, 'host', 'cd'.repeat(32)) ?? '',
      /its head for record \d+ of the host chain does not match/,
    );
    assert.equal(seal(first, 'host'), undefined);
  });
});
