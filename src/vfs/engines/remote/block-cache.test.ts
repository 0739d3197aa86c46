import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlockCache } from './block-cache.js';

/** A cache of 10 bytes, and what it fetched. */
function newCache() {
  const cache = new BlockCache(10);
  const fetched: string[] = [];
  const get = (key: string, size = 4) =>
    cache.get(key, () => {
      fetched.push(key);
      return Promise.resolve(Buffer.alloc(size));
    });
  return { cache, fetched, get };
}

test('blocks stay up to the limit, and those go first that were not asked for longest', async () => {
  const { get, fetched } = newCache();
  await get('a', 5);
  await get('b', 5);
  for (const key of ['a', 'b', 'b', 'a']) await get(key, 5);
  assert.equal(fetched.join(''), 'ab', 'exactly as many bytes as fit');
  await get('c', 1);
  for (const key of ['a', 'c']) await get(key);
  assert.equal(fetched.join(''), 'abc', 'one went');
  await get('b', 9);
  for (const key of ['c', 'b']) await get(key);
  assert.equal(fetched.join(''), 'abcb', 'as many as needed went, and no more');
  await get('large', 11);
  await get('large', 11);
  assert.equal(fetched.join(' '), 'a b c b large large', 'what does not fit does not stay');
});

test('a block on its way is fetched once, and one that failed again', async () => {
  const { cache, get, fetched } = newCache();
  const [one, other] = await Promise.all([get('a'), get('a')]);
  assert.equal(one, other);
  assert.deepEqual(fetched, ['a']);
  await assert.rejects(cache.get('bad', () => Promise.reject(new Error('away'))));
  assert.equal((await get('bad')).length, 4);
  // What arrives later does not push out what is on its way.
  let arrive: (bytes: Buffer) => void = () => assert.fail('not asked for yet');
  const slow = cache.get('slow', () => new Promise((resolve) => (arrive = resolve)));
  await get('b', 10);
  assert.equal(
    cache.get('slow', () => Promise.reject(new Error('asked twice'))),
    slow,
  );
  arrive(Buffer.alloc(1));
  await slow;
});
