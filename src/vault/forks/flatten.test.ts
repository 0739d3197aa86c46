import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { currentBoot } from '../../base/boot.js';
import { ErrnoError } from '../../base/errno.js';
import { layersBeforeMerge, layersWithoutMerge } from '../../base/limits/store.js';
import { makeLayer } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import { readVaultMeta, writeVaultMeta } from '../store/vault-meta.js';
import { findCheckpoint, rollBackFork } from './checkpoint.js';
import { flattenDeltas, flattenTrunk, mergedCount } from './flatten.js';
import { syncFork } from './sync.js';
import { freshVault, tree } from './vault-fixture.js';

describe('which layers are merged', () => {
  it('is none while there are few', () => {
    assert.equal(
      mergedCount(
        Array.from({ length: 16 }, () => 1),
        16,
      ),
      0,
    );
  });

  it('is the small ones on top of a large one', () => {
    assert.equal(mergedCount([100_000, ...Array.from({ length: 16 }, () => 1)], 16), 16);
  });

  it('is always enough that the next command does not merge again', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 17, maxLength: 60 });
    fc.assert(
      fc.property(sizes, (list) => {
        const count = mergedCount(list, 16);
        assert.ok(count >= 8 && count <= list.length);
      }),
      seeded(300),
    );
  });

  it('stays in proportion to what is written, over many commands', () => {
    let stack: number[] = [];
    let moved = 0;
    const commands = 5_000;
    for (let command = 0; command < commands; command++) {
      stack.push(1);
      const count = mergedCount(stack, 16);
      if (count === 0) continue;
      const sum = stack.slice(-count).reduce((total, size) => total + size, 0);
      moved += sum;
      stack = [...stack.slice(0, -count), sum];
    }
    assert.ok(stack.length <= 17);
    assert.ok(moved < commands * Math.log2(commands), `${moved} entries moved for ${commands} written`);
  });
});

describe('layers that are merged', () => {
  const { at, write, withFork, command, access, shown } = freshVault();
  const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);

  it('show what they showed, beside those that a checkpoint needs, and a fork with few is left alone', async () => {
    write('project/own', 'mine');
    for (const name of ['a', 'b', 'c']) await command(put(name, name));
    await withFork(async (fork) => {
      assert.equal(await flattenDeltas(fork), fork);
      const before = await shown(fork);
      const flat = await flattenDeltas(fork, true);
      assert.deepEqual([flat.meta.deltas.length, await shown(flat)], [1, before]);
      assert.equal(await flattenDeltas(flat, true), flat);
      const back = await rollBackFork(flat, findCheckpoint(flat, '2'));
      assert.deepEqual(await shown(back), { a: 'a', own: 'mine' });
    });
  });

  it('are as few as they can be by themselves, and a merge that fails leaves a fork that can be mounted', async () => {
    write('project/own', 'mine');
    const fork = await command(put('first', 'x'));
    const many = layersBeforeMerge + 1;
    const layers: string[] = [];
    for (let count = 0; count < many; count += 1) {
      const layer = makeLayer(fork.paths, { fork: 'main' });
      mkdirSync(fork.paths.tree(layer, workspaceRoot));
      writeFileSync(join(fork.paths.tree(layer, workspaceRoot), `f${count}`), '');
      layers.push(layer);
    }
    await withFork(async (opened) => {
      const stacked = (deltas: readonly string[]) => ({ ...opened, meta: { ...opened.meta, deltas } });
      assert.equal((await flattenDeltas(stacked(layers.slice(1)))).meta.deltas.length, many - 1);
      const merged = (await flattenDeltas(stacked(layers))).meta.deltas;
      assert.equal(merged.length, 1);
      for (let count = 0; count <= many; count += 1) {
        writeFileSync(join(opened.paths.tree(layers[0] ?? '', workspaceRoot), `large${count}`), '');
      }
      const before = await shown(stacked(layers));
      const kept = await flattenDeltas(stacked(layers));
      assert.deepEqual([kept.meta.deltas[0], kept.meta.deltas.length, await shown(kept)], [layers[0], 2, before]);
      const failing = async (deltas: readonly string[], error: Error, all = false) => {
        tree.before = () => {
          throw error;
        };
        return flattenDeltas(stacked(deltas), all).finally(() => {
          tree.before = undefined;
        });
      };
      const full = new ErrnoError('ENOSPC', { operation: 'merge', reason: 'x' });
      assert.deepEqual((await failing(layers, full)).meta.deltas, layers);
      await assert.rejects(failing(layers, full, true), { code: 'ENOSPC' });
      await assert.rejects(failing(layers, new TypeError('a defect')), TypeError);
      const most = Array.from({ length: layersWithoutMerge + 1 }, (_, index) => layers[index % many] ?? '');
      assert.equal((await failing(most.slice(1), full)).meta.deltas.length, layersWithoutMerge);
      await assert.rejects(failing(most, full), { code: 'ENOSPC' });
    });
  });

  it('of the trunk are all but the import, or all where that is asked for', async () => {
    write('project/own', 'mine');
    const trunk = () => readVaultMeta(access().paths.meta)?.trunk ?? [];
    await flattenTrunk(access(), true);
    for (let count = 0; count <= layersBeforeMerge; count += 1) {
      write(`project/e${count}`, 'x');
      await withFork((fork) => syncFork(fork));
      if (trunk().length === layersBeforeMerge) {
        await flattenTrunk(access());
        assert.equal(trunk().length, layersBeforeMerge);
      }
    }
    const [first] = trunk();
    const before = trunk().length;
    assert.ok(before > layersBeforeMerge);
    await flattenTrunk(access());
    assert.deepEqual([trunk().length, trunk()[0]], [2, first]);
    await flattenTrunk(access());
    assert.equal(trunk().length, 2);
    const meta = readVaultMeta(access().paths.meta) ?? assert.fail();
    assert.equal(meta.boot, currentBoot(), 'it may not be on the disk');
    rmSync(at('project/e0'));
    await withFork((fork) => syncFork(fork));
    const now = readVaultMeta(access().paths.meta) ?? assert.fail();
    writeVaultMeta(access().paths.meta, { ...now, uncopied: true });
    await flattenTrunk(access(), true);
    assert.deepEqual(trunk(), now.trunk, 'files of the person are not linked');
    writeVaultMeta(access().paths.meta, now);
    await flattenTrunk(access(), true);
    assert.deepEqual([trunk().length, trunk()[0] === first], [1, false]);
    const merged = readdirSync(access().paths.tree(trunk()[0] ?? '', workspaceRoot));
    assert.deepEqual(merged.sort(), readdirSync(at('project')).sort(), 'nothing is below: there are no deletions');
    await withFork((fork) => syncFork(fork));
    assert.deepEqual(Object.keys(await withFork((fork) => shown(fork))).length, layersBeforeMerge + 1);
    assert.deepEqual(await withFork((fork) => fork.meta.base), trunk(), 'a fork goes on with the merged ones');
    assert.ok(existsSync(at('project/own')));
  });
});
