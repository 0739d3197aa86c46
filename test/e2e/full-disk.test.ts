/** A disk that is full: said clearly, nothing lost, nothing half done. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import type { Finished } from '../support/process.js';
import { type Stage, useStage } from '../support/stage.js';
import { forEachUser, isRoot } from '../support/users.js';

function reasonToSkip(): string | false {
  if (!isRoot) return 'needs root to mount a small disk';
  const missing = ['unshare', 'setpriv'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return missing.length > 0 && `${missing.join(' and ')} not installed`;
}

const skip = reasonToSkip();

/** Runs a script as the user, with a tmpfs of `size` at `directory`, in a mount namespace that ends with it. */
function onSmallDisk(stage: Stage, directory: string, size: string, script: string): Promise<Finished> {
  const { uid, gid } = stage.user;
  const mount = `mount -t tmpfs -o size=${size},mode=755,uid=${uid},gid=${gid} ctx-test-disk "$1"`;
  const enter = `${mount}; exec setpriv --reuid=${uid} --regid=${gid} --clear-groups sh -uc "$2"`;
  const argv = ['unshare', '--mount', '--propagation', 'private', 'sh', '-euc', enter, 'sh', directory, script];
  return stage.start('/', argv, { uid: 0, gid: 0, env: { CTX: stage.program } }).finished;
}

forEachUser((user) => {
  const stage = useStage(user);

  /** Overlay on tmpfs wants user.* attributes there, which kernels before 6.6 do not have. */
  async function overlayWorksHere(directory: string): Promise<boolean> {
    const { stdout } = await onSmallDisk(stage, directory, '4m', `CTX_DATA=${directory}/store $CTX doctor --json`);
    return (JSON.parse(stdout) as { ready: boolean }).ready;
  }

  test('an import that does not fit says ENOSPC and leaves nothing behind', { skip }, async () => {
    const disk = stage.makeDirectory('small-import');
    const project = stage.project('head -c 8000000 /dev/zero | tr "\\0" x > large; echo small > small');
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      '3m',
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
    if (!(await overlayWorksHere(disk))) return context.skip('this kernel has no overlay on tmpfs');
    const project = stage.project('echo small > small');
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      '4m',
      `cd ${project}; export CTX_DATA=${disk}/store; $CTX exec -- true; $CTX exec -- sh -c '${fill}'
       $CTX diff --json >/dev/null; echo "code $?"; $CTX drop; echo "code $?"; $CTX exec -- cat small; echo "code $?"`,
    );
    assert.match(stderr, /No space left on device/);
    assert.equal(stdout, 'ended 1\ncode 0\ndropped 3 changes\ncode 0\nsmall\ncode 0\n', stderr);
  });

  test('the report of a command that fills the disk still comes', { skip }, async (context) => {
    const disk = stage.makeDirectory('small-report');
    if (!(await overlayWorksHere(disk))) return context.skip('this kernel has no overlay on tmpfs');
    const project = stage.project();
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      '4m',
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
    if (!(await overlayWorksHere(disk))) return context.skip('this kernel has no overlay on tmpfs');
    const project = stage.project();
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      '4m',
      `cd ${project}; export CTX_DATA=${disk}/store; $CTX exec -- true; $CTX exec -- sh -c '${fill}; exit 7' 2>/dev/null; echo "code $?"
       $CTX exec -- true; echo "code $?"; $CTX audit query --json --status failed --type exec | grep -c '"exitCode":7'
       $CTX audit verify | grep holds; $CTX drop; $CTX exec -- true; echo "code $?"; $CTX audit verify | grep holds`,
    );
    assert.match(stderr, /no space is left.*\(ENOSPC\)/);
    const holds = 'The record holds.\n';
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
      '3m',
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
});
