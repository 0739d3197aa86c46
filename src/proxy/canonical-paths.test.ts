import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { canonicalAncestor } from '../base/canonical-path.js';
import { hasCode } from '../base/errno.js';
import { canonicalPaths } from './canonical-paths.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-canonical-')));
after(() => rmSync(base, { recursive: true }));
mkdirSync(join(base, 'real/deep'), { recursive: true });
mkdirSync(join(base, 'work'));
writeFileSync(join(base, 'real/file'), '');
symlinkSync('../real/deep', join(base, 'work/link'));
symlinkSync(join(base, 'real/new'), join(base, 'work/dangling'));
symlinkSync('loop', join(base, 'work/loop'));

describe('a path that somebody names', () => {
  it('is resolved as the kernel does: .. after a link is where the link leads', () => {
    const found = canonicalPaths(['link/../file', './/link/', '../real/deep/.'], join(base, 'work'));
    assert.deepEqual(found.paths, [join(base, 'real/file'), join(base, 'real/deep')]);
    assert.deepEqual(found.links, [{ path: join(base, 'work/link'), target: join(base, 'real/deep') }]);
    assert.deepEqual(found.skipped, []);
  });

  it('is skipped where it leads to nothing, also in a circle, and refused where it is none', () => {
    const gone = ['gone', '/no/such', 'work/loop', 'x'.repeat(300)];
    assert.deepEqual(canonicalPaths(gone, base).skipped, gone);
    for (const path of ['', 'a\0b']) {
      assert.throws(
        () => canonicalPaths([path], base),
        (error) => hasCode(error, 'EINVAL'),
      );
    }
  });

  it('is, for a file that is yet to be made, in its deepest directory that exists', () => {
    assert.equal(canonicalAncestor(join(base, 'work/link/a/b')), join(base, 'real/deep/a/b'));
    assert.equal(canonicalAncestor('/no/such/place'), '/no/such/place');
  });

  it('is where a link leads that leads to nothing yet: writing to it makes that', () => {
    assert.equal(canonicalAncestor(join(base, 'work/dangling')), join(base, 'real/new'));
    assert.equal(canonicalAncestor(join(base, 'work/dangling/below')), join(base, 'real/new/below'));
  });
});
