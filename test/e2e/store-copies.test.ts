/** The store is plain files of its user: it can be copied, packed and deleted like any other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('cp, tar and rm take a store whose forks were used, without a chmod first', async () => {
    const project = stage.project('echo a > a');
    const options = { env: { CTX_DATA: `${stage.directory}/own-store` } };
    await stage.inside(project, 'echo b > a', 0, options);
    await stage.inside(project, 'rm a', 0, options);
    stage.shell(
      stage.directory,
      'cp -a own-store copy; tar -cf packed own-store; rm -r own-store copy; test ! -e own-store',
    );
  });

  test('a copy without extended attributes is refused by every verb, and one with them works', async () => {
    const project = stage.project('mkdir d; echo a > d/a; echo b > d/b');
    const from = { env: { CTX_DATA: `${stage.directory}/marked` } };
    await stage.inside(project, 'rm -r d; mkdir d; echo c > d/c', 0, from);
    stage.shell(stage.directory, 'cp -a marked whole; cp -a --no-preserve=xattr marked bare');
    assert.equal(await stage.inside(project, 'ls d', 0, { env: { CTX_DATA: `${stage.directory}/whole` } }), 'c\n');
    const bare = { env: { CTX_DATA: `${stage.directory}/bare` } };
    for (const words of ['exec -- ls d', 'diff', 'apply', 'fsck', 'status', 'jail start', 'drop']) {
      const { code, stdout, stderr } = await stage.ctx(project, words.split(' '), bare);
      assert.deepEqual([code, stdout], [2, ''], words);
      assert.match(stderr, /this is a copy without extended attributes/, words);
    }
    assert.equal(stage.shell(project, 'cat d/a'), 'a\n');
  });

  test('fsck names a frozen layer that lost its opaque marks', async () => {
    const project = stage.project('mkdir d; echo a > d/a');
    const options = { env: { CTX_DATA: `${stage.directory}/layers` } };
    await stage.inside(project, 'rm -r d; mkdir d; echo c > d/c', 0, options);
    await stage.inside(project, 'echo next > next', 0, options);
    assert.equal((await stage.ctx(project, ['fsck'], options)).code, 0);
    stage.shell(stage.directory, 'cp -a --no-preserve=xattr layers/vault/*/layer layers/bare');
    stage.shell(stage.directory, 'cd layers/vault/*; rm -r layer; mv ../../bare layer');
    const { code, stdout, stderr } = await stage.ctx(project, ['fsck'], options);
    assert.notEqual(code, 0);
    assert.match(stdout + stderr, /a frozen layer has changed/);
  });
});
