/** A kept jail beside other disks: it holds what its fork is made of, and no other disk stays busy because it lives. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cannotMountSmallDisk } from '../support/small-disk.js';
import { useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

/** Says `gone` when the last mount of the filesystem is: inotify tells, and holds no mount itself. */
const watch = `use strict; $| = 1; my ($init, $add) = $ARGV[1] eq "arm64" ? (26, 27) : (294, 254);
  my $fd = syscall($init, 0); syscall($add, $fd, $ARGV[0], 0xfff) >= 0 or die "watch: $!"; print "watching\\n";
  $SIG{ALRM} = sub { print "busy\\n"; exit }; alarm 15;
  open(my $events, "<&=", $fd) or die; while (sysread($events, my $bytes, 4096)) {
    my $at = 0; while ($at < length $bytes) { my (undef, $mask, undef, $length) = unpack "lLLL", substr $bytes, $at;
      if ($mask & 0x2000) { print "gone\\n"; exit } $at += 16 + $length } }`;

forEachUser((user) => {
  const stage = useStage(user);

  test('a disk that has nothing to do with it is free once it is unmounted', {
    skip: cannotMountSmallDisk ?? false,
  }, async () => {
    const disk = stage.makeDirectory('disk');
    const project = stage.project('echo one > a');
    const seen = `${stage.directory}/seen`;
    const as = `setpriv --reuid=${user.uid} --regid=${user.gid} --clear-groups`;
    const script = `mount -t tmpfs -o size=1m ctx-test-disk ${disk}; cd ${project}
      ${as} $CTX jail start > /dev/null; trap "${as} $CTX jail stop" EXIT
      ${as} $CTX exec -- sh -c 'echo two > c; cat a'; ${as} $CTX exec -- cat c
      perl -e "$1" ${disk} ${process.arch} > ${seen} &
      until grep -q watching ${seen}; do sleep 0.05; done
      umount ${disk}; wait; cat ${seen}
      ${as} $CTX exec -- cat a c`;
    const argv = ['unshare', '--mount', '--propagation', 'private', 'sh', '-euc', script, 'sh', watch];
    const options = { uid: 0, gid: 0, env: { CTX: stage.program } };
    const { stdout, stderr, code } = await stage.start('/', argv, options).finished;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^one\ntwo\nwatching\ngone\none\ntwo\n/);
  });
});
