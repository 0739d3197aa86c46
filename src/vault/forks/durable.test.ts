/** What a sync makes true, and what it does not: a sync says nothing of what was not on the disk when the machine stopped. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { currentBoot } from '../../base/boot.js';
import { readNewest } from '../store/state-file.js';
import { readVaultMeta, type VaultMeta } from '../store/vault-meta.js';
import { syncLocked } from './durable.js';
import { freshVault, tree } from './vault-fixture.js';

const { command, withFork } = freshVault();

it('a sync makes the trunk and the fork true that are of this start of the machine, and no other trunk', async () => {
  for (const boot of [undefined, currentBoot(), 'before the machine stopped']) {
    await command((directory) => writeFileSync(`${directory}/a`, String(boot)));
    await withFork(async (fork) => {
      // As a command of another fork has left it since this one was opened.
      const { boot: _own, ...vault }: VaultMeta = readVaultMeta(fork.paths.meta) ?? fork.vault;
      writeFileSync(fork.paths.meta, JSON.stringify({ ...vault, ...(boot === undefined ? {} : { boot }) }));
      tree.done.length = 0;
      const synced = await syncLocked(fork);
      const left = boot === currentBoot() ? undefined : boot;
      assert.equal(readVaultMeta(fork.paths.meta)?.boot, left);
      assert.equal(synced.vault.boot, left);
      assert.equal(readNewest(fork.place.directory)?.boot, undefined);
      assert.deepEqual(tree.done, [`sync ${fork.store.directory}`]);
      writeFileSync(fork.paths.meta, JSON.stringify(vault));
    });
  }
});

it('nothing is synced again, and nothing written, where all of it is on the disk', async () => {
  await withFork(async (fork) => {
    const synced = await syncLocked(fork);
    tree.done.length = 0;
    assert.equal(await syncLocked(synced), synced);
    assert.deepEqual(tree.done, []);
  });
});
