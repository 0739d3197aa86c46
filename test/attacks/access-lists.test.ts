/**
 * A list of rights (ACL) at a file that an apply replaces. With a list, the group's bits of a mode are the most that any entry has, and
 * not what the group may do: a file that gets the mode without the list gives the group what it never had.
 */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEachUser, isRoot } from '../support/users.js';

/** u::rw, u:UID:rw, g::---, m::rw, o::---. */
function listNaming(uid: number): string {
  const number = Buffer.alloc(4);
  number.writeUInt32LE(uid);
  const id = number.toString('hex');
  return `0200000001000600ffffffff02000600${id}04000000ffffffff10000600ffffffff20000000ffffffff`;
}

/** In no passwd file, and not mapped in the user namespace in which an unprivileged person's files are written. */
const somebody = 54_321;

forEachUser((user) => {
  const stage = useWarmStage(user);
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
  const listOf = (project: string, name: string) =>
    stage.shell(
      project,
      `getfattr --only-values -n system.posix_acl_access ${name} 2>/dev/null | od -An -vtx1 | tr -d ' \\n'`,
    );

  test('stays, or takes the rights of the group along; a file without one keeps its mode', async () => {
    const [own, other] = [listNaming(user.uid), listNaming(somebody)];
    const project = stage.project(
      `umask 077; for each in own other plain; do echo 0 >$each; chmod 660 $each; done
       setfattr -n system.posix_acl_access -v 0x${own} own; setfattr -n system.posix_acl_access -v 0x${other} other`,
    );
    assert.deepEqual([listOf(project, 'own'), listOf(project, 'other')], [own, other]);
    await stage.inside(project, 'for each in own other plain; do rm $each; echo 1 >$each; chmod 660 $each; done');
    const applied = await stage.ctx(project, ['apply']);
    assert.equal(applied.code, 0, applied.stderr);
    assert.equal(stage.shell(project, 'cat own other plain'), '1\n1\n1\n');
    assert.equal(listOf(project, 'own'), own);
    assert.equal(mode(join(project, 'plain')), '660');
    // An id that is not mapped cannot be written: nobody gains by it.
    const isKept = listOf(project, 'other') === other;
    assert.equal(isKept, user.uid === 0);
    assert.equal(mode(join(project, 'other')), isKept ? '660' : '600');
    const warning = /left out: other \(only its access list \(ACL\), which names users that only root can set/;
    assert.equal(warning.test(applied.stderr), !isKept, applied.stderr);
    const undone = await stage.ctx(project, ['apply', '--undo']);
    assert.equal(undone.code, 0, undone.stderr);
    assert.equal(warning.test(undone.stderr), !isKept, undone.stderr);
    assert.equal(listOf(project, 'other'), isKept ? other : '');
    assert.equal(stage.shell(project, 'cat own other plain'), '0\n0\n0\n');
    assert.deepEqual([listOf(project, 'own'), mode(join(project, 'plain'))], [own, '660']);
    assert.equal(mode(join(project, 'other')), isKept ? '660' : '600', 'no more than it had');
  });

  test('of a directory above the store does not open what a command makes under its umask', async () => {
    const id = Buffer.alloc(4);
    id.writeUInt32LE(somebody);
    const entries = ['01000700ffffffff', `02000700${id.toString('hex')}`, '04000700ffffffff', '10000700ffffffff'];
    const inherited = `0x02000000${entries.join('')}20000500ffffffff`;
    const project = stage.project('umask 077; mkdir old; echo 1 > old/there');
    const above = stage.makeDirectory('inherited');
    stage.shell(
      above,
      `setfattr -n system.posix_acl_default -v ${inherited} .; umask 077; touch open; mkdir later; chmod 700 later`,
    );
    assert.equal(mode(join(above, 'open')), '664', 'what is made there has these rights instead of those of its umask');
    for (const data of [join(above, 'fresh'), join(above, 'later')]) {
      const env = { CTX_DATA: data };
      const line = `umask 077; ${stage.program} exec -- sh -c 'rm -rf d; mkdir d; echo 2 | tee f old/g d/h > ~/i; stat -c %a d f old/g d/h ~/i'`;
      const made = await stage.start(project, ['/bin/sh', '-c', line], { env }).finished;
      assert.equal(made.stdout, '700\n600\n600\n600\n600\n', made.stderr);
      assert.equal((await stage.ctx(project, ['apply', '--conflicts', 'theirs'], { env })).code, 0);
      assert.equal(stage.shell(project, 'stat -c %a d f old/g d/h'), '700\n600\n600\n600\n');
      stage.shell(project, 'rm -r d f old/g');
    }
  });

  const skip = isRoot ? false : 'only root can make a directory of a group that this user is not in';
  test('whose group a directory above the store gives to all in it runs commands as elsewhere', { skip }, async () => {
    const project = stage.project('echo 1 > f');
    const above = stage.makeDirectory('grouped');
    chownSync(above, user.uid, somebody);
    chmodSync(above, 0o2755);
    stage.shell(above, 'mkdir later; chmod 700 later');
    for (const data of [join(above, 'fresh'), join(above, 'later')]) {
      const env = { CTX_DATA: data };
      const { stdout, stderr } = await stage.ctx(project, ['exec', '--', 'sh', '-c', 'echo 2 > f; cat f'], { env });
      assert.equal(stdout, '2\n', stderr);
      assert.equal(stage.shell(data, `find . -group ${somebody} -o -perm -2000`), '');
    }
  });

  test('the setgid of a directory stays, the topmost’s too, and an undo takes away what an apply gave', async () => {
    const project = stage.project('mkdir shared plain; chmod 2775 . shared; chmod 0755 plain; chmod g-s plain');
    const modes = () => stage.shell(project, 'stat -c %a . shared plain').split('\n').slice(0, 3);
    assert.deepEqual(modes(), ['2775', '2775', '755']);
    await stage.inside(project, 'chmod 2770 . shared; chmod 2700 plain');
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.deepEqual(modes(), ['2770', '2770', '2700']);
    assert.equal((await stage.ctx(project, ['apply', '--undo'])).code, 0);
    assert.deepEqual(modes(), ['2775', '2775', '755']);
  });
});
