/** A filesystem that is mounted inside a tree is somebody else's: what ends the tree stops there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { type Refusal, refusing } from '../../../test/support/refuse-bits.js';
import { freshPlace, program } from './tree-fixture.js';

const place = freshPlace();
const own = ['--user', '--map-root-user', '--mount'];
const skip =
  spawnSync('unshare', [...own, 'true']).status === 0 ? false : 'this user may make no namespace of its own here';

const hosts: Readonly<Record<string, readonly Refusal[]>> = {
  '': [],
  ', on a host without openat2': [['openat2', 0, '0', constants.errno.ENOSYS]],
};

describe('a mount inside a tree that is deleted', { skip }, () => {
  for (const [kind, mount] of [
    ['another filesystem', 'mount -t tmpfs none top/deep/here'],
    ['a bind of the same filesystem', 'mount --bind elsewhere top/deep/here'],
  ] as const) {
    for (const [host, refusals] of Object.entries(hosts)) {
      // Without openat2 other filesystems alone are recognised.
      if (refusals.length > 0 && mount.includes('--bind')) continue;
      it(`keeps what it holds: ${kind}${host}`, () => {
        place.write('top/deep/here/below');
        place.write('elsewhere/kept');
        const script = `cd "$1"; shift; ${mount} && echo kept > top/deep/here/kept &&
          { "$@" delete top 2>&1; echo "ended $?"; cat top/deep/here/kept; }`;
        const words = [...own, 'sh', '-c', script, 'sh', place.at(), ...refusing(place.at(), refusals), program];
        const { stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8' });
        assert.match(stdout, /EBUSY.*ended 1\nkept\n$/s, stderr);
      });
    }
  }
});
