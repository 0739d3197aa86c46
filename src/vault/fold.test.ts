import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { addLayer, fold, settleFold } from './fold.js';
import { type VaultPaths, vaultPaths } from './layout.js';
import { openStore, type Store } from './store.js';
import { readVaultMeta, type VaultMeta, writeVaultMeta } from './vault-meta.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-fold-'));
after(() => rmSync(base, { recursive: true }));

const before: VaultMeta = {
  format: 1,
  origin: '/w',
  created: '2026-01-01T00:00:00.000Z',
  layers: ['0'],
  nextLayer: 1,
  clashes: ['both'],
};
const folded: VaultMeta = { ...before, layers: ['0', '1'], nextLayer: 2, clashes: [] };

let count = 0;
let store: Store;
let paths: VaultPaths;

beforeEach(() => {
  count += 1;
  store = openStore(join(base, String(count)));
  paths = vaultPaths(store.directory, 'id');
  mkdirSync(paths.layer('0'), { recursive: true });
  mkdirSync(paths.fork.upper, { recursive: true });
  writeFileSync(join(paths.fork.upper, 'file'), 'delta');
  writeVaultMeta(paths.meta, before);
});

const stored = () => readVaultMeta(paths.meta);
const contentOf = (layer: string) => readFileSync(join(paths.layer(layer), 'file'), 'utf8');

describe('folding', () => {
  it('makes the delta the topmost layer, settles its clashes, and says so on disk', () => {
    const after = fold(store, paths, before);
    assert.deepEqual({ ...after, folding: undefined }, { ...folded, folding: undefined });
    assert.deepEqual(stored(), folded);
    assert.equal(contentOf('1'), 'delta');
    assert.equal(existsSync(paths.fork.upper), false);
  });

  it('has nothing to settle where nothing was begun', () => {
    assert.equal(settleFold(paths, before), before);
    assert.deepEqual(stored(), before);
  });

  it('is undone when the crash came before the rename', () => {
    writeVaultMeta(paths.meta, { ...before, folding: '1' });
    settleFold(paths, { ...before, folding: '1' });
    assert.deepEqual(stored(), before);
    assert.equal(readFileSync(join(paths.fork.upper, 'file'), 'utf8'), 'delta');
  });

  it('is finished when the crash came after the rename', () => {
    writeVaultMeta(paths.meta, { ...before, folding: '1' });
    renameSync(paths.fork.upper, paths.layer('1'));
    settleFold(paths, { ...before, folding: '1' });
    assert.deepEqual(stored(), folded);
    assert.equal(contentOf('1'), 'delta');
  });

  it('is settled once: a crash while settling changes nothing', () => {
    renameSync(paths.fork.upper, paths.layer('1'));
    settleFold(paths, { ...before, folding: '1' });
    const settled = stored();
    assert.deepEqual(settleFold(paths, settled ?? before), settled);
  });

  it('never takes what a crashed sync left for the delta', () => {
    mkdirSync(paths.layer('1'));
    writeFileSync(join(paths.layer('1'), 'file'), 'left over');
    fold(store, paths, before);
    assert.equal(contentOf('1'), 'delta');
    assert.deepEqual(stored(), folded);
  });

  it('never takes it after a crash before the rename either', () => {
    mkdirSync(paths.layer('1'));
    writeFileSync(join(paths.layer('1'), 'file'), 'left over');
    // The crash: the fork cannot be renamed, since it is gone.
    rmSync(paths.fork.upper, { recursive: true });
    assert.throws(() => fold(store, paths, before));
    settleFold(paths, stored() ?? before);
    assert.deepEqual(stored(), before);
  });
});

describe('adding a layer below the fork', () => {
  it('keeps the clashes and the fork, and takes the place of a left-over', () => {
    const delta = join(paths.directory, 'delta');
    mkdirSync(delta);
    writeFileSync(join(delta, 'file'), 'added');
    mkdirSync(paths.layer('1'));
    writeFileSync(join(paths.layer('1'), 'other'), 'left over');
    const after = addLayer(store, paths, before, delta);
    assert.deepEqual(after, { ...folded, clashes: before.clashes });
    assert.deepEqual(stored(), after);
    assert.equal(contentOf('1'), 'added');
    assert.equal(existsSync(join(paths.layer('1'), 'other')), false);
    assert.ok(existsSync(paths.fork.upper));
  });
});
