/**
 * What is shown of the person's home for the sake of tools never shows a secret, no matter who wrote the links and
 * names on the way to it.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('links on PATH lead to no secret: not into ~/.ssh, and not from a directory that agents write', async () => {
    stage.shell(
      stage.home,
      `mkdir -p .ssh .local/bin notes vault/bin; echo KEY | tee .ssh/key notes/key vault/bin/key vault/lib > /dev/null
       chmod +x .ssh/key notes/key vault/bin/key
       ln -s ../../.ssh/key .local/bin/one; ln -s "$HOME" .local/bin/two; ln -s ../../.ssh .local/bin/three`,
    );
    const project = stage.project(
      `mkdir -p tools/bin node_modules/.bin
       ln -s ${stage.home}/notes/key tools/bin/one; ln -s ${stage.home}/vault/bin/key tools/bin/two
       ln -s ${stage.home}/notes/key node_modules/.bin/one; ln -s tools aliased`,
    );
    const entries = [
      `${stage.home}/.local/bin`,
      `${project}/tools/bin`,
      `${project}/node_modules/.bin`,
      `${project}/aliased/bin`,
    ];
    const env = { PATH: `${entries.join(':')}:${stage.environment['PATH']}` };
    const script = 'cat ~/.ssh/key ~/notes/key ~/vault/bin/key ~/vault/lib ~/.local/bin/*; ls -A ~';
    assert.equal(await stage.inside(project, script, 0, { env }), '.local\n');
    for (const name of ['.ssh/key', 'notes/key', 'vault/bin/key', 'vault/lib']) {
      const { code } = await stage.ctx(project, ['why', 'read', join(stage.home, name)], { env });
      assert.notEqual(code, 0, name);
    }
  });
});
