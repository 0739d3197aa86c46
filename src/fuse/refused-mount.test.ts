/** What helps where fusermount3 refuses, by its own words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountRemedy } from './refused-mount.js';

test('what is to be done is about what was refused, and not to install what is there', () => {
  for (const [text, remedy] of [
    ['could not determine username', /uid 77 in \/etc\/passwd/],
    ['user has no write access to mountpoint /mnt', /directory of your own/],
    ['too many FUSE filesystems mounted; mount_max=1000 can be set in /etc/fuse.conf', /unmount others/],
    ['mounting over filesystem type 0x09041934 is forbidden', /another filesystem/],
    ['bad mount point /mnt: No such file or directory', /directory that is there/],
    ["option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf", /user_allow_other to/],
    ["fuse device not found, try 'modprobe fuse' first", /modprobe/],
    ['failed to open /dev/fuse: Permission denied', /who may open \/dev\/fuse/],
    ['mount failed: Operation not permitted', /set-user-ID/],
    ['mount failed: Invalid argument', /^ctx doctor/],
    ['', /^ctx doctor/],
  ] as const) {
    assert.match(mountRemedy(text, 77), remedy, text);
    assert.doesNotMatch(mountRemedy(text, 77), /install/, text);
  }
});
