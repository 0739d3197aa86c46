/** The record as a person uses it: asked, verified, sealed, exported; and blame. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Verification } from '../../src/audit/verify.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

/** `ctx audit VERB --json` with a store of its own, since what is in the record is counted. */
function audit(stage: Stage, project: string) {
  const env = { CTX_DATA: `${project}-store`, HOME: `${project}-home` };
  const call = async (words: readonly string[], code = 0) => {
    const { stdout, stderr, code: found } = await stage.ctx(project, words, { env });
    assert.equal(found, code, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
    return stdout;
  };
  return {
    call,
    lines: async (...words: readonly string[]) => (await call(words)).trimEnd().split('\n'),
    records: async (...words: readonly string[]) =>
      (await call(['audit', 'query', '--json', ...words]))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    verify: async (code = 0, ...words: readonly string[]) =>
      parseJson(await call(['audit', 'verify', '--json', ...words], code)) as Verification,
    segment: (chain: string) => join(`${project}-store`, 'record', chain, '000000000001.jsonl'),
  };
}

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('what agents and the person did is found by agent, type, status, path and time', async () => {
    const project = stage.project('echo x > file');
    const { call, records } = audit(stage, project);
    await call(['agent', 'new', 'coder']);
    await call(['exec', '--agent', 'coder', '--', 'sh', '-c', 'mkdir src; cd src; echo a > a']);
    await call(['exec', '--', 'false'], 1);
    assert.deepEqual(
      (await records('--agent', 'coder')).map(({ type, status, agent }) => [type, status, agent]),
      [
        ['exec', 'begin', 'coder'],
        ['exec', 'ok', 'coder'],
      ],
    );
    assert.equal((await records('--status', 'failed')).length, 1);
    assert.equal((await records('--type', 'agent')).length, 2);
    assert.deepEqual(
      (await records('--path', 'src/a')).map(({ chain, seq }) => `${chain}:${seq}`),
      ['agent/coder:3'],
    );
    assert.equal((await records('--since', '1h', '--until', '2h')).length, 0);
    assert.equal((await records('--since', '1h')).length, 6);
    assert.match(
      await call(['audit', 'tail', '--count', '1']),
      /^[\d-]+ [\d:]+ {2}failed +person:\d+ {2}exec false\n$/,
    );
    const shown = parseJson(await call(['audit', 'show', '--json', 'agent/coder:3'])) as Record<string, string>;
    assert.match(shown['prev'] ?? '', /^[0-9a-f]{64}$/);
    await call(['audit', 'show', 'agent/coder:99'], 1);
    await call(['audit', 'show', 'agent/../../x:1'], 2);
    await call(['audit', 'query', '--since', 'yesterday'], 2);
    const log = readFileSync(join(`${project}-store`, 'ctx/agent/coder.d/log'), 'utf8')
      .trimEnd()
      .split('\n');
    assert.deepEqual(Object.keys(JSON.parse(log[1] ?? '')), ['ts', 'type', 'agent', 'session', 'object', 'status']);
  });

  test('an agent reads its own records, and those of another where its policy says so', async () => {
    const project = stage.project();
    const { call, records } = audit(stage, project);
    for (const name of ['coder', 'reviewer']) await call(['agent', 'new', name]);
    await call(['exec', '--agent', 'coder', '--', 'true']);
    assert.deepEqual(await records('--as', 'reviewer'), []);
    await call(['audit', 'query', '--as', 'reviewer', '--agent', 'coder'], 13);
    await call(['audit', 'show', '--as', 'reviewer', 'agent/coder:2'], 13);
    const env = { CTX_DATA: `${project}-store`, HOME: `${project}-home` };
    const { stderr } = await stage.ctx(project, ['audit', 'show', '--as', 'reviewer', 'person:2'], { env });
    assert.match(stderr, /\(EACCES\)\n.*no policy grants the records of the host and of the person/);
    await call(['agent', 'set', 'reviewer', 'policy', 'allow reviewer_t agent:coder read']);
    assert.equal((await records('--as', 'reviewer', '--agent', 'coder')).length, 2);
    await call(['audit', 'show', '--as', 'reviewer', 'person:2'], 13);
  });

  test('a command is recorded with the state of its fork before it and after it', async () => {
    const project = stage.project('echo x > file');
    const { call, records } = audit(stage, project);
    const states = async () =>
      (await records('--type', 'exec', '--status', 'ok')).map((record) => {
        const { stateBefore, stateAfter } = record['facts'] as Record<string, string>;
        return [stateBefore ?? '', stateAfter ?? ''] as const;
      });
    await call(['exec', '--', 'sh', '-c', 'echo one > a']);
    await call(['exec', '--', 'cat', 'a']);
    await call(['exec', '--', 'sh', '-c', 'echo two > a']);
    await call(['rollback']);
    await call(['exec', '--', 'true']);
    await call(['exec', '--', 'truncate', '-s', '20M', 'large']);
    await call(['exec', '--', 'rm', 'large']);
    const [wrote, read, wroteAgain, rolledBack, large, last] = await states();
    for (const state of [wrote, read, wroteAgain, rolledBack].flat()) assert.match(state ?? '', /^[0-9a-f]{64}$/);
    assert.notEqual(wrote?.[0], wrote?.[1]);
    assert.deepEqual(read, [wrote?.[1], wrote?.[1]]);
    assert.equal(wroteAgain?.[0], read?.[1]);
    assert.notEqual(wroteAgain?.[1], wroteAgain?.[0]);
    assert.deepEqual(rolledBack, read, 'a rollback leads to the state that was');
    assert.equal(large?.[1], '', 'its report does not wait for so much');
    assert.match(last?.[0] ?? '', /^[0-9a-f]{64}$/, 'the next command says what it was');
    assert.notEqual(last?.[0], large?.[0]);
    assert.match(
      await call(['blame', 'a']),
      new RegExp(`fork +${wrote?.[0].slice(0, 16)} -> ${wrote?.[1].slice(0, 16)}`),
    );
  });

  test('the record is sealed, verified and exported; a changed byte is named', async () => {
    const project = stage.project();
    const { call, verify, segment } = audit(stage, project);
    await call(['exec', '--', 'true']);
    assert.match((await verify()).cannot.join(), /not signed/);
    assert.match(await call(['audit', 'seal']), /^sealed 2 chains with key [0-9a-f]{16}\n(.+\n)* {2}anchored: root\n$/);
    assert.equal(await call(['audit', 'seal']), 'nothing new to seal\n');
    const { cannot, chains } = await verify();
    assert.ok(!/not signed/.test(cannot.join()));
    for (const { records, sealed } of chains) assert.equal(records, sealed);
    await call(['audit', 'keys', 'rotate']);
    await call(['exec', '--', 'true']);
    await call(['audit', 'seal']);
    const { keys } = parseJson(await call(['audit', 'keys', '--json'])) as { keys: { id: string; state: string }[] };
    assert.deepEqual(
      keys.map(({ state }) => state),
      ['rotated', 'in use'],
    );
    await call(['audit', 'keys', 'revoke', keys[0]?.id ?? '']);
    await call(['audit', 'keys', 'revoke', 'none'], 1);
    assert.match(await call(['audit', 'keys']), /revoked/);
    assert.match(await call(['audit', 'keys', '--pem']), /BEGIN PUBLIC KEY/);
    await call(['audit', 'export', '../copy-of-record']);
    const copy = join(project, '..', 'copy-of-record');
    const root = readFileSync(join(copy, 'root.pub'), 'utf8').trim();
    assert.ok(!existsSync(join(copy, 'key')));
    assert.ok((await verify(0, '--record', copy, '--key', root)).ok);
    stage.shell(project, 'rm -r ../copy-of-record');

    const text = readFileSync(segment('person'), 'utf8');
    writeFileSync(segment('person'), text.replace('"exitCode":0', '"exitCode":1'));
    const [first] = (await verify(1)).problems;
    assert.deepEqual([first?.chain, first?.fault, first?.seq], ['person', 'changed', 3]);
    assert.match(await call(['audit', 'verify'], 1), /^BAD person:3 \(000000000001\.jsonl, line 3\): its digest/);
  });

  test('refusals of the kernel and of the network are counted and recorded, the counters equal the chain', async () => {
    // In a file, since a command that says so itself is refused before it runs.
    const project = stage.project('echo "unshare -U true; unshare -U true; true" > try');
    const { call, records, verify } = audit(stage, project);
    await call(['agent', 'new', 'parent']);
    await call(['agent', 'set', 'parent', 'policy', 'allow parent_t agent:child create']);
    await call(['agent', 'new', 'child', '--parent', 'parent']);
    await call(['exec', '--agent', 'child', '--', 'sh', 'try']);
    const denied = await records('--agent', 'child', '--status', 'denied');
    assert.ok(denied.length > 0);
    for (const { layer } of denied) assert.equal(layer, 'jail');
    const heard = await records('--agent', 'parent', '--type', 'child');
    assert.equal(heard.length, denied.length);
    const hooked = JSON.stringify({ tool: 'write', path: '/etc/shadow' });
    await stage.ctx(project, ['hook', 'json', '--agent', 'child'], {
      input: hooked,
      env: { CTX_DATA: `${project}-store` },
    });
    const told = await records('--agent', 'parent', '--type', 'child');
    assert.equal(told.length, heard.length + 1, 'a refusal of the hook is heard, too');
    const message = JSON.stringify({ tool: 'read', path: '/etc/shadow' });
    for (let index = 0; index < 3; index += 1)
      await stage.ctx(project, ['hook', 'json'], { input: message, env: { CTX_DATA: `${project}-store` } });
    const { chains, ok } = await verify();
    assert.ok(ok);
    assert.ok((chains.find(({ chain }) => chain === 'person')?.denials.hook ?? 0) >= 1);
    assert.ok((chains.find(({ chain }) => chain === 'agent/child')?.denials.jail ?? 0) >= 2);
  });

  test('blame names the command, the agent and the authority, from the fork, after apply and after its undo; a drop forgets', async () => {
    const project = stage.project('echo x > file; mkdir old; echo y > old/inner');
    const { call } = audit(stage, project);
    const blame = async (path: string, code = 0) => {
      const answer = await call(['blame', '--json', path], code);
      return parseJson(answer) as Record<string, unknown>;
    };
    await call(['agent', 'new', 'coder']);
    await call([
      'exec',
      '--agent',
      'coder',
      '--',
      'sh',
      '-c',
      'echo 1 >> file; rm -r old; mkdir new; echo n > new/file',
    ]);
    const first = await blame('file');
    assert.deepEqual([first['agent'], first['state'], first['change']], ['coder', 'pending', 'modified']);
    assert.match(String(first['authority']), /^sha256:/);
    assert.equal((await blame('new/file'))['change'], 'added');
    assert.equal((await blame('old/inner'))['change'], 'deleted');
    await call(['apply']);
    assert.equal((await blame('file'))['state'], 'applied');
    await call(['apply', '--undo']);
    assert.equal((await blame('file'))['state'], 'pending');
    await call(['apply', 'file']);
    assert.deepEqual([(await blame('file'))['state'], (await blame('new/file'))['state']], ['applied', 'pending']);
    await call(['apply']);
    await call(['exec', '--', 'sh', '-c', 'echo 2 >> file']);
    const second = await blame('file');
    assert.deepEqual([second['agent'], second['state']], [null, 'pending']);
    await call(['drop']);
    assert.deepEqual((await blame('file'))['agent'], 'coder');
    await blame('nothing', 1);
    assert.match(await call(['blame', 'file']), /^file modified by\n {2}command +sh -c /);
  });
});
