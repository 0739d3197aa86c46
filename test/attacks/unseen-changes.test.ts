/** What a repository or a command does must show in the report or not happen: ways to change files unseen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const repository =
  'echo safe > build; git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x';

/** Programs that git, which refreshes the index of an import, would run for a repository that names them. */
const ways = {
  'core.fsmonitor': `printf '#!/bin/sh\\necho PAYLOAD > build\\n' > .git/mon; chmod +x .git/mon; git config core.fsmonitor .git/mon`,
  'a clean filter': `printf 'build filter=x\\n' > .gitattributes; touch build; git config filter.x.clean 'sh -c "echo PAYLOAD > build; cat"'`,
};

forEachUser((user) => {
  const stage = useStage(user);

  for (const [name, prepare] of Object.entries(ways)) {
    test(`a program that the repository names as ${name} changes nothing below the fork`, async () => {
      const project = stage.project(`${repository}; ${prepare}`);
      // Without the jail's care it would: git runs it.
      assert.match(
        stage.shell(stage.project(`${repository}; ${prepare}`), 'git status >/dev/null 2>&1; cat build'),
        /PAYLOAD/,
      );
      assert.equal(await stage.inside(project, 'cat build'), 'safe\n');
    });
  }

  test('a git of the workspace on PATH is not the git that refreshes the index', async () => {
    const prepare = `${repository}; mkdir bin; printf '#!/bin/sh\\necho PAYLOAD > build; exec /usr/bin/git "$@"\\n' > bin/git; chmod +x bin/git`;
    const project = stage.project(prepare);
    const without = stage.shell(stage.project(prepare), 'PATH=$PWD/bin:$PATH; git status > /dev/null; cat build');
    assert.equal(without, 'PAYLOAD\n');
    const environment = { ...stage.environment, PATH: `${project}/bin:${stage.environment['PATH']}` };
    const { stdout } = await stage.ctx(project, ['exec', '--', 'cat', 'build'], { env: environment });
    assert.equal(stdout, 'safe\n');
  });

  test('a workspace cannot grant itself its neighbours, nor a command write the file that would', async () => {
    const list = JSON.stringify({ version: 0, repositories: [{ path: '.' }, { path: '../neighbour' }] });
    const project = stage.project(
      `mkdir -p ../neighbour/.git; echo token > ../neighbour/token; mkdir .ctx; echo '${list}' > .ctx/workspace.json`,
    );
    await stage.inside(project, 'cat ../neighbour/token', 1);
    const shown = await stage.ctx(project, ['exec', '--siblings', '--', 'cat', '../neighbour/token']);
    assert.equal(shown.stdout, 'token\n');
    const other = stage.project('echo x > x');
    await stage.inside(other, `mkdir .ctx; echo '${list}' > .ctx/workspace.json; echo y > x`);
    const applied = await stage.json(other, ['apply']);
    assert.equal(applied['done'], true);
    assert.equal(stage.shell(other, 'cat x; ls -a | grep -c .ctx || true'), 'y\n0\n');
  });
});
