/** Where notes and compiled code are kept: what another user could put there is not believed, and nothing is written through it. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ownCacheDirectory } from './installation.js';

const scratch = mkdtempSync(join(tmpdir(), 'ctx-cache-test-'));
after(() => rmSync(scratch, { recursive: true }));

const isRoot = process.geteuid?.() === 0;
let count = 0;

/** A home with a cache of ours, then changed. */
function foundAfter(change: (home: string) => void): string | undefined {
  count += 1;
  const home = join(scratch, `home-${count}`);
  mkdirSync(join(home, '.cache', 'ctxfs'), { recursive: true, mode: 0o700 });
  change(home);
  return ownCacheDirectory({ HOME: home })?.slice(home.length);
}

describe('the cache of a user', () => {
  it('is used where it and all above is their own, made or not', () => {
    assert.equal(
      foundAfter(() => undefined),
      '/.cache/ctxfs',
    );
    assert.equal(
      foundAfter((home) => rmSync(join(home, '.cache'), { recursive: true })),
      '/.cache/ctxfs',
    );
    assert.equal(
      foundAfter((home) => {
        mkdirSync(join(home, 'disk'), { mode: 0o700 });
        rmSync(join(home, '.cache'), { recursive: true });
        symlinkSync('disk', join(home, '.cache'));
      }),
      '/.cache/ctxfs',
      'behind a link of their own',
    );
    assert.equal(ownCacheDirectory({}), undefined);
    assert.equal(ownCacheDirectory({ HOME: scratch, XDG_CACHE_HOME: 'here' }), join(scratch, '.cache', 'ctxfs'));
  });

  it('is not where others may write it, or a directory above', () => {
    for (const name of ['', '.cache', '.cache/ctxfs']) {
      assert.equal(
        foundAfter((home) => chmodSync(join(home, name), 0o707)),
        undefined,
        name,
      );
    }
    assert.equal(
      foundAfter((home) => chmodSync(join(home, '.cache/ctxfs'), 0o1777)),
      undefined,
      'sticky is no use for what is in it',
    );
    assert.equal(
      foundAfter((home) => {
        mkdirSync(join(home, 'open'), { mode: 0o700 });
        chmodSync(join(home, 'open'), 0o777);
        rmSync(join(home, '.cache'), { recursive: true });
        symlinkSync('open', join(home, '.cache'));
      }),
      undefined,
      'behind a link',
    );
  });

  it('is not where it is another user’s, as of the user whose HOME root has', {
    skip: isRoot ? false : 'needs root, to give a directory away',
  }, () => {
    for (const name of ['', '.cache', '.cache/ctxfs']) {
      assert.equal(
        foundAfter((home) => chownSync(join(home, name), 64_731, 64_731)),
        undefined,
        name,
      );
    }
  });
});
