import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { remoteBlockBytes as part, remotePartsAhead } from '../../../base/limits/trees.js';
import type { OpenFiles } from '../inodes/open-files.js';
import { RemoteContents } from './remote-contents.js';
import type { RemoteNode } from './remote-nodes.js';
import type { RemoteStore } from './remote-store.js';

const parts = 12;

/** Of a file whose parts are each of one byte: which were asked for, and how many at once. */
function remote({ failing = -1 }: { readonly failing?: number } = {}) {
  const asked: number[] = [];
  let [now, most] = [0, 0];
  const store: Pick<RemoteStore, 'read'> = {
    async read(_path, _version, offset, length) {
      const index = offset / part;
      asked.push(index);
      most = Math.max(most, ++now);
      await sleep(2);
      now -= 1;
      if (index === failing) throw new Error('gone');
      return Buffer.alloc(length, index);
    },
  };
  const contents = new RemoteContents(store as RemoteStore, { has: () => false } as unknown as OpenFiles);
  const node = { path: 'f', entry: { version: 'v', size: parts * part - 7 }, staged: undefined } as RemoteNode;
  return { asked, contents, node, most: () => most };
}

describe('a remote file', () => {
  it('that is read in order is asked for in parts at once, each of them once', async () => {
    const { asked, contents, node, most } = remote();
    const bytes: Buffer[] = [];
    for (let at = 0; at < node.entry.size; at += part / 8) bytes.push(await contents.read(node, at, part / 8));
    const whole = Buffer.concat(bytes);
    assert.equal(whole.length, node.entry.size);
    for (let index = 0; index < parts; index += 1) assert.equal(whole[index * part + part / 2], index);
    assert.deepEqual(
      [...asked].sort((left, right) => left - right),
      Array.from({ length: parts }, (_, index) => index),
    );
    assert.ok(most() > 2 && most() <= remotePartsAhead + 1, `${most()} at once`);
  });

  it('of which a beginning, or pieces here and there, are read costs these parts alone', async () => {
    const { asked, contents, node } = remote();
    for (const at of [0, 4096, 9 * part, 3 * part + part - 1, 6 * part]) await contents.read(node, at, 1);
    await sleep(5);
    assert.deepEqual(asked, [0, 9, 3, 6]);
  });

  it('of which a part cannot be read fails where that is read, and not before', async () => {
    const { contents, node, asked } = remote({ failing: 3 });
    for (let at = 0; at < 3 * part; at += part / 4) await contents.read(node, at, part / 4);
    await sleep(5);
    assert.ok(asked.includes(3));
    await assert.rejects(contents.read(node, 3 * part, 1), /gone/);
  });
});
