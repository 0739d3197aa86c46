/** A filesystem that is mounted inside a tree is somebody else's: what ends the tree stops there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { freshPlace, program } from './tree-fixture.js';

const place = freshPlace();
const own = ['--user', '--map-root-user', '--mount'];
const skip =
  spawnSync('unshare', [...own, 'true']).status === 0 ? false : 'this user may make no namespace of its own here';

describe('a mount inside a tree that is deleted', { skip }, () => {
  for (const [kind, mount] of [
    ['another filesystem', 'mount -t tmpfs none "$1/top/deep/here"'],
    ['a bind of the same filesystem', 'mount --bind "$1/elsewhere" "$1/top/deep/here"'],
  ] as const) {
    it(`keeps what it holds: ${kind}`, () => {
      place.write('top/deep/here/below');
      place.write('elsewhere/kept');
      const script = `${mount} && echo kept > "$1/top/deep/here/kept" && { "$2" delete "$1/top" 2>&1; echo "ended $?"; cat "$1/top/deep/here/kept"; }`;
      const { stdout, stderr } = spawnSync('unshare', [...own, 'sh', '-c', script, 'sh', place.at(), program], {
        encoding: 'utf8',
      });
      assert.match(stdout, /EBUSY.*ended 1\nkept\n$/s, stderr);
    });
  }
});
