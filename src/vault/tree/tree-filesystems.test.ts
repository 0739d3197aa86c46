/** Trees on more than one filesystem, and on one that cannot keep what it is given. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { freshPlace, isRoot, program } from './tree-fixture.js';

const place = freshPlace();
const own = ['--user', '--map-root-user', '--mount'];
const skip =
  spawnSync('unshare', [...own, 'true']).status === 0 ? false : 'this user may make no namespace of its own here';

/** A script in a mount namespace of its own; `$1` is the place, `$2` the program. */
function run(script: string, namespaces = own): string {
  const words = [...namespaces, 'sh', '-euc', script, 'sh', place.at(), program];
  const { status, stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
  return stdout;
}

describe('files with further names on two filesystems', { skip }, () => {
  // Both number their files from the same beginning.
  const twoFilesystems = `mkdir -p "$1/origin/a" "$1/origin/b"; cd "$1/origin"
    for each in a b; do
      mount -t tmpfs none $each; echo "of $each" > $each/one; ln $each/one $each/two
    done
    test $(stat -c %i a/one) = $(stat -c %i b/one); cd "$1"`;
  const shows = (tree: string) => `cat ${tree}/a/one ${tree}/a/two ${tree}/b/one ${tree}/b/two
    stat -c %h ${tree}/a/one ${tree}/b/two; test $(stat -c %i ${tree}/a/one) != $(stat -c %i ${tree}/b/one)`;
  const expected = 'of a\nof a\nof b\nof b\n2\n2\n';

  it('are two files in a copy', () => {
    assert.equal(run(`${twoFilesystems}; "$2" copy origin trunk --out signatures; ${shows('trunk')}`), expected);
  });

  it('are counted as two files', () => {
    const [, inodes, unseen, files] = run(`${twoFilesystems}; "$2" usage --layer origin/a origin/b`).split('\0');
    assert.deepEqual([inodes, unseen, files], ['2', '0', '2']);
  });

  it('are two files in a mirror', () => {
    const paths = "printf 'a/one\\0a/two\\0b/one\\0b/two\\0'";
    assert.equal(run(`${twoFilesystems}; ${paths} | "$2" mirror origin --into kept; ${shows('kept')}`), expected);
  });
});

describe('the directory of a person', { skip }, () => {
  it('is not the topmost of another filesystem that came in its place', () => {
    const known = `cd "$1"; mkdir root; mount -t tmpfs none root; known=$(stat -c %d:%i root); number=$(stat -c %i root)`;
    const asked = '"$2" sync "$1/root" --known "$known:$1/root"';
    assert.equal(run(`${known}; ${asked}; umount root; rmdir root`), '');
    const replaced = `mount -t tmpfs none root; test $(stat -c %i root) = $number; ${asked} 2>&1 || true`;
    assert.match(run(`${known}; ${replaced}`), /ESTALE/);
  });
});

describe('a list of rights', { skip }, () => {
  /** u::rw, u:0:rw, g::---, m::rw, o::---. The bits of the group are those of the mask. */
  const list = '0x0200000001000600ffffffff020006000000000004000000ffffffff10000600ffffffff20000000ffffffff';
  const origin = `cd "$1"; mkdir origin kept; for each in listed plain; do echo x > origin/$each; chmod 660 origin/$each; done
    setfattr -n system.posix_acl_access -v ${list} origin/listed`;
  const mirrored = `printf 'listed\\0plain\\0' | "$2" mirror origin --into kept/layer; stat -c %a kept/layer/listed kept/layer/plain`;

  it('is kept beside the copy, which has the mode', () => {
    const said = run(`${origin}; ${mirrored}; getfattr -e hex -n user.ctxfs.access kept/layer/listed`);
    assert.match(said, /^660\n660\n/);
    assert.ok(said.includes(`user.ctxfs.access=${list}`), said);
  });

  it('that the store cannot keep takes the rights of the group along', () => {
    // Without attributes of any kind.
    assert.equal(run(`${origin}; mount -t ramfs none kept; ${mirrored}`), '600\n660\n');
  });
});

describe('signatures on a full disk', { skip }, () => {
  it('stay those of the last walk, and nothing is left beside them', () => {
    const first = `cd "$1"; mkdir origin store; mount -t tmpfs -o size=64k none store; echo x > origin/a
      "$2" scan origin --out store/signatures; cp store/signatures before`;
    const full = `seq -f origin/file-with-a-name-%g 400 | xargs touch; head -c 1m /dev/zero > store/filler 2>/dev/null || true
      "$2" scan origin --out store/signatures 2>&1 || true; cmp before store/signatures; ls store`;
    const said = run(`${first}; ${full}`);
    assert.match(said, /ENOSPC/);
    assert.match(said, /\0filler\nsignatures\n$/);
  });
});

describe('a filesystem that keeps whole seconds', () => {
  const image = `cd "$1"; mkdir origin; truncate -s 8M image; mkfs.ext4 -q -I 128 image >/dev/null 2>&1; mount -o loop image origin
    rmdir origin/lost+found`;
  const mounted = (script: string) => run(`${image}; ${script}; umount origin`, ['--mount']);

  function cannotMount(): string | undefined {
    if (!isRoot) return 'needs root to mount an image';
    const words = ['--mount', 'sh', '-euc', `${image}; umount origin; rm -r origin image`, 'sh', place.at()];
    return spawnSync('unshare', words).status === 0 ? undefined : 'needs mkfs.ext4 and a loop device';
  }

  it('hides no edit of the second in which a file was copied or looked at', (context) => {
    const reason = cannotMount();
    if (reason !== undefined) return context.skip(reason);
    const said = mounted(`while test $(date +%N) -gt 200000000; do sleep 0.05; done
      for each in copied seen; do echo one > origin/$each; done; ln -s one origin/link
      "$2" copy origin trunk --out signatures; echo two > origin/copied; ln -sfn two origin/link
      "$2" scan origin --against signatures --out signatures >/dev/null; echo two > origin/seen
      "$2" scan origin --against signatures --out signatures; echo; sleep 2.1
      "$2" scan origin --against signatures --out signatures >/dev/null; "$2" scan origin --against signatures`);
    assert.deepEqual(said.split('\n'), ['copied\0changed\0link\0changed\0seen\0changed\0', '']);
  });
});
