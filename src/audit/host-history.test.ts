import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../base/canonical-json.js';
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
  const seal = (by: KeyPair, chain = 'vault/a', sealed = head, anchors?: Json) =>
    add(types.seal, {
      ...(anchors === undefined ? {} : { anchors }),
      chain,
      seq: 0,
      head: sealed,
      key: by.publicKey,
      signature: sign(by.privateKey, headStatement(chain, 0, sealed)),
    });
  const failed = (anchor: string, counter: number) => add(types.anchor, { anchor, counter });
  const begun = (chain: string, at: string) => add(types.chain, { chain, head: at });
  return { history, key, seal, failed, begun };
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

describe('the anchors of the host chain', () => {
  const key = makeKeyPair();
  const sealed = (...anchors: readonly Json[]) => {
    const at = told();
    at.key('made', key, key);
    for (const each of anchors) assert.equal(at.seal(key, 'host', head, each), undefined);
    return at;
  };
  const counters = ({ history }: ReturnType<typeof told>, anchor: string) =>
    history.pointsOf(anchor).map(({ counter }) => counter);

  it('were given what the seals say, but for what failed', () => {
    const at = sealed({ root: 1, far: 7 }, { root: 2 }, {}, { root: 3, far: 8 });
    assert.deepEqual([counters(at, 'root'), counters(at, 'far'), counters(at, 'none')], [[1, 2, 3], [7, 8], []]);
    assert.deepEqual(at.history.anchors, ['root', 'far']);
    assert.equal(at.failed('far', 8), undefined);
    assert.equal(at.failed('root', 9), undefined);
    assert.deepEqual([counters(at, 'root'), counters(at, 'far')], [[1, 2, 3], [7]]);
    at.seal(key, 'host', head, { far: 8 });
    assert.deepEqual(counters(at, 'far'), [7, 8], 'what failed is given again, with the same counter');
    at.failed('far', 8);
    at.failed('far', 7);
    assert.deepEqual(at.history.anchors, ['root'], 'one that was never reached was given nothing');
    const [first] = at.history.pointsOf('root');
    assert.deepEqual(first, { counter: 1, seq: 1, head, root: key.publicKey });
  });

  it('are counted in numbers, and nothing else is one', () => {
    const at = sealed({ root: '1', far: null, near: 0 }, ['root'], 'root', 7, null);
    assert.deepEqual(at.history.anchors, ['near']);
    assert.deepEqual(counters(at, 'near'), [0]);
  });

  it('hold the chains that the host tells of, each with its last beginning', () => {
    const at = told();
    assert.equal(at.begun('agent/a', '1'), undefined);
    assert.equal(at.begun('person', '2'), undefined);
    assert.equal(at.begun('agent/a', '3'), undefined, 'a crash came before its first record');
    assert.deepEqual(at.history.chains, ['agent/a', 'person']);
    assert.deepEqual(
      ['agent/a', 'person', 'agent/b'].map((chain) => at.history.genesisOf(chain)),
      ['3', '2', undefined],
    );
    at.key('made', key, key);
    at.seal(key, 'agent/a');
    assert.match(at.begun('agent/a', '4') ?? '', /began anew after it was sealed/);
    assert.equal(at.begun('person', '5'), undefined);
  });
});
