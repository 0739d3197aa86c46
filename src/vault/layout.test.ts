import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { storePaths, vaultId, vaultPaths } from './layout.js';

describe('the layout of the store', () => {
  it('finds a vault by the path of its directory alone, always the same', () => {
    // Changing this would lose every vault there is.
    assert.equal(vaultId('/home/ada/project'), '6bfafd9246cffa82');
  });

  it('gives every directory a name of its own that is safe anywhere', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        assert.match(vaultId(one), /^[0-9a-f]{16}$/);
        assert.equal(vaultId(one) === vaultId(other), one === other);
      }),
      seeded(200),
    );
  });

  it('puts everything of a vault below the vault, and nothing of one fork into another', () => {
    const paths = vaultPaths('/store', 'id');
    const { fork, gitIndex, layer, ...rest } = paths;
    const all = [...Object.values(rest), layer('7'), ...Object.values(fork), ...Object.values(gitIndex)];
    for (const path of all) assert.ok(path === '/store/vault/id' || path.startsWith('/store/vault/id/'), path);
    assert.equal(new Set(all).size, all.length);
    for (const path of Object.values(fork)) assert.ok(!path.startsWith(gitIndex.directory));
    assert.equal(layer('7'), '/store/vault/id/layer/7');
  });

  it('keeps trash and vaults in one directory, so that throwing away is one rename', () => {
    const { meta, record, vaults, trash } = storePaths('/store');
    assert.deepEqual(
      { meta, record, vaults, trash },
      {
        meta: '/store/meta.json',
        record: '/store/record',
        vaults: '/store/vault',
        trash: '/store/trash',
      },
    );
  });
});
