/** Where notes and compiled code are kept: what another user could put there is not believed, and nothing is written through it. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { checkInstallation, ownCacheDirectory, watchInstallation } from './installation.js';

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

describe('a package that was checked', () => {
  const program = `dist/native/${process.arch}/jail`;
  const path = (root: string) => join(root, program);
  const make = () => {
    count += 1;
    const root = join(scratch, `package-${count}`);
    const [files, home] = [['bin/ctx', 'dist/cli/ctx.cjs', program], join(scratch, `home-of-${count}`)];
    for (const file of files) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), file);
    }
    const digests = files.map((file) => [file, createHash('sha256').update(file).digest('hex')]);
    const build = { version: '1', commit: 'c', files: Object.fromEntries(digests) };
    writeFileSync(join(root, 'dist/build.json'), JSON.stringify(build));
    mkdirSync(home, { mode: 0o700 });
    return { root, isWhole: () => checkInstallation('cli', { HOME: home }, root) };
  };
  const other = program.replace('jail', 'evil');
  const changes: Readonly<Record<string, (root: string) => void>> = {
    'is longer': (root) => writeFileSync(path(root), `${other} and more`),
    'was written at another time': (root) => writeFileSync(path(root), other),
    'was written in place, and given its time back': (root) => {
      const { atime, mtime } = statSync(path(root));
      writeFileSync(path(root), other);
      utimesSync(path(root), atime, mtime);
    },
    'is another file, with the time of the first': (root) => {
      const { atime, mtime } = statSync(path(root));
      writeFileSync(`${path(root)}.new`, other);
      utimesSync(`${path(root)}.new`, atime, mtime);
      renameSync(`${path(root)}.new`, path(root));
    },
    'is gone': (root) => rmSync(path(root)),
  };
  for (const [what, change] of Object.entries(changes))
    it(`is refused where a file of it ${what}, by one that stays, too`, () => {
      const { root, isWhole } = make();
      // A whole second: to give a time back takes what is below away.
      utimesSync(path(root), 1_000_000, 1_000_000);
      const isAsChecked = watchInstallation('cli', root);
      assert.deepEqual([isWhole(), isWhole(), isAsChecked()], [true, true, true]);
      change(root);
      assert.throws(isWhole, { code: 'EIO' });
      assert.equal(isAsChecked(), false);
    });
});
