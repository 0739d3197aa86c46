/**
 * Ways around a hook that others suffered, each of which must fail. What a hook cannot hold is said in docs/hook.md: a
 * component swapped between the answer and the call is one, and only the jail holds that.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { inKeptJail } from '../support/kept-jail.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { forEitherUser, isRoot } from '../support/users.js';

forEitherUser((user) => {
  const stage = useWarmStage(user);

  const decision = async (project: string, tool: string, input: object, cwd = project) => {
    const text = JSON.stringify({ cwd, hook_event_name: 'PreToolUse', tool_name: tool, tool_input: input });
    const { stdout, stderr, code } = await stage.ctx(project, ['hook', 'claude-code', '--approve'], { input: text });
    assert.equal(code, 0, stderr);
    const { hookSpecificOutput } = parseJson(stdout) as {
      hookSpecificOutput: { permissionDecision: string; updatedInput?: { command: string } };
    };
    return hookSpecificOutput;
  };
  const read = async (project: string, path: string) =>
    (await decision(project, 'Read', { file_path: path })).permissionDecision;
  const write = async (project: string, path: string) =>
    (await decision(project, 'Write', { file_path: path, content: '' })).permissionDecision;

  /** The same code answers by way of a kept jail, without a start of Node: the long lists are asked in both ways. */
  const asked = (project: string, use: () => Promise<void>) =>
    user.uid === 0 || !isRoot ? use() : inKeptJail(stage, use, { project });

  test('no spelling of a path leads out', async () => {
    const project = stage.project('mkdir -p deep/er; echo x > deep/x');
    const secret = join(stage.home, '.ssh', 'id');
    stage.shell(stage.home, 'mkdir -p .ssh; echo secret > .ssh/id');
    const spellings = [
      secret,
      `../home/.ssh/id`,
      `deep/../../home/.ssh/id`,
      `${project}/../home/.ssh/id`,
      `${project}//..//home/./.ssh//id`,
      `${secret}/`,
      ` ${secret}`,
      `${secret} `,
      `\t${secret}\n`,
      `/proc/self/root${secret}`,
      `/proc/1/root${secret}`,
      `/dev/fd/../../..${secret}`,
      `/proc/self/cwd/../home/.ssh/id`,
      '~/.ssh/id',
      ' ~/.ssh/id',
      `~${user.name}/.ssh/id`,
      `${project}2`,
      `${project}-secret/x`,
      `${project}/deep/x\0${secret}`,
      `file://${secret}`.slice('file:/'.length),
      `${'deep/../'.repeat(600)}../home/.ssh/id`,
    ];
    const reached = spellings.filter((path) => {
      try {
        return stage.shell(project, `cat "${path}" 2>/dev/null || true`).includes('secret');
      } catch {
        return false; // no shell takes a NUL
      }
    });
    assert.ok(reached.length >= 7, `without the hook they have to lead there: ${reached.join('\n')}`);
    await asked(project, async () => {
      for (const path of spellings) {
        assert.equal(await read(project, path), 'deny', JSON.stringify(path));
        assert.equal(await write(project, path), 'deny', JSON.stringify(path));
      }
    });
  });

  test('no link leads out, of any length, to what exists or not', async () => {
    const project = stage.project(
      [
        `ln -s ${stage.home} home`,
        'ln -s home chain1; ln -s chain1 chain2; ln -s chain2 chain3',
        'ln -s ../not-there-yet dangling',
        'mkdir a; ln -s ../.. a/up; ln -s a/up up',
        'ln -s loop loop; ln -s pong ping; ln -s ping pong',
        'ln -s /proc/self/root root; ln -s /dev/fd fd',
        'mkdir real; ln -s real inside',
      ].join('\n'),
    );
    const leading = [
      'home/x',
      'chain3/x',
      'chain3',
      'dangling',
      'a/up/x',
      'up/x',
      'a/up/home/.ssh',
      'loop',
      'ping/x',
      'root/etc/passwd',
      'fd/0',
      'inside/../../x',
    ];
    await asked(project, async () => {
      for (const path of leading) {
        assert.equal(await read(project, path), 'deny', path);
        assert.equal(await write(project, path), 'deny', path);
      }
      assert.equal(await write(project, 'inside/x'), 'allow');
    });
  });

  test('text that looks like a jailed command is wrapped', async () => {
    const project = stage.project();
    const { updatedInput } = await decision(project, 'Bash', { command: 'true' });
    const good = updatedInput?.command ?? '';
    assert.match(good, /exec --wait -- (?:ba)?sh -c 'true'$/);
    for (const command of [
      `${good}; touch ${stage.home}/escaped`,
      `${good}\ntouch ${stage.home}/escaped`,
      `${good} && touch ${stage.home}/escaped`,
      `${good.slice(0, -1)}'; touch ${stage.home}/escaped; : '`,
      `ctx() { touch ${stage.home}/escaped; }; ctx exec -- true`,
      `PATH=.:$PATH ctx exec -- sh -c 'touch ${stage.home}/escaped'`,
      `'$(touch ${stage.home}/escaped)'`,
      `\`touch ${stage.home}/escaped\``,
    ]) {
      const wrapped = (await decision(project, 'Bash', { command })).updatedInput?.command;
      assert.ok(wrapped !== undefined, command);
      stage.shell(project, `${wrapped} >/dev/null 2>&1 || true`);
      stage.shell(stage.home, 'test ! -e escaped');
    }
  });

  test('the hook cannot be switched off by the calls it lets through', async () => {
    const project = stage.project('git init -q .; mkdir .claude; ln -s .claude alias; ln -s .git/hooks hooks');
    for (const path of [
      '.claude/settings.json',
      '.claude/settings.local.json',
      '.claude/hooks/x.sh',
      'alias/settings.json',
      '.claude/../.claude/settings.json',
      '.mcp.json',
      '.git/hooks/post-checkout',
      'hooks/pre-commit',
      '.git/config',
      '.git/modules/sub/config',
      '.git/info/attributes',
      '.git',
      'HEAD',
      '.ctx/workspace.json',
    ]) {
      assert.equal(await write(project, path), 'deny', path);
    }
    for (const path of [
      join(stage.home, '.claude', 'settings.json'),
      stage.store,
      join(stage.store, 'meta.json'),
      stage.program,
    ]) {
      assert.equal(await write(project, path), 'deny', path);
    }
  });

  test('no call that it lets through has git run something where the harness stands', async () => {
    const evil = `mkdir -p evil/objects evil/refs; echo 'ref: refs/heads/main' > evil/HEAD
      printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = touch %s/ran; false\\n' $PWD $PWD > evil/config`;
    const use = 'git status > /dev/null 2>&1 || true; ls ran 2> /dev/null || true';
    const ways = {
      '.git': `${evil}; echo gitdir: evil > .git`,
      HEAD: `${evil}; mkdir work; sed -i '/worktree/s|$|/work|' evil/config; mv evil/* .`,
    };
    for (const [path, script] of Object.entries(ways)) {
      assert.equal(stage.shell(stage.project(script), use), 'ran\n', `${path}: without the hook this has to work`);
      assert.equal(await write(stage.project(), path), 'deny', path);
    }
  });

  test('a project cannot widen its own task by what it brings', async () => {
    const project = stage.project(
      `git init -q .; ln -s ${stage.home} .claude; mkdir .ctx; echo '{"version":0,"repositories":[{"path":"../home"}]}' > .ctx/workspace.json`,
    );
    stage.shell(stage.home, 'echo secret > secret');
    assert.equal(await read(project, join(stage.home, 'secret')), 'deny');
    assert.equal(await read(project, '.claude/secret'), 'deny');
  });

  test('a tool under another name is another tool', async () => {
    const project = stage.project();
    for (const tool of [
      'read',
      'Read ',
      'READ',
      'bash',
      'Bash\0',
      'mcp__x',
      'mcp__ctx__Bash',
      'Task2',
      '',
      'toString',
      '__proto__',
    ]) {
      const found = await decision(project, tool, { file_path: 'x', command: 'true' });
      assert.deepEqual([found.permissionDecision, found.updatedInput], ['deny', undefined], tool);
    }
  });
});
