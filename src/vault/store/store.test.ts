import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { hasCode } from '../../base/errno.js';
import { isOlderStore, openStore } from './store.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-store-'));
after(() => rmSync(base, { recursive: true }));
let count = 0;
let directory = '';
beforeEach(() => {
  count += 1;
  directory = join(base, String(count), 'deeper', 'store');
});

describe('the store', () => {
  it('is made on first use, for its owner alone', () => {
    const store = openStore(directory);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    assert.equal(statSync(join(directory, 'meta.json')).mode & 0o777, 0o600);
    assert.deepEqual(
      [store.directory, store.device, store.inode],
      [directory, statSync(directory).dev, statSync(directory).ino],
    );
  });

  it('is opened again as it is', () => {
    openStore(directory);
    const text = readFileSync(join(directory, 'meta.json'), 'utf8');
    openStore(directory);
    assert.equal(readFileSync(join(directory, 'meta.json'), 'utf8'), text);
  });

  it('says the profile its layers are written in', () => {
    openStore(directory);
    const { overlay } = JSON.parse(readFileSync(join(directory, 'meta.json'), 'utf8'));
    assert.match(overlay, /^userxattr,index=off,redirect_dir=nofollow,metacopy=off$/);
  });

  it('is refused when it has another format or profile, and is not touched', () => {
    openStore(directory);
    const meta = join(directory, 'meta.json');
    const sound = JSON.parse(readFileSync(meta, 'utf8'));
    const others = [
      [{ ...sound, format: 3 }, /newer ctx: its format is 3, and this ctx knows 2/],
      [{ ...sound, format: 0 }, /expected format 2/],
      [{ ...sound, format: 1, overlay: 'index=on' }, /expected format 2/],
      [{ ...sound, overlay: 'index=on' }, /overlay profile/],
      [{ ...sound, format: '3' }, /expected format 2/],
      [{}, /expected format 2/],
      [[], /expected format 2/],
      [null, /expected format 2/],
      ['x', /expected format 2/],
      [1, /expected format 2/],
    ] as const;
    for (const [other, reason] of others) {
      const text = JSON.stringify(other);
      writeFileSync(meta, text);
      assert.throws(
        () => openStore(directory),
        (error) => hasCode(error, 'EINVAL') && reason.test((error as Error).message),
        text,
      );
      assert.equal(readFileSync(meta, 'utf8'), text);
    }
  });

  it('of an older format, or cut off while it was migrated, is left to the migration', () => {
    openStore(directory);
    const meta = join(directory, 'meta.json');
    const sound = JSON.parse(readFileSync(meta, 'utf8'));
    for (const other of [
      { ...sound, format: 1 },
      { ...sound, migrating: 1 },
    ]) {
      writeFileSync(meta, JSON.stringify(other));
      assert.throws(() => openStore(directory), isOlderStore);
    }
  });

  it('is refused when its file is damaged', () => {
    openStore(directory);
    writeFileSync(join(directory, 'meta.json'), '{"format":1,');
    assert.throws(
      () => openStore(directory),
      (error) => hasCode(error, 'EIO'),
    );
  });

  it('says how to choose another place where it cannot be made', () => {
    mkdirSync(join(base, String(count)), { recursive: true });
    writeFileSync(join(base, String(count), 'deeper'), '');
    assert.throws(
      () => openStore(directory),
      (error) => hasCode(error, 'ENOTDIR') && /CTX_DATA/.test((error as { remedy?: string }).remedy ?? ''),
    );
  });

  it('leaves the mode of a directory that was there before', () => {
    mkdirSync(directory, { recursive: true });
    chmodSync(directory, 0o750);
    openStore(directory);
    assert.equal(statSync(directory).mode & 0o777, 0o750);
    assert.ok(existsSync(join(directory, 'trash')));
  });
});
