/** Limits of a vault: both sides of each, alone and beside the others, and that nothing is taken in beyond them. */
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { it } from 'node:test';
import { addRoots } from '../forks/roots.js';
import { syncFork } from '../forks/sync.js';
import { freshVault, owner } from '../forks/vault-fixture.js';
import type { TreeUsage } from '../tree/usage.js';
import { importVault } from '../vault.js';
import { linkOrigin } from './uncopied.js';
import { exceeded, limitUses, refuseBeyond, together, usageOfVault, vaultLimitNames } from './vault-limits.js';
import { readVaultMeta, type VaultLimits, writeVaultMeta } from './vault-meta.js';

const { at, write, access, withFork, request } = freshVault();
const usage: TreeUsage = { bytes: 10, inodes: 20, unseen: 0, files: 0, content: 0, longest: 30 };
const keys = ['maxBytes', 'maxFiles', 'maxFileBytes'] as const;
const used = [usage.bytes, usage.inodes, usage.longest];

it('each limit is held on both sides, alone and with others that are not reached', () => {
  assert.deepEqual([limitUses({}, usage), exceeded({}, usage)], [[], undefined]);
  keys.forEach((key, index) => {
    const most = used[index] ?? 0;
    assert.deepEqual(limitUses({ [key]: most }, usage), [{ limit: vaultLimitNames[index], used: most, most }]);
    const others: VaultLimits = { maxBytes: 1000, maxFiles: 1000, maxFileBytes: 1000 };
    for (const limits of [{}, others]) {
      assert.equal(exceeded({ ...limits, [key]: most }, usage), undefined);
      refuseBeyond({ ...limits, [key]: most }, usage, 'test');
      assert.ok(exceeded({ ...limits, [key]: most - 1 }, usage)?.includes(String(most)));
      assert.throws(() => refuseBeyond({ ...limits, [key]: most - 1 }, usage, 'test'), { code: 'EDQUOT' });
    }
  });
});

it('two places hold what both do, and the longest file of either', () => {
  const other: TreeUsage = { bytes: 1, inodes: 2, unseen: 3, files: 4, content: 5, longest: 6 };
  const whole = { bytes: 11, inodes: 22, unseen: 3, files: 4, content: 5, longest: 30 };
  assert.deepEqual([together(usage, other), together(other, usage)], [whole, whole]);
});

it('a directory comes in where the vault then holds no more than it may, and else nothing of it stays', async () => {
  write('project/a', 'x'.repeat(10_000));
  const limits = { maxFileBytes: 9_999 };
  await assert.rejects(importVault(request({ limits })), { code: 'EDQUOT' });
  assert.equal(readVaultMeta(access().paths.meta), undefined);
  await importVault(request({ limits: { maxFileBytes: 10_000, maxFiles: 200, maxBytes: 1_000_000 } }));
  const { inodes, bytes } = await usageOfVault(access());
  assert.ok(inodes > 3 && bytes > 10_000);
  for (const name of ['one', 'two']) write(`more/${name}`, 'y');
  const meta = () => readVaultMeta(access().paths.meta) ?? assert.fail();
  // Three inodes come: the directory and two files.
  for (const [maxFiles, isTaken] of [
    [inodes + 2, false],
    [inodes + 3, true],
  ] as const) {
    writeVaultMeta(access().paths.meta, { ...meta(), limits: { maxFiles } });
    const adding = withFork((fork) => addRoots(fork, { paths: [at('more')] }));
    if (isTaken) assert.equal((await adding).imported.length, 1);
    else await assert.rejects(adding, { code: 'EDQUOT' });
  }
});

it('edits come in where the vault then holds no more than it may, and are taken for edits again', async () => {
  write('project/a', 'a');
  await importVault(request());
  const meta = () => readVaultMeta(access().paths.meta) ?? assert.fail();
  const trunk = meta().trunk.length;
  writeVaultMeta(access().paths.meta, { ...meta(), limits: { maxFileBytes: 100 } });
  write('project/long', 'x'.repeat(101));
  for (let count = 0; count < 2; count += 1) {
    const before = readdirSync(access().paths.layers).length;
    await assert.rejects(
      withFork((fork) => syncFork(fork)),
      { code: 'EDQUOT' },
    );
    assert.deepEqual([readdirSync(access().paths.layers).length, meta().trunk.length], [before, trunk]);
  }
  write('project/long', 'x'.repeat(100));
  assert.deepEqual((await withFork((fork) => syncFork(fork))).entered, ['long']);
  // A file that is there already is not counted again.
  writeVaultMeta(access().paths.meta, { ...meta(), limits: { maxFileBytes: 99 } });
  write('project/short', 'x');
  assert.deepEqual((await withFork((fork) => syncFork(fork))).entered, ['short']);
  const { inodes } = await usageOfVault(access());
  writeVaultMeta(access().paths.meta, { ...meta(), limits: { maxFiles: inodes } });
  write('project/further', 'x');
  await assert.rejects(
    withFork((fork) => syncFork(fork)),
    { code: 'EDQUOT' },
  );
});

it('a vault without a copy links the directory, where it does not hold the store and no owner is shifted', async () => {
  write('project/a', 'a');
  const { vault, problems } = await importVault(request({ uncopied: true }));
  const [layer = ''] = vault.trunk;
  assert.deepEqual(
    [readlinkSync(access().paths.tree(layer, 'workspace')), problems, vault.uncopied],
    [at('project'), [], true],
  );
  assert.deepEqual((await withFork((fork) => syncFork(fork))).entered, []);
  write('project/b', 'b');
  assert.deepEqual((await withFork((fork) => syncFork(fork))).entered, ['b']);
  for (const origin of ['/', at(), at('store')]) {
    const refused = linkOrigin(access(), origin);
    if (origin === at('store')) await refused;
    else await assert.rejects(refused, { code: 'EINVAL' });
  }
  const shifted = { ...access(), owner: { ...owner, shift: 1 } };
  for (const uid of [0, 1000])
    await assert.rejects(linkOrigin({ ...shifted, owner: { ...shifted.owner, uid } }, at('project')), {
      code: 'ENOTSUP',
    });
});
