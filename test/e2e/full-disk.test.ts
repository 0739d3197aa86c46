/** A disk that is full, of bytes or of files: said clearly, nothing lost, nothing half done. */
import assert from 'node:assert/strict';
import { chownSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cannotMountSmallDisk, onSmallDisk, overlayWorksOn } from '../support/small-disk.js';
import { useStage } from '../support/stage.js';
import { forEachUser, isRoot } from '../support/users.js';

const skip = cannotMountSmallDisk ?? false;

forEachUser((user) => {
  const stage = useStage(user);

  test('an import that does not fit says ENOSPC and leaves nothing behind', { skip }, async () => {
    const disk = stage.makeDirectory('small-import');
    const project = stage.project('head -c 8000000 /dev/zero | tr "\\0" x > large; echo small > small');
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      'size=3m',
      `cd ${project}; export CTX_DATA=${disk}/store; $CTX exec -- true; echo "code $?"
       du -sk ${disk} | cut -f1; find ${disk} -name large; ls ${disk}/store/trash | wc -l
       $CTX diff; echo "code $?"; mv large ../large; $CTX exec -- cat small; echo "code $?"; mv ../large .`,
    );
    assert.match(stderr, /^ctx: tree copy .*no space is left on the device \(ENOSPC\)/);
    assert.match(stdout, /^code 1\n\d{1,3}\n0\ncode 1\nsmall\ncode 0\n$/, stderr);
  });

  const fill = 'echo kept > kept; cat /dev/zero > large; echo "ended $?"; echo more > more';

  test('a command that fills the disk is told so itself, and drop makes room again', { skip }, async (context) => {
    const disk = stage.makeDirectory('small-store');
    if (!(await overlayWorksOn(stage, disk))) return context.skip('this kernel has no overlay on tmpfs');
    const project = stage.project('echo small > small');
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      'size=4m',
      `cd ${project}; export CTX_DATA=${disk}/store; $CTX exec -- true; $CTX exec -- sh -c '${fill}'
       $CTX diff --json >/dev/null; echo "code $?"; $CTX drop; echo "code $?"; $CTX exec -- cat small; echo "code $?"`,
    );
    assert.match(stderr, /No space left on device/);
    assert.equal(stdout, 'ended 1\ncode 0\ndropped 3 changes\ncode 0\nsmall\ncode 0\n', stderr);
  });

  test('where one of a group fills the disk the others go on, and it is all of its own doing', {
    skip,
  }, async (context) => {
    const disk = stage.makeDirectory('disk-of-group');
    if (!(await overlayWorksOn(stage, disk))) return context.skip('no overlay on a tmpfs here');
    const project = stage.project('echo base > a');
    const script = `cd ${project}; export CTX_DATA=${disk}/store
      $CTX exec -- sh -c 'echo 1 > one; until test -e stop; do sleep 0.02; done; echo 2 >> one' & first=$!
      $CTX exec -- sh -c 'until test -e one; do sleep 0.02; done; dd if=/dev/zero of=fill bs=64k 2> /dev/null; echo "dd $?"; rm fill'
      $CTX exec -- sh -c 'touch stop'; echo "touch $?"; wait $first; echo "first $?"; $CTX exec -- cat one`;
    const { stdout, stderr } = await onSmallDisk(stage, disk, 'size=16m', script);
    assert.equal(stdout, 'dd 1\ntouch 0\nfirst 0\n1\n2\n', stderr);
  });

  test('the report of a command that fills the disk still comes', { skip }, async (context) => {
    const disk = stage.makeDirectory('small-report');
    if (!(await overlayWorksOn(stage, disk))) return context.skip('this kernel has no overlay on tmpfs');
    const project = stage.project();
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      'size=4m',
      `cd ${project}; export CTX_DATA=${disk}/store; $CTX exec -- true
       $CTX exec --report always -- sh -c '${fill}; exit 7'; echo "code $?"`,
    );
    assert.match(stderr, /A kept.*A large/s);
    assert.equal(stdout, 'ended 1\ncode 7\n');
  });

  test('nothing new begins on a full disk, and how things ended is in the record nevertheless', {
    skip,
  }, async (context) => {
    const disk = stage.makeDirectory('small-record');
    if (!(await overlayWorksOn(stage, disk))) return context.skip('this kernel has no overlay on tmpfs');
    const project = stage.project();
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      'size=4m',
      `cd ${project}; export CTX_DATA=${disk}/store; $CTX exec -- true; $CTX exec -- sh -c '${fill}; exit 7' 2>/dev/null; echo "code $?"
       $CTX exec -- true; echo "code $?"; $CTX audit query --json --status failed --type exec | grep -c '"exitCode":7'
       $CTX audit verify | grep intact; $CTX drop; $CTX exec -- true; echo "code $?"; $CTX audit verify | grep intact`,
    );
    // Whatever is written first finds no room: the fork's state or the record.
    assert.match(stderr, /no space (?:is )?left.*\(ENOSPC\)\n.*make room on the filesystem/);
    const holds = 'The record is intact.\n';
    assert.equal(stdout, `ended 1\ncode 7\ncode 1\n1\n${holds}dropped 3 changes\ncode 0\n${holds}`, stderr);
  });

  test('apply onto a full disk leaves every file old or new, and can be repeated when there is room', {
    skip,
  }, async () => {
    const disk = stage.makeDirectory('small-project');
    const files = 'a b c d e';
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      'size=3m',
      `mkdir ${disk}/p; cd ${disk}/p; for f in ${files}; do echo old > $f; done; echo x > z; export CTX_DATA=${stage.directory}/roomy-${user.uid}
       $CTX exec -- sh -c 'for f in ${files}; do (echo new; head -c 400000 /dev/zero) > $f; done; rm z'
       head -c 2000000 /dev/zero > ../ballast
       $CTX apply; echo "code $?"
       for f in ${files}; do echo "$(head -c 3 $f) $(stat -c %s $f)"; done | sort -u; ls -A | tr '\\n' ' '; echo
       rm ../ballast; $CTX apply; echo "code $?"; for f in ${files}; do stat -c %s $f; done | sort -u; ls -A | tr '\\n' ' '; $CTX diff`,
    );
    assert.match(stderr, /\(ENOSPC\)/);
    assert.match(
      stdout,
      /^code 1\n(new 400004\n)?old 4\n(a b c d e|a b c d e z) \napplied \d changes\ncode 0\n400004\na b c d e $/,
      stderr,
    );
  });

  const canRefuse = user.uid !== 0 && isRoot ? false : 'needs a user whom a file of root refuses, and root to make it';

  test('a store that cannot be tidied up makes no failure of an apply that is done', {
    skip: canRefuse,
  }, async () => {
    const project = stage.project('echo old > a');
    const trash = join(stage.store, 'trash');
    await stage.inside(project, 'echo new > a; echo new > b');
    chownSync(trash, 0, 0);
    try {
      const elsewhere = await stage.ctx(project, ['apply', '--to', stage.project('echo old > a')]);
      assert.equal(elsewhere.code, 0, elsewhere.stderr);
      const applied = await stage.ctx(project, ['apply', '--wait']);
      assert.deepEqual([applied.code, applied.stdout], [0, 'applied 2 changes\n'], applied.stderr);
      assert.match(applied.stderr, /^ctx: done, but the store could not be tidied up: .*\(EACCES\); run ctx gc/);
      assert.equal(stage.shell(project, 'cat a b'), 'new\nnew\n');
    } finally {
      chownSync(trash, user.uid, user.gid);
    }
    const { faults } = await stage.json(project, ['fsck']);
    assert.deepEqual(faults, []);
    assert.match((await stage.ctx(project, ['gc'])).stdout, /^[1-9]\d* layers deleted/);
  });

  const fillWithFiles =
    'echo kept > kept; i=0; while (: > many$i) 2>/dev/null; do i=$((i + 1)); done; echo "ended, $((i > 50))"; touch more; exit 7';

  test('a command that uses up all inodes is told so itself and reported, and drop makes room again', {
    skip,
  }, async (context) => {
    const disk = stage.makeDirectory('few-inodes');
    if (!(await overlayWorksOn(stage, disk))) return context.skip('this kernel has no overlay on tmpfs');
    const project = stage.project('echo small > small');
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      'size=64m,nr_inodes=600',
      `cd ${project}; export CTX_DATA=${disk}/store; $CTX exec -- true
       $CTX exec --report always -- sh -c '${fillWithFiles}'; echo "code $?"
       df --output=iavail ${disk} | tail -1 | tr -d ' '
       $CTX diff --names | grep -c 'A kept'; $CTX exec -- true; echo "code $?"
       $CTX drop | sed 's/[0-9][0-9]*/many/'; $CTX exec -- cat small; echo "code $?"; $CTX audit verify | grep intact; $CTX fsck; echo "code $?"`,
    );
    assert.match(stderr, /more.*No space left on device/);
    assert.match(stderr, /A kept.*A many0/s);
    assert.match(stderr, /\(ENOSPC\)/, 'nothing new begins there');
    const after =
      'dropped many changes\nsmall\ncode 0\nThe record is intact.\nstore format 2: 1 vault, 0 faults\ncode 0\n';
    assert.equal(stdout, `ended, 1\ncode 7\n0\n1\ncode 1\n${after}`, stderr);
  });

  test('an import for which there are too few inodes says ENOSPC and leaves nothing behind', { skip }, async () => {
    const disk = stage.makeDirectory('few-inodes-import');
    const project = stage.project('mkdir many; cd many; seq 800 | xargs touch');
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      'size=64m,nr_inodes=300',
      `cd ${project}; export CTX_DATA=${disk}/store; $CTX exec -- true; echo "code $?"
       find ${disk} -path '*many*' | wc -l; mv many ../many-away; echo small > small; $CTX exec -- cat small; echo "code $?"`,
    );
    assert.match(stderr, /^ctx: tree copy .*no space is left on the device \(ENOSPC\)/);
    assert.equal(stdout, 'code 1\n0\nsmall\ncode 0\n', stderr);
  });
});
