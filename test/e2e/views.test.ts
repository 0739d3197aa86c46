/** `ctx view mount`: agents and tools as a tree at a directory, the operator's and an agent's. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ok } from '../support/agents.js';
import { useWarmStage } from '../support/stage.js';
import { asOneUser } from '../support/users.js';

const canMount = spawnSync('fusermount3', ['--version']).status === 0;

asOneUser((user) => {
  const stage = useWarmStage(user);

  test('a view shows what its agent is granted, follows every change, and cannot be written', {
    skip: canMount ? false : 'fusermount3 is not installed',
  }, async () => {
    const project = stage.project();
    await ok(stage, project, ['agent', 'new', 'coder']);
    await ok(stage, project, ['agent', 'new', 'stranger']);
    await ok(stage, project, ['tool', 'new', 'lint']);
    const tool = join(stage.store, 'ctx/tool/lint');
    writeFileSync(tool, '#!/bin/sh\n');
    chmodSync(tool, 0o755);
    const [all, own] = [stage.makeDirectory('all'), stage.makeDirectory('own')];
    assert.match(
      (await stage.ctx(project, ['view', 'mount', own, '--agent', 'nobody'])).stderr,
      /no such agent.*ENOENT/s,
    );
    await ok(stage, project, ['view', 'mount', all]);
    await ok(stage, project, ['view', 'mount', own, '--agent', 'coder']);
    try {
      const look = (script: string) => stage.shell(project, script);
      assert.deepEqual(readdirSync(all).sort(), ['agent', 'home', 'model', 'shared', 'tool']);
      assert.deepEqual(readdirSync(join(all, 'agent')), ['coder', 'coder.d', 'stranger', 'stranger.d']);
      const tools = readdirSync(join(all, 'tool'));
      assert.ok(
        ['lint', 'lint.d', 'fs.read', 'fs.read.d'].every((name) => tools.includes(name)),
        tools.join(' '),
      );
      assert.deepEqual(readdirSync(own).sort(), ['agent', 'home', 'model', 'shared', 'tool']);
      assert.deepEqual([readdirSync(join(own, 'tool')), readdirSync(join(own, 'agent'))], [[], []]);
      assert.throws(() => look(`cat ${own}/tool/lint.d/name`), /No such file/);
      await ok(stage, project, [
        'agent',
        'set',
        'coder',
        'policy',
        'allow coder_t tool:lint execute\nallow coder_t agent:coder read\n',
      ]);
      assert.equal(look(`cat ${own}/tool/lint.d/name; ls ${own}/agent`), 'lint\ncoder\ncoder.d\n');
      assert.equal(look(`ls ${own}/tool/lint.d | tr '\\n' ' '`), 'cap description log name policy schema status ');
      assert.match(look(`cat ${own}/tool/lint.d/policy`), /^# no policy of its own/);
      assert.throws(() => look(`echo x > ${own}/tool/lint.d/name`), /Read-only file system/);
      assert.throws(() => look(`${own}/tool/lint`), /ctx tool call/);
      await ok(stage, project, ['tool', 'set', 'lint', 'policy', '']);
      assert.deepEqual(readdirSync(join(own, 'tool')), []);
      await ok(stage, project, ['agent', 'rm', 'coder']);
      assert.deepEqual(readdirSync(join(own, 'agent')), []);
      mkdirSync(join(stage.store, 'ctx/shared/team/data'), { recursive: true });
      writeFileSync(join(stage.store, 'ctx/shared/team/data/file'), 'shared\n');
      assert.deepEqual(readdirSync(join(all, 'shared')), ['team']);
      assert.equal(look(`ls ${all}/shared/team; cat ${all}/shared/team/data/file`), 'data\ntool\nshared\n');
      await ok(stage, project, ['agent', 'new', 'member']);
      const mine = stage.makeDirectory('mine');
      await ok(stage, project, ['view', 'mount', mine, '--agent', 'member']);
      try {
        await ok(stage, project, ['agent', 'set', 'member', 'mount', '/ctx/shared/team/data\t/team\tro\t-\n']);
        assert.deepEqual(readdirSync(join(mine, 'shared')), [], 'the policy does not allow the space');
        await ok(stage, project, ['agent', 'grant', 'member', 'shared:team', 'read']);
        writeFileSync(join(stage.store, 'ctx/shared/team/other'), '');
        assert.equal(look(`ls ${mine}/shared/team; cat ${mine}/shared/team/data/file`), 'data\ntool\nshared\n');
        await ok(stage, project, ['agent', 'set', 'member', 'mount', '']);
        assert.deepEqual(readdirSync(join(mine, 'shared/team')), ['tool']);
      } finally {
        await ok(stage, project, ['view', 'unmount', mine]);
      }
      mkdirSync(join(stage.store, 'ctx/model/local/echo.d'), { recursive: true });
      assert.equal(
        look(`cd ${all}/model/local; ls; ls echo.d | tr '\\n' ' '; cat echo.d/status`),
        'echo\necho.d\ndescription log meta.json name policy status dead\n',
      );
    } finally {
      await ok(stage, project, ['view', 'unmount', all]);
      await ok(stage, project, ['view', 'unmount', own]);
    }
    assert.deepEqual(readdirSync(own), []);
  });
});
