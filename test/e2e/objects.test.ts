/** Agents and tools through `ctx` itself: made, looked at, changed, refused, run. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { recordsOf } from '../support/record.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { asOneUser, forEitherUser } from '../support/users.js';

async function ok(stage: Stage, cwd: string, words: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await stage.ctx(cwd, words, input === undefined ? {} : { input });
  assert.equal(code, 0, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

async function refused(stage: Stage, cwd: string, words: readonly string[], exitCode: number): Promise<string> {
  const { code, stdout, stderr } = await stage.ctx(cwd, words);
  assert.equal(code, exitCode, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
  return stderr;
}

async function exec(stage: Stage, cwd: string, words: readonly string[], script: string): Promise<Envelope> {
  const { stdout, stderr } = await stage.ctx(cwd, ['exec', '--json', '--wait', ...words, '--', 'sh', '-c', script]);
  return parseJson(stdout, stderr) as Envelope;
}

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('an agent is made, shown, changed, run and removed', async () => {
    const project = stage.project('echo hello > file');
    await ok(stage, project, ['agent', 'new', 'tester']);
    const directory = join(stage.store, 'ctx/agent/tester.d');
    assert.equal(readFileSync(join(directory, 'label'), 'utf8'), 'user_u:agent_r:tester_t:s0\n');
    await ok(stage, project, ['agent', 'set', 'tester', 'env', 'GREETING=hi there']);
    assert.match(await ok(stage, project, ['agent', 'show', 'tester']), /env +GREETING=hi there/);
    assert.match(await ok(stage, project, ['agent', 'ls']), /^tester +system +dead +user_u:agent_r:tester_t:s0$/m);
    const envelope = await exec(stage, project, ['--agent', 'tester'], 'echo "$GREETING $CTX_PATH"; cat file');
    assert.equal(envelope.stdout?.text, `hi there /ctx/tool:/ctx/home/${user.uid}/tool\nhello\n`);
    assert.equal(envelope.agent, 'tester');
    const surface = parseJson(await ok(stage, project, ['surface', '--json', '--agent', 'tester'])) as {
      digest: string;
    };
    assert.equal(envelope.authority, surface.digest);
    const records = recordsOf(stage.store);
    const [ran] = records.filter(({ agent, type, status }) => agent === 'tester' && type === 'exec' && status === 'ok');
    assert.equal(ran?.facts?.['authority'], surface.digest);
    assert.ok(records.some(({ object, status }) => object === 'agent/tester' && status === 'begin'));
    await ok(stage, project, ['agent', 'rm', 'tester']);
    assert.equal(existsSync(directory), false);
    assert.match(
      await refused(stage, project, ['exec', '--agent', 'tester', '--', 'true'], 1),
      /no such agent.*ENOENT/,
    );
  });

  test('a further path is read, or written directly and named as not undoable; a missing one is said', async () => {
    const project = stage.project();
    const data = stage.makeDirectory(`data-${user.uid}`);
    stage.shell(data, 'echo inside > file; mkdir open; chmod 777 open');
    assert.equal((await exec(stage, project, [], `cat ${data}/file`)).exitCode, 1);
    const read = await exec(stage, project, ['--read', data], `cat ${data}/file; echo x > ${data}/new || echo refused`);
    assert.equal(read.stdout?.text, 'inside\nrefused\n');
    assert.deepEqual([read.live, existsSync(join(data, 'new'))], [[], false]);
    const words = ['--write-live', `${data}/../data-${user.uid}/open`, '--read', 'gone'];
    const written = await exec(stage, project, words, `echo x > ${data}/open/new && cat ${data}/file`);
    assert.equal(written.exitCode, 1);
    assert.deepEqual(written.live, [join(data, 'open')]);
    assert.ok(existsSync(join(data, 'open/new')));
    assert.match(written.warnings.join('\n'), /skipped --read gone: there is no such path/);
    assert.match(written.warnings.join('\n'), /open is written directly, not in the fork: it cannot be undone/);
  });

  test('the workspace stays a fork where a part of it is read-only', async () => {
    const project = stage.project('mkdir docs; echo old > docs/a; mkdir .ctx');
    const script = 'echo new > b; echo new > docs/a; echo new > .ctx/x; cat docs/a';
    const { stdout, changes } = await exec(stage, project, ['--read', 'docs'], script);
    assert.equal(stdout?.text, 'old\n');
    assert.deepEqual(
      changes.map(({ path }) => path),
      ['b'],
    );
  });

  test('the store is hidden under whatever is granted', async () => {
    const project = stage.project();
    const script = `ls -A ${stage.store} | wc -l; cat ${stage.store}/meta.json || ls -d ${stage.home}`;
    const { stdout } = await exec(stage, project, ['--read', stage.directory], script);
    assert.equal(stdout?.text, `0\n${stage.home}\n`);
  });

  test('the mounts of an agent are seen where they say, without execution where they say so', async () => {
    const project = stage.project();
    const data = stage.makeDirectory(`programs-${user.uid}`);
    stage.shell(data, 'printf "#!/bin/sh\\necho ran\\n" > run; chmod 755 run');
    await ok(stage, project, ['agent', 'new', 'runner']);
    await ok(stage, project, [
      'agent',
      'set',
      'runner',
      'mount',
      `${data}\t/opt/x\tro\trbind\n${data}\t/opt/y\tro\trbind,noexec`,
    ]);
    const { stdout } = await exec(
      stage,
      project,
      ['--agent', 'runner'],
      '/opt/x/run; /opt/y/run || cat /opt/y/run | tail -1',
    );
    assert.equal(stdout?.text, 'ran\necho ran\n');
    await refused(stage, project, ['why', '--agent', 'runner', 'exec', '/opt/y/run'], 13);
    await ok(stage, project, ['why', '--agent', 'runner', 'exec', '/opt/x/run']);
  });
});

asOneUser((user) => {
  const stage = useWarmStage(user);

  test('a child is within its parent, or refused with everything it asks for beyond', async () => {
    const project = stage.project();
    await ok(stage, project, ['agent', 'new', 'coder']);
    const policy = 'allow coder_t tool:fs.read execute\nallow coder_t agent:reviewer create\n';
    await ok(stage, project, ['agent', 'set', 'coder', 'policy', '--from', '-'], policy);
    const spec = join(project, 'reviewer.json');
    stage.shell(
      project,
      `echo '{"label": "reviewer_t", "tools": ["fs.read", "fs.write"], "groups": [4242]}' > ${spec}`,
    );
    const words = ['agent', 'new', 'reviewer', '--parent', 'coder', '--spec', spec];
    const reason = await refused(stage, project, words, 13);
    assert.match(reason, /tool:fs\.write execute.*|group 4242/);
    assert.ok(reason.includes('4242') && reason.includes('fs.write'));
    stage.shell(project, `echo '{"tools": ["fs.read"]}' > ${spec}`);
    await ok(stage, project, words);
    assert.equal((await exec(stage, project, ['--agent', 'reviewer'], 'true')).exitCode, 0);
    assert.match(await refused(stage, project, ['agent', 'rm', 'coder'], 69), /it has children.*: reviewer/);
    await refused(stage, project, ['agent', 'set', 'reviewer', 'policy', 'allow reviewer_t tool:x execute'], 13);
    const other = ['agent', 'new', 'other', '--parent', 'coder'];
    assert.match(await refused(stage, project, other, 13), /allow coder_t agent:other create/);
    // What the parent loses, the child has lost.
    await ok(stage, project, ['agent', 'set', 'coder', 'policy', '']);
    assert.match(await refused(stage, project, ['exec', '--agent', 'reviewer', '--', 'true'], 13), /tool:fs\.read/);
  });

  test('a bad value is refused with file, line and column, and changes nothing', async () => {
    const project = stage.project();
    await ok(stage, project, ['agent', 'new', 'strict']);
    const before = await ok(stage, project, ['agent', 'show', '--json', 'strict']);
    const cases: readonly (readonly [string[], RegExp, number])[] = [
      [['policy', 'allow strict_t tool:* execute'], /agent\/strict\.d\/policy:1:21: .*no globs/s, 2],
      [['mount', '/a\t/b\trx\t-'], /agent\/strict\.d\/mount:1:7: expected ro or rw/, 2],
      [['uid', 'root'], /agent\/strict\.d\/uid:1:1: /, 2],
      [['nothing', 'x'], /expected one of owner, uid/, 2],
      [['__proto__', 'x'], /expected one of owner, uid/, 2],
      [['status', 'ready'], /written by the process that runs it/, 13],
      [['parent', 'agent:x'], /never changes/, 13],
      [['policy'], /expected a TEXT, or --from FILE/, 2],
    ];
    for (const [words, expected, code] of cases) {
      assert.match(await refused(stage, project, ['agent', 'set', 'strict', ...words], code), expected);
    }
    assert.equal(await ok(stage, project, ['agent', 'show', '--json', 'strict']), before);
    for (const name of ['../x', 'x.d', 'a b', '']) await refused(stage, project, ['agent', 'new', name], 2);
    await refused(stage, project, ['agent', 'new', 'strict'], 1);
  });

  test('an agent whose root is not there is refused, and the refusal is in the record', async () => {
    const project = stage.project();
    await ok(stage, project, ['agent', 'new', 'rootless']);
    await ok(stage, project, ['agent', 'set', 'rootless', 'root', '/no/such/root']);
    assert.match(
      await refused(stage, project, ['exec', '--agent', 'rootless', '--', 'true'], 1),
      /such\/root.*ENOENT/s,
    );
    assert.ok(recordsOf(stage.store).some(({ status }) => status === 'denied'));
  });

  test('a tool is made, and why says which of both policies is missing', async () => {
    const project = stage.project();
    await ok(stage, project, ['agent', 'new', 'asker']);
    await ok(stage, project, ['tool', 'new', 'own.stat', '--tier', 'user']);
    assert.ok(existsSync(join(stage.store, `ctx/home/${user.uid}/tool/own.stat.d/schema`)));
    await ok(stage, project, ['tool', 'set', 'own.stat', 'policy', '']);
    const question = ['why', '--agent', 'asker', 'tool:own.stat', 'execute'];
    const { stdout } = await stage.ctx(project, question);
    assert.match(stdout, /^tool:own\.stat execute: refused \(EACCES\)$/m);
    assert.match(stdout, /agent policy +refuse .*agent\/asker\.d\/policy/);
    assert.match(stdout, /object policy +refuse .*own\.stat\.d\/policy/);
    const rule = 'allow asker_t tool:own.stat execute';
    await ok(stage, project, ['agent', 'set', 'asker', 'policy', rule]);
    await ok(stage, project, ['tool', 'set', 'own.stat', 'policy', rule]);
    assert.match(await ok(stage, project, question), /agent policy +allow .*agent\/asker\.d\/policy:1/);
    assert.match(
      await refused(stage, project, ['why', '--agent', 'asker', 'tool:own.stat', 'use'], 2),
      /expected execute/,
    );
  });

  test('why follows links before it answers, and preamble and surface say the same', async () => {
    const project = stage.project('ln -s /etc/shadow innocent; ln -s ../nowhere/new dangling; echo x > own');
    await ok(stage, project, ['why', 'write', 'own']);
    await ok(stage, project, ['why', 'read', '/usr/bin/env']);
    for (const path of ['innocent', 'dangling', '../../etc/shadow', stage.store]) {
      const { code, stdout } = await stage.ctx(project, ['why', 'write', path]);
      assert.equal(code, 13, `${path}: ${stdout}`);
    }
    await refused(stage, project, ['why', 'write', '/usr/bin/env'], 13);
    assert.ok(
      (await ok(stage, project, ['preamble'])).startsWith(`You work in ${project}, where you may read and write.`),
    );
    assert.match(await ok(stage, project, ['surface']), new RegExp(`rw {2}${project} {2}cwd`));
  });

  test('policy check and mount check say that a file is right, or where it is not', async () => {
    const project = stage.project('printf "# mine\\nallow a_t tool:x execute\\n" > good; printf "allow a_t\\n" > bad');
    assert.equal(await ok(stage, project, ['policy', 'check', 'good']), 'ok  1 rule for a_t\n');
    assert.match(await refused(stage, project, ['policy', 'check', 'bad'], 2), /bad:1:10: /);
    assert.equal(await ok(stage, project, ['mount', 'check', '-'], '/a\t/b\tro\t-\n'), 'ok  1 mount\n');
    assert.match(await refused(stage, project, ['mount', 'check', 'good'], 2), /good:2:\d+: expected source<TAB>/);
  });

  test('a noun alone says its verbs', async () => {
    const project = stage.project();
    assert.match(await ok(stage, project, ['agent', '--help']), /^ctx agent: .*\n\nusage: ctx agent VERB/);
    assert.match(await ok(stage, project, ['help', 'agent', 'new']), /^ctx agent new: /);
    assert.match(await refused(stage, project, ['agent'], 2), /expected one of agent new, agent show/);
    assert.match(
      await refused(stage, project, ['agent', 'frobnicate'], 2),
      /unknown verb 'agent frobnicate'; valid verbs: agent new/,
    );
  });
});
