/** Programs that the person installed in their home: what a name on PATH needs is shown with it, and nothing beside it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const environments = `cd "$HOME"; mkdir -p envs .local/bin .local/share/pipx/venvs scripts npm/bin npm/lib/node_modules/tool/bin
  /usr/bin/python3 -m venv --without-pip envs/own; echo 'token' > envs/own/pip.conf
  /usr/bin/python3 -m venv --without-pip .local/share/pipx/venvs/piped
  piped="$HOME/.local/share/pipx/venvs/piped/bin"
  printf '#!%s/python\\nimport sys; print(sys.prefix)\\n' "$piped" > "$piped/piped"; chmod +x "$piped/piped"
  ln -s "$piped/piped" .local/bin/piped
  printf '#!/bin/sh\\necho mine\\n' > scripts/mine; chmod +x scripts/mine; echo secret > scripts/secret
  ln -s ../../scripts/mine .local/bin/mine
  mkdir -p npm/lib/node_modules/other; echo other > npm/lib/node_modules/other/text
  printf '#!/bin/sh\\ncat "$(dirname "$(readlink -f "$0")")/../../other/text"\\n' > npm/lib/node_modules/tool/bin/tool
  chmod +x npm/lib/node_modules/tool/bin/tool; ln -s ../lib/node_modules/tool/bin/tool npm/bin/tool`;

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('virtual environments, pipx, npm and linked scripts work as outside', async () => {
    stage.shell(stage.home, environments);
    const path = ['envs/own/bin', '.local/bin', 'npm/bin'].map((name) => join(stage.home, name)).join(':');
    const env = { PATH: `${path}:${stage.environment['PATH']}` };
    const script = `python -c 'import sys; print(sys.prefix)'; piped; mine; tool; cd ~; ls scripts; ls envs/own | grep conf`;
    const inside = await stage.inside(stage.project(), script, 1, { env });
    const { home } = stage;
    assert.equal(inside, `${home}/envs/own\n${home}/.local/share/pipx/venvs/piped\nmine\nother\nmine\n`);
  });

  test('a link that leads to itself in PATH, in a cache or in a repository leads nowhere, and ends no command', async () => {
    stage.shell(
      stage.home,
      'mkdir -p round/bin; cd round; ln -s tool bin/tool; ln -s loop loop; ln -s ../../bin/sh bin/mine',
    );
    const round = join(stage.home, 'round');
    const env = { PATH: `${round}/bin:${round}/loop:${stage.environment['PATH']}`, CARGO_HOME: `${round}/loop` };
    const project = stage.project('ln -s .git .git');
    assert.equal(await stage.inside(project, 'tool 2>/dev/null || echo "code $?"', 0, { env }), 'code 127\n');
    for (const verb of ['surface', 'preamble']) assert.equal((await stage.ctx(project, [verb], { env })).code, 0, verb);
    const { code, stderr } = await stage.ctx(project, ['exec', '--', 'tool'], { env });
    assert.equal(code, 126, stderr);
  });
});
