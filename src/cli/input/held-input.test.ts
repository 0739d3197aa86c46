import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inputDigestBytes } from '../../base/limits/decisions.js';
import { HeldInput } from './held-input.js';

/** A client that sends these, and the end; every piece is written over when the next is asked for. */
function client(sizes: readonly number[]) {
  const room = Buffer.alloc(Math.max(1, ...sizes));
  let at = 0;
  let asked = 0;
  const next = async () => {
    asked += 1;
    const size = sizes[at] ?? 0;
    room.fill(at + 1);
    at += 1;
    return room.subarray(0, size);
  };
  return { held: new HeldInput(next), asked: () => asked, left: () => sizes.length - Math.min(at, sizes.length) };
}

/** Bytes by the piece that they came in, and whether it was the end. */
async function given(held: HeldInput) {
  const pieces: Buffer[] = [];
  let ended = false;
  const isWhole = await held.giveTo({
    write: async (chunk) => void pieces.push(Buffer.from(chunk)),
    endInput: () => {
      ended = true;
    },
  });
  return { isWhole, ended, pieces: pieces.map((piece) => [piece[0], piece.length]) };
}

test('an input is taken whole up to its limit, and beyond it the client goes on after what was taken', async () => {
  const half = inputDigestBytes / 2;
  for (const [sizes, isWhole] of [
    [[], true],
    [[1], true],
    [[half, half], true],
    [[half, half, 1], false],
    [[inputDigestBytes + 1, 7], false],
  ] as const) {
    const { held, left } = client(sizes);
    const taken = await held.take();
    assert.deepEqual(
      taken?.map(({ length }) => length),
      isWhole ? sizes : undefined,
    );
    const seen = sizes.slice(0, sizes.length - left());
    assert.deepEqual(await given(held), { isWhole, ended: isWhole, pieces: seen.map((size, at) => [at + 1, size]) });
  }
});

test('an input that nobody was asked about is not read, and one that two are asked about is read once', async () => {
  const unread = client([5]);
  assert.deepEqual(await given(unread.held), { isWhole: false, ended: false, pieces: [] });
  assert.equal(unread.asked(), 0);
  const twice = client([5]);
  const [one, other] = await Promise.all([twice.held.take(), twice.held.take()]);
  assert.deepEqual([one, twice.asked()], [other, 2]);
});
