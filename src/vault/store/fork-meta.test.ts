/** What a fork names, and so keeps from being collected. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { type Checkpoint, type ForkMeta, layersNamedBy, layersOfVersions, writeForkMeta } from './fork-meta.js';
import { storeFormat } from './layout.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-fork-meta-'));
after(() => rmSync(base, { recursive: true }));

const checkpoint = (id: number, stack: Pick<Checkpoint, 'base' | 'deltas'>): Checkpoint => ({
  ...{ id, position: id, made: '2026-01-01T00:00:00Z', automatic: true, reason: 'test', clashes: ['clashes'] },
  ...{ beside: ['beside'], undone: id === 1, ...stack },
});

/** Each member that names layers names one that no other does. */
const whole: ForkMeta = {
  ...{ format: storeFormat, created: '2026-01-01T00:00:00Z', from: 'from', position: 3, nextCheckpoint: 3 },
  clashes: ['clashes'],
  base: ['trunk-1', 'trunk-2'],
  deltas: ['delta-1', 'delta-2'],
  live: 'live-1',
  mounted: ['mounted-1', 'mounted-2'],
  applied: ['applied-1', 'applied-2'],
  checkpoints: [
    checkpoint(1, { base: ['undone-trunk-1'], deltas: ['undone-delta-1'] }),
    checkpoint(2, { base: ['saved-trunk-1', 'saved-trunk-2'], deltas: ['saved-delta-1', 'saved-delta-2'] }),
  ],
};
const all = [...JSON.stringify(whole).matchAll(/"((?:[a-z]+-)+\d)"/g)].map(([, name]) => name).sort();

it('are all layers: of the fork as it is, as it is mounted, of what was applied, and of each checkpoint', () => {
  assert.equal(all.length, 15);
  assert.deepEqual([...layersNamedBy(whole)].sort(), all);
  const { mounted: _mounted, applied: _applied, ...least } = whole;
  assert.deepEqual([...layersNamedBy({ ...least, deltas: [], checkpoints: [] })].sort(), [
    'live-1',
    'trunk-1',
    'trunk-2',
  ]);
});

it('are those of each version that may be gone back to', () => {
  writeForkMeta(base, whole, { durable: false });
  const newer: ForkMeta = { ...whole, live: 'live-2', mounted: ['mounted-3'], applied: undefined, checkpoints: [] };
  writeForkMeta(base, newer, { durable: false });
  assert.deepEqual([...layersOfVersions(base)].sort(), [...all, 'live-2', 'mounted-3'].sort());
});
