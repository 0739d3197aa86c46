import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { refuseOpenAncestors } from './store-ancestors.js';

const isRoot = process.getuid?.() === 0;
const own = process.getuid?.() ?? 0;
const top = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-ancestors-')));
after(() => rmSync(top, { recursive: true, force: true }));
const above = join(top, 'above');
const below = join(above, 'below');
mkdirSync(below, { recursive: true });
/** Root's, or the user's own by its number: another name is for /etc/group to say. */
const hasOwnGroup = [0, own].includes(statSync(above).gid);

const refuses = (place: string, uid = own) => {
  try {
    refuseOpenAncestors(place, uid);
    return false;
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'EACCES');
    return true;
  }
};

test('a store is refused below what others may write, at any height and before it is there', () => {
  for (let mode = 0o700; mode <= 0o777; mode += 1) {
    if (!hasOwnGroup && (mode & 0o020) !== 0) continue;
    for (const sticky of [0, 0o1000]) {
      chmodSync(above, mode | sticky);
      const isOpen = (mode & 0o002) !== 0 && sticky === 0;
      for (const place of [join(above, 'store'), join(below, 'store'), join(below, 'not', 'there', 'store')])
        assert.equal(refuses(place), isOpen, `${(mode | sticky).toString(8)} ${place}`);
      assert.equal(refuses(above), false, 'what is above the place is asked, not the place');
    }
  }
});

test('a store is refused below what is another user’s, or a group’s', { skip: !isRoot && 'only root can' }, () => {
  const [user, other, group] = [64_731, 64_732, 64_733];
  for (const [uid, gid, mode, isRefused] of [
    [0, 0, 0o755, false],
    [0, 0, 0o775, false],
    [user, user, 0o700, false],
    [user, user, 0o775, false],
    [user, group, 0o755, false],
    [user, group, 0o775, true],
    [user, group, 0o1775, false],
    [0, group, 0o775, true],
    [0, user, 0o775, true],
    [other, other, 0o755, true],
    [other, other, 0o700, true],
    [other, user, 0o1755, true],
    [other, 0, 0o1777, true],
  ] as const) {
    chownSync(above, uid, gid);
    chmodSync(above, mode);
    assert.equal(refuses(join(below, 'store'), user), isRefused, `${uid}:${gid} ${mode.toString(8)}`);
  }
});
