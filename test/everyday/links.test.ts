/** Hard links of files that were there before the command: git, which compares inode numbers, and programs that do not. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const repository =
  'git init -q .; git config user.email a@b; git config user.name n; echo x >a; git add a; git commit -qm one';

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('git clones the project and adds it as a submodule; ln, cp -l and tar link its files', async () => {
    const project = stage.project(repository);
    const output = await stage.inside(
      project,
      [
        'git clone -q . copy && git -C copy log --format=%s && git -C copy fsck 2>&1',
        'git -c protocol.file.allow=always submodule add -q "$PWD" sub && git submodule status | cut -c43-',
        'ln a b && cp -al copy linked && stat -c %h b linked/a',
        'tar -cf t.tar a b && rm a b && tar -xf t.tar && cat a b',
      ].join('; '),
    );
    assert.equal(output, 'one\nsub (heads/master)\n2\n2\nx\nx\n');
  });

  test('a touch alone comes home, of a symbolic link too; a mode and a further name change no time', async () => {
    const project = stage.project(
      'echo x >file; echo y >mode; echo z >linked; ln -s file link; touch -hd 2020-01-01 *',
    );
    const time = (name: string) => statSync(join(project, name)).mtimeMs;
    const linkTime = () => Number(stage.shell(project, 'stat -c %Y link'));
    const old = time('file');
    await stage.inside(project, 'touch file; touch -h link');
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.ok(time('file') > old);
    assert.ok(linkTime() * 1000 > old);
    await stage.inside(project, 'chmod 600 mode; ln linked further');
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(statSync(join(project, 'mode')).mode & 0o777, 0o600);
    assert.equal(statSync(join(project, 'linked')).nlink, 2);
    assert.deepEqual([time('mode'), time('linked')], [old, old]);
    // What the first apply touched moves forward again.
    const touched = time('file');
    assert.equal((await stage.json(project, ['apply', '--undo']))['done'], true);
    assert.equal((await stage.json(project, ['apply', '--undo']))['done'], true);
    assert.ok(time('file') > touched);
  });
});
