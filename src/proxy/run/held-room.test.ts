import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TreeUsage } from '../../vault/tree/usage.js';
import { HeldRoom } from './held-room.js';

const usage = (bytes: number, inodes: number): TreeUsage => ({
  bytes,
  inodes,
  unseen: 0,
  files: inodes,
  content: bytes,
  longest: bytes,
});

describe('what a fork takes', () => {
  it('is what is counted and what is held, whatever others write', () => {
    let used = 1000;
    const room = new HeldRoom(usage(100, 2), () => used);
    used = 9000;
    assert.deepEqual(room.with(usage(150, 3)), { ...usage(150, 3) });
    room.held = { bytes: 400, files: 5, hidden: false };
    assert.deepEqual(room.with(usage(150, 3)), { ...usage(150, 3), bytes: 550, inodes: 8 });
  });

  it('is all that the filesystem has grown by where something is hidden, and never less than what is seen', () => {
    let used = 1000;
    const room = new HeldRoom(usage(100, 2), () => used);
    room.held = { bytes: 400, files: 1, hidden: true };
    used = 3000;
    assert.equal(room.with(usage(150, 3)).bytes, 2100);
    used = 500;
    assert.equal(room.with(usage(150, 3)).bytes, 550);
  });
});
