import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { hasCode } from '../base/errno.js';
import { Chain } from './chain.js';
import { loadFileLock } from './file-lock.js';
import { Hasher } from './format.js';
import { GroupCommit } from './group-commit.js';
import { bodiesOf, library, type RecordPlace, recordPlace } from './record-fixture.js';
import { Reserve } from './reserve.js';

let place: RecordPlace;
let chain: Chain;
beforeEach(() => {
  place = recordPlace();
  const record = place.directory;
  const reserve = new Reserve(`${record}/reserve`);
  chain = new Chain({
    record,
    chain: 'person',
    lock: loadFileLock(library),
    hasher: new Hasher(),
    reserve,
    now: () => new Date(0),
  });
});
afterEach(() => {
  chain.close();
  place.remove();
});

const entry = (index: number) => ({ type: 'x', object: 'y', status: 'ok', facts: { index } }) as const;

describe('group commit', () => {
  it('records everything in the order it was asked for, and says where', async () => {
    const commit = new GroupCommit(chain, { durable: true, most: 16 });
    const seqs = await Promise.all(Array.from({ length: 100 }, (_, index) => commit.append(entry(index))));
    assert.deepEqual(
      seqs,
      Array.from({ length: 100 }, (_, index) => index + 2),
    );
    const [, ...bodies] = bodiesOf(place.directory);
    assert.deepEqual(
      bodies.map(({ facts }) => facts?.['index']),
      Array.from({ length: 100 }, (_, index) => index),
    );
  });

  it('goes out at once in few writes', async () => {
    let batches = 0;
    const commit = new GroupCommit(chain, {
      durable: false,
      onAppended: () => {
        batches += 1;
      },
    });
    await Promise.all(Array.from({ length: 1000 }, (_, index) => commit.append(entry(index))));
    assert.ok(batches <= 2, `${batches} batches`);
  });

  it('refuses a bad entry alone', async () => {
    const commit = new GroupCommit(chain, { durable: true });
    const answers = await Promise.allSettled([
      commit.append(entry(1)),
      commit.append({ ...entry(2), facts: { index: Number.NaN } }),
      commit.append(entry(3)),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.ok(answers[1]?.status === 'rejected' && hasCode(answers[1].reason, 'EINVAL'));
    assert.equal(bodiesOf(place.directory).length, 3);
  });
});
