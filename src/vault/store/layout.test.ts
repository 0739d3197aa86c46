import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
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
    const { directory: _, ...plain } = paths;
    const main = paths.fork('main');
    const other = paths.fork('other');
    const values = (from: object) => Object.values(from).filter((value) => typeof value === 'string');
    const layered = [paths.layer('7'), paths.tree('7', 'r'), paths.work('7', 'r')];
    const own = [main, other].flatMap((fork) => [...values(fork), fork.scanned('r')]);
    const all = [...values(plain), ...layered, ...own, paths.scan('r'), paths.edits(3)];
    for (const path of all) assert.ok(path.startsWith('/store/vault/id/'), path);
    assert.equal(new Set(all).size, all.length);
    for (const path of values(other)) assert.ok(!path.startsWith(`${main.directory}/`));
    assert.equal(paths.tree('7', 'workspace'), '/store/vault/id/layer/7/workspace');
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
