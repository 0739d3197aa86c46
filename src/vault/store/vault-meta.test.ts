import assert from 'node:assert/strict';
import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { hasCode } from '../../base/errno.js';
import { readVaultMeta, type VaultMeta, writeVaultMeta } from './vault-meta.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-vault-meta-'));
after(() => rmSync(directory, { recursive: true }));
const path = join(directory, 'meta.json');

const sound: VaultMeta = {
  format: 2,
  origin: '/home/ada/project',
  created: '2026-01-01T00:00:00.000Z',
  roots: { workspace: '/home/ada/project', '0123abcd': '/data' },
  trunk: ['0', '2-a', '10'],
  position: 11,
  current: 'main',
};

function readText(text: string): VaultMeta | undefined {
  writeFileSync(path, text);
  return readVaultMeta(path);
}

const isRefused = (error: unknown) => hasCode(error, 'EIO');

describe("a vault's own file", () => {
  it('is read as it was written, and nothing is left beside it', () => {
    writeVaultMeta(path, sound);
    assert.deepEqual(readVaultMeta(path), sound);
    writeVaultMeta(path, { ...sound, name: 'api' });
    assert.equal(readVaultMeta(path)?.name, 'api');
    writeVaultMeta(path, { ...sound, name: undefined });
    assert.deepEqual(readVaultMeta(path), sound);
    assert.deepEqual(readdirSync(directory), ['meta.json']);
  });

  it('is absent where there is none', () => {
    assert.equal(readVaultMeta(join(directory, 'none.json')), undefined);
  });

  it('is refused when it is cut short anywhere', () => {
    const text = JSON.stringify(sound);
    for (let length = 0; length < text.length; length += 1) {
      assert.throws(() => readText(text.slice(0, length)), isRefused, text.slice(0, length));
    }
  });

  it('keeps the last synced version beside it, also where the write after that failed and is tried again', () => {
    const beside = join(directory, 'meta.synced.json');
    try {
      writeVaultMeta(path, sound);
      linkSync(path, beside);
      for (const boot of ['one', undefined, 'two', 'two']) writeVaultMeta(path, { ...sound, boot });
      assert.deepEqual(readdirSync(directory).sort(), ['meta.json', 'meta.synced.json']);
      assert.deepEqual(JSON.parse(readFileSync(beside, 'utf8')), sound);
    } finally {
      rmSync(beside, { force: true });
    }
  });

  it('is refused when a member is missing, of another type, or says what cannot be', () => {
    const damage: readonly (readonly [keyof VaultMeta, unknown])[] = [
      ...(['format', 'origin', 'created', 'roots', 'trunk', 'position', 'current'] as const).flatMap((name) =>
        [undefined, null, true, {}].map((value) => [name, value] as const),
      ),
      ['format', 1],
      ['format', 3],
      ['trunk', []],
      ['trunk', ['0', '0']],
      ['trunk', ['../../../etc']],
      ['trunk', ['a,upperdir=b']],
      ['trunk', ['a:b']],
      ['trunk', [0]],
      ['roots', { workspace: '/elsewhere' }],
      ['roots', { workspace: '/home/ada/project', '../x': '/data' }],
      ['roots', { workspace: '/home/ada/project', abc: 'data' }],
      ['position', -1],
      ['position', 10.5],
      ['current', '../main'],
      ['current', ''],
      ['name', 7],
    ];
    for (const [name, value] of damage) {
      assert.throws(() => readText(JSON.stringify({ ...sound, [name]: value })), isRefused, `${name}: ${value}`);
    }
  });

  it('is refused when it is any other JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        assert.throws(() => readText(text), isRefused);
      }),
      seeded(100),
    );
  });
});
