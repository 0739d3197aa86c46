/** What a repository or a command does must show in the report or not happen: ways to change files unseen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const repository =
  'echo safe > build; git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x';

/** Programs that git, which refreshes the index of an import, would run for a repository that names them. */
const ways = {
  'core.fsmonitor': `printf '#!/bin/sh\\necho PAYLOAD > build\\n' > .git/mon; chmod +x .git/mon; git config core.fsmonitor .git/mon`,
  'a clean filter': `printf 'build filter=x\\n' > .gitattributes; touch build; git config filter.x.clean 'sh -c "echo PAYLOAD > build; cat"'`,
};

forEitherUser((user) => {
  const stage = useWarmStage(user);

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
    const applied = await stage.json(other, ['apply'], 3);
    assert.equal(applied['done'], true);
    assert.equal(stage.shell(other, 'cat x; ls -a | grep -c .ctx || true'), 'y\n0\n');
  });

  test('whatever would run later, by git, a shell, an editor, a harness or a build, is in the report and in the diff by name', async () => {
    const later = [
      '.git/hooks/post-checkout',
      '.git/config',
      '.gitmodules',
      '.gitattributes',
      '.bashrc',
      '.profile',
      '.envrc',
      '.vscode/tasks.json',
      '.idea/workspace.xml',
      '.mcp.json',
      '.claude/settings.json',
      '.cursor/mcp.json',
      '.github/workflows/ci.yml',
      '.gitlab-ci.yml',
      '.husky/pre-commit',
      '.npmrc',
      'package.json',
      'Makefile',
      'conftest.py',
      'build.rs',
    ];
    const project = stage.project(repository);
    const plant = `for file in ${later.join(' ')}; do mkdir -p $(dirname $file); echo PAYLOAD >> $file; chmod +x $file; done`;
    const envelope = await stage.exec(project, ['sh', '-c', plant]);
    const told = new Set(envelope.changes.map(({ path }) => path));
    for (const path of later) assert.ok(told.has(path), `the report does not name ${path}`);
    const { stdout } = await stage.ctx(project, ['diff']);
    for (const path of later) assert.ok(stdout.includes(`+++ b/${path}\n`), `the diff does not show ${path}`);
    // Nothing of it ran or was written before the person said so, nor by ctx's own git; nor by a plain apply.
    const untouched = () => stage.shell(project, 'ls -A; cat .git/config | grep -c PAYLOAD || true');
    assert.equal(untouched(), '.git\nbuild\n0\n');
    const copied = stage.shell(
      stage.project(plant),
      `cp -a . ../copied; cd ../copied; ls -d ${later.join(' ')} | wc -l; rm -r ../copied`,
    );
    assert.equal(Number(copied), later.length, 'a plain copy brings all of it');
    await stage.ctx(project, ['apply']);
    const written = stage.shell(
      project,
      `ls -d ${later.join(' ')} 2>/dev/null || true; grep -l PAYLOAD .git/config || true`,
    );
    // What only a build runs that the person starts is theirs to read.
    assert.deepEqual(written.trim().split('\n').sort(), [
      '.git/config',
      '.gitattributes',
      'Makefile',
      'build.rs',
      'conftest.py',
    ]);
    assert.equal(stage.shell(project, 'grep -c PAYLOAD .git/config || true'), '0\n');
    await stage.json(project, ['drop']);
  });

  test('a workspace that holds what ctx itself obeys does not get it from a fork, nor from a command on the directory', async () => {
    const plants = {
      new: 'mkdir -p ctxfs objects; echo forged > ctxfs/agents.toml; echo forged > objects/rules.json',
      link: 'mkdir evil; echo forged > evil/agents.toml; ln -s evil ctxfs; ln -s evil objects',
      above: 'mkdir -p evil/objects; echo forged > evil/objects/rules.json; ln -s evil up',
    };
    for (const [name, plant] of Object.entries(plants)) {
      const use = 'cat ctxfs/agents.toml objects/rules.json up/objects/rules.json 2>/dev/null || true';
      assert.match(stage.shell(stage.project(plant), use), /forged/, 'a plain copy brings it');
      const project = stage.project();
      const env = { XDG_CONFIG_HOME: project, CTX_ROOT: `${project}/${name === 'above' ? 'up/objects' : 'objects'}` };
      await stage.ctx(project, ['exec', '--', 'sh', '-c', `${plant}; echo fork > mine`], { env });
      const applied = await stage.ctx(project, ['apply', '--allow-sensitive', '--json'], { env });
      assert.match(applied.stdout, /ctx keeps its own files there/, name);
      assert.equal(stage.shell(project, `cat mine; ${use}`), 'fork\n', name);
      const live = await stage.ctx(project, ['jail', 'run', '--', 'sh', '-c', plant], { env });
      assert.match(live.stderr, /does not hold the files of ctx itself/);
      assert.equal(stage.shell(project, use), '', name);
    }
  });

  /** Repositories and directories of settings that go by other names. */
  const around = {
    'a file that leads git to another directory': 'echo "gitdir: evil" > .git',
    'a link in place of the repository': 'ln -s evil .git',
    'a directory that is a repository by what is in it': 'true',
  };
  const evil = `mkdir -p evil/objects evil/refs; echo 'ref: refs/heads/main' > evil/HEAD
    printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = touch %s/ran; false\\n' $PWD $PWD > evil/config`;

  for (const [name, script] of Object.entries(around)) {
    test(`${name} is not applied unasked: git runs nothing afterwards`, async () => {
      const use = '{ git status || (cd evil; git status) || true; } > /dev/null 2>&1; ls -A ran 2>/dev/null || true';
      assert.equal(stage.shell(stage.project(`${evil}; ${script}`), use), 'ran\n', 'without the care this has to work');
      const project = stage.project('echo x > x');
      await stage.inside(project, `${evil}; ${script}`);
      await stage.ctx(project, ['apply']);
      assert.equal(stage.shell(project, `ls evil/config; ${use}`), 'evil/config\n');
    });
  }

  test('what the person’s own configuration has git run or read is not applied unasked', async () => {
    const prepare = `${repository}; mkdir -p tools/hooks; git config core.hooksPath tools/hooks; git config include.path ../shared.inc`;
    const plants = [
      `printf '#!/bin/sh\\ntouch ran\\n' > tools/hooks/post-checkout; chmod +x tools/hooks/post-checkout`,
      `printf '[core]\\n\\tfsmonitor = touch ran; false\\n' > shared.inc`,
      `mkdir -p evil/hooks; printf '#!/bin/sh\\ntouch ran\\n' > evil/hooks/post-checkout; chmod +x evil/hooks/post-checkout
       rmdir tools/hooks; rmdir tools; ln -s evil tools`,
    ];
    const use = '{ git status; git checkout --detach; } > /dev/null 2>&1 || true; ls ran 2> /dev/null || true';
    for (const plant of plants) {
      assert.equal(stage.shell(stage.project(`${prepare}; ${plant}`), use), 'ran\n', plant);
      const project = stage.project(prepare);
      await stage.inside(project, plant);
      await stage.ctx(project, ['apply']);
      assert.equal(stage.shell(project, use), '', plant);
    }
  });

  /** Lines of a repository's configuration that git reads otherwise than they look. */
  const misread = {
    'behind a section that is none': '[branch "main"]\\n[a "x.merge=y"][core]fsmonitor=',
    'after a section on the same line': '[branch "x"][core]fsmonitor=',
  };
  for (const [name, line] of Object.entries(misread)) {
    test(`a program that a configuration names ${name} is not applied unasked`, async () => {
      const write = (file: string) => `printf '${line}touch %s/ran; false\\n' $PWD >> ${file}`;
      const use = 'git status > /dev/null 2>&1 || true; ls ran 2> /dev/null || true';
      assert.equal(stage.shell(stage.project(`${repository}; ${write('.git/config')}`), use), 'ran\n');
      const project = stage.project(repository);
      await stage.inside(project, write('.git/config'));
      await stage.ctx(project, ['apply']);
      assert.equal(stage.shell(project, use), '');
    });
  }

  test('a repository that is not called .git is none the less one, in the workspace and of a linked worktree', async () => {
    const bare = `${repository}; git clone -q --bare . bare; git -C bare worktree add -q --detach ../linked`;
    const plant = (where: string) => `cd ${where}; git config core.fsmonitor "touch $PWD/ran; false"
      mkdir -p hooks; printf '#!/bin/sh\\ntouch "$PWD/hooked"\\n' > hooks/post-checkout; chmod +x hooks/post-checkout`;
    const use =
      '(cd linked; { git status; git checkout --detach; } > /dev/null 2>&1); ls bare/ran linked/hooked 2> /dev/null || true';
    assert.equal(stage.shell(stage.project(`${bare}; ${plant('bare')}`), use), 'bare/ran\nlinked/hooked\n');
    const whole = stage.project(bare);
    await stage.inside(whole, plant('bare'));
    const beside = stage.project(bare);
    await stage.inside(`${beside}/linked`, plant('$(git rev-parse --git-common-dir)'));
    for (const project of [whole, `${beside}/linked`]) await stage.ctx(project, ['apply']);
    for (const project of [whole, beside]) assert.equal(stage.shell(project, use), '', project);
  });
});
