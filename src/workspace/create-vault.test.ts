import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { VaultMeta } from '../vault/store/vault-meta.js';
import { isVaultName, refusalOf } from './create-vault.js';

describe('the name of a vault', () => {
  it('is never one that another vault is found by', () => {
    for (const name of ['0123456789abcdef', '0000000000000000', 'f'.repeat(16), '1'.repeat(16)]) {
      assert.equal(isVaultName(name), false, name);
    }
    for (const name of ['/srv/app', '.', '..', './app', '~', '', '-', '--all', 'a/b', 'a b', 'a\nb', 'é'])
      assert.equal(isVaultName(name), false, name);
  });

  it('is of letters, digits and four signs, on both sides of its length, and may look like a part of a number', () => {
    const names = ['a', 'api', '9', 'A.b_c+d-e', 'f'.repeat(15), 'f'.repeat(17), 'F'.repeat(16), '0123456789abcdeg'];
    for (const name of [...names, 'x'.repeat(64)]) assert.equal(isVaultName(name), true, name);
    assert.equal(isVaultName('x'.repeat(65)), false);
  });
});

describe('a vault that is there', () => {
  const found = (more: Partial<VaultMeta> = {}) => ({ origin: '/srv/app', ...more }) as VaultMeta;

  it('is taken for the one that is asked for where nothing of it differs, and else refused', () => {
    const limits = { maxBytes: 10, maxFiles: 20 };
    const rows: readonly (readonly [VaultMeta, Parameters<typeof refusalOf>[1], boolean])[] = [
      [found(), {}, true],
      [found({ name: 'api', limits, uncopied: true }), {}, true],
      [found({ name: 'api' }), { name: 'api' }, true],
      [found(), { name: 'api' }, true],
      [found({ name: 'api' }), { name: 'web' }, false],
      [found({ uncopied: true }), { uncopied: true }, true],
      [found({ uncopied: true }), { uncopied: false }, true],
      [found(), { uncopied: true }, false],
      [found({ limits }), { limits }, true],
      [found({ limits }), { limits: { maxBytes: 10 } }, true],
      [found({ limits }), { limits: { maxBytes: 11 } }, false],
      [found({ limits }), { limits: { ...limits, maxFileBytes: 1 } }, false],
      [found(), { limits: { maxBytes: 10 } }, false],
      [found({ name: 'api', limits }), { name: 'api', limits: { maxFiles: 1 } }, false],
    ];
    for (const [there, asked, isTaken] of rows) {
      const refusal = refusalOf(there, asked);
      assert.equal(refusal?.code, isTaken ? undefined : 'EEXIST', JSON.stringify([there, asked]));
    }
  });
});
