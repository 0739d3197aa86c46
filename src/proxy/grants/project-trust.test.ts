/** What of a project's file is read at all, before anybody is asked about it. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import { storePaths, vaultId } from '../../vault/store/layout.js';
import { projectAt, projectFileName, readProject, storeConfirmed } from './project-trust.js';

describe('a project’s file', () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-trust-')));
  after(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, '.ctx'));
  const store = { directory: join(directory, 'store') } as Parameters<typeof projectAt>[0]['store'];
  const put = (bytes: Buffer | string) => writeFileSync(join(directory, projectFileName), bytes);

  it('is text, byte for byte: two that are no UTF-8 would read alike, and have one digest', () => {
    put('# \u00ff\n');
    assert.match(readProject(directory)?.digest ?? '', /^[0-9a-f]{64}$/);
    for (const byte of [0xfe, 0xff]) {
      put(Buffer.from([0x23, byte, 0x0a]));
      const isRefused = (error: unknown) => error instanceof ErrnoError && error.code === 'EINVAL';
      assert.throws(() => readProject(directory), isRefused);
      assert.deepEqual(projectAt({ store }, directory), {
        kind: 'unconfirmed',
        digest: null,
        reason: 'expected UTF-8',
      });
    }
  });

  it('counts where it was confirmed, after another start of the machine too, and at no other directory with its number', () => {
    put('');
    const digest = readProject(directory)?.digest ?? '';
    storeConfirmed({ store }, directory, digest, { network: [], reads: [], environment: [], secrets: [], quota: {} });
    const path = join(storePaths(store.directory).trusted, `${vaultId(directory)}.json`);
    const record = JSON.parse(readFileSync(path, 'utf8')) as { identity: string; boot: string };
    const kindWith = (changed: object) => {
      writeFileSync(path, JSON.stringify({ ...record, ...changed }));
      return projectAt({ store }, directory).kind;
    };
    const inode = record.identity.slice(record.identity.indexOf(':') + 1);
    // Of a disk, whose number is another one after the next start alone.
    const elsewhere = { identity: `${0x801}:${inode}` };
    assert.deepEqual(
      [kindWith({}), kindWith(elsewhere), kindWith({ ...elsewhere, boot: 'earlier' })],
      ['confirmed', 'unconfirmed', 'confirmed'],
    );
    assert.equal(kindWith({ identity: `${record.identity}1` }), 'unconfirmed');
  });
});
