/** Tools of the operator's: an executable file with what it needs, called by an agent that has none of that. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { exec, ok, withoutViews } from '../support/agents.js';
import { recordsOf } from '../support/record.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { asOneUser, forEitherUser } from '../support/users.js';

function put(stage: Stage, name: string, text: string): string {
  const path = join(stage.directory, name);
  writeFileSync(path, text);
  return path;
}

forEitherUser((user) => {
  describe('a tool of the operator', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useWarmStage(user);

    test('runs in a jail of its own: of its caller it has the fork as its cap says, and nothing that was put there for it', async () => {
      const project = stage.project('echo hello > file');
      const look = [
        '#!/bin/sh',
        `cat; echo; ls -d ${project}/file; [ -e ~/planted ] || [ -e /tmp/planted ] || [ -n "$PLANTED" ] || echo clean`,
        `echo "$CTX_ROOT" /ctx/tool/*; (echo by-tool > ${project}/made) 2>/dev/null && echo wrote; (kill -9 $CALLER) 2>/dev/null`,
        'ls /run/ctx',
      ].join('\n');
      const program = put(stage, 'look.sh', look);
      await ok(stage, project, ['agent', 'new', 'caller']);
      const rules = ['none', 'ro', 'rw'].map((name) => `allow caller_t tool:${name} execute\n`).join('');
      await ok(stage, project, ['agent', 'set', 'caller', 'policy', rules]);
      await ok(stage, project, ['tool', 'new', 'none', '--exec', program]);
      await ok(stage, project, ['tool', 'new', 'ro', '--exec', program, '--fork', 'ro']);
      await ok(stage, project, ['tool', 'new', 'rw', '--exec', program, '--fork', 'rw']);
      const script = [
        'touch ~/planted /tmp/planted; export PLANTED=1',
        'for tool in none ro rw; do /ctx/tool/$tool \'{"n": 1}\' 2>/dev/null; echo "$tool $?"; done; cat made',
      ].join('\n');
      const { stdout, stderr } = await exec(stage, project, 'caller', script);
      const file = `${project}/file\n`;
      const answer = (name: string, seen: string, wrote: string) =>
        `{"n":1}\n${seen}clean\n /ctx/tool/${name}\n${wrote}${name} 1\n`;
      assert.equal(
        stdout?.text,
        `${answer('none', '', '')}${answer('ro', file, '')}${answer('rw', file, 'wrote\n')}by-tool\n`,
        stderr?.text,
      );
      assert.equal(existsSync(join(project, 'made')), false);
      assert.deepEqual(readdirSync(join(stage.store, 'view')), []);
    });
  });
});

asOneUser((user) => {
  describe('a tool of the operator', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useWarmStage(user);

    test('is called by a person without an agent, who sees that tool alone', async () => {
      const project = stage.project('echo hello > file');
      const call = (...words: string[]) => stage.ctx(project, ['tool', 'call', ...words]);
      await ok(stage, project, ['tool', 'new', 'echo', '--exec', put(stage, 'echo.sh', '#!/bin/sh\ncat')]);
      assert.deepEqual([(await call('echo', '{"n": 1}')).stdout, (await call('echo', 'n')).code], ['{"n":1}', 2]);
      assert.equal((await call('fs.read', '{"path": "file"}')).stdout, 'hello\n');
      assert.equal((await call('fs.read', '{"path": "/etc/shadow"}')).code, 13);
      const { code, stderr } = await call('nosuch', '{}');
      assert.deepEqual([code, /ENOENT/.test(stderr)], [1, true]);
      await ok(stage, project, ['tool', 'set', 'echo', 'policy', '']);
      const refused = await call('echo', '{}');
      assert.equal(refused.code, 13);
      assert.match(refused.stderr, /allow operator_t tool:echo execute/);
      await ok(stage, project, ['tool', 'set', 'echo', 'policy', 'allow operator_t tool:echo execute\n']);
      assert.equal((await call('echo', '{}')).stdout, '{}');
    });

    test('is tried with the examples of its schema', async () => {
      const project = stage.project();
      const schema = (examples: unknown) =>
        JSON.stringify({
          input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], examples },
          output: { type: 'object', required: ['n'] },
        });
      const file = put(stage, 'good.json', schema([{ n: 1 }, { n: 2 }]));
      const program = put(stage, 'same.sh', '#!/bin/sh\ncat');
      await ok(stage, project, ['tool', 'new', 'same', '--exec', program, '--schema', file]);
      const good = await stage.ctx(project, ['tool', 'test', 'same']);
      assert.deepEqual([good.code, good.stdout], [0, 'ok      {"n":1}\nok      {"n":2}\n2 of 2 examples passed\n']);
      await ok(stage, project, ['tool', 'set', 'same', 'schema', schema([{ n: 'x' }])]);
      const bad = await stage.ctx(project, ['tool', 'test', 'same', '--json']);
      assert.equal(bad.code, 1);
      const { tried } = JSON.parse(bad.stdout) as { tried: { exitCode: number; error: string }[] };
      assert.deepEqual([tried[0]?.exitCode, /integer/.test(tried[0]?.error ?? '')], [2, true]);
      await ok(stage, project, ['tool', 'set', 'same', 'schema', schema(undefined)]);
      const none = await stage.ctx(project, ['tool', 'test', 'same']);
      assert.deepEqual([none.code, /examples/.test(none.stderr)], [2, true], none.stderr);
    });

    test('says that a call of it waits for an approval', async () => {
      const project = stage.project();
      const schema = put(stage, 'asked.json', '{"input": {"type": "object", "examples": [{}]}}');
      const program = put(stage, 'asked.sh', '#!/bin/sh\ncat');
      await ok(stage, project, ['tool', 'new', 'asked', '--exec', program, '--schema', schema]);
      await ok(stage, project, ['rules', 'add', 'require_approval', '--', 'asked']);
      for (const words of [
        ['call', 'asked', '{}'],
        ['test', 'asked'],
      ]) {
        const running = stage.startCtx(project, ['tool', ...words]);
        await running.printed('ctx approvals grant');
        const { approvals } = JSON.parse((await stage.ctx(project, ['approvals', 'list', '--json'])).stdout) as {
          approvals: readonly { id: string }[];
        };
        await ok(stage, project, ['approvals', 'deny', approvals[0]?.id ?? '']);
        assert.equal((await running.finished).code, 13);
      }
    });

    test('is asked about once for each call, with what its cap gives it', async () => {
      const project = stage.project();
      const program = put(stage, 'once.sh', '#!/bin/sh\ncat');
      await ok(stage, project, ['tool', 'new', 'once', '--exec', program, '--net', 'granted.invalid:80']);
      await ok(stage, project, ['rules', 'add', 'require_approval', '--', 'once']);
      const running = stage.startCtx(project, ['tool', 'call', 'once', '{}']);
      await running.printed('ctx approvals grant');
      const listed = async () =>
        (
          JSON.parse((await stage.ctx(project, ['approvals', 'list', '--all', '--json'])).stdout) as {
            approvals: readonly { id: string; argv: readonly string[] }[];
          }
        ).approvals.filter(({ argv }) => argv[0] === '/ctx/tool/once');
      const [asked] = await listed();
      assert.match(
        (await stage.ctx(project, ['approvals', 'show', asked?.id ?? ''])).stdout,
        /the tool has: .*granted\.invalid/,
      );
      await ok(stage, project, ['approvals', 'grant', asked?.id ?? '']);
      const { code, stdout, stderr } = await running.finished;
      assert.deepEqual([code, stdout], [0, '{}'], stderr);
      assert.equal((await listed()).length, 1);
    });

    test('has the hosts of its cap and no other, for an agent that has no network', async () => {
      const project = stage.project();
      const ask = 'for host in granted other; do curl -s -m 10 -o /dev/null http://$host.invalid/; done; echo asked';
      const program = put(stage, 'ask.sh', `#!/bin/sh\n${ask}\n`);
      await ok(stage, project, ['agent', 'new', 'offline']);
      await ok(stage, project, ['agent', 'set', 'offline', 'policy', 'allow offline_t tool:ask execute']);
      await ok(stage, project, ['tool', 'new', 'ask', '--exec', program, '--net', 'granted.invalid:80']);
      const { stdout, stderr, connections } = await exec(stage, project, 'offline', '/ctx/tool/ask');
      assert.equal(stdout?.text, 'asked\n', stderr?.text);
      assert.deepEqual(connections, []);
      const tried = recordsOf(stage.store).filter(({ type, status }) => type === 'connect' && status !== 'begin');
      const seen = tried.map(({ status, facts }) => `${status} ${facts?.['host']}`).sort();
      // A name that is granted and does not exist fails; another one is refused before anybody looks for it.
      assert.deepEqual(seen, ['denied other.invalid', 'failed granted.invalid']);
    });

    test('is held to its schemas, to its time and to its files; each fault is one clear error', async () => {
      const project = stage.project();
      const schema = put(
        stage,
        'schema.json',
        JSON.stringify({
          input: { type: 'object', properties: { how: { type: 'string' } }, required: ['how'] },
          output: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
        }),
      );
      const program = put(
        stage,
        'odd.sh',
        '#!/bin/sh\ncase "$(cat)" in *good*) echo \'{"ok":true}\';; *bad*) echo \'{"ok":1}\';; *text*) echo hi;; *die*) kill -9 $$;; *fail*) echo why >&2; exit 7;; *hang*) sleep 30;; esac\n',
      );
      await ok(stage, project, ['agent', 'new', 'user']);
      await ok(stage, project, [
        'agent',
        'set',
        'user',
        'policy',
        'allow user_t tool:odd execute\nallow user_t tool:gone execute\n',
      ]);
      await ok(stage, project, ['tool', 'new', 'odd', '--exec', program, '--schema', schema]);
      await ok(stage, project, ['tool', 'set', 'odd', 'cap', 'quota wallTime 1500']);
      const said: readonly (readonly [string, number, RegExp])[] = [
        ['{"how":"good"}', 0, /^{"ok":true}\n$/],
        ['{"how":"bad"}', 1, /broke its schema: \/ok: expected boolean/],
        ['{"how":"text"}', 1, /is not JSON/],
        ['{"how":"die"}', 1, /ended by SIGKILL/],
        ['{"how":"fail"}', 1, /why\n.*exit code 7/],
        ['{"how":"hang"}', 1, /timed out/],
        ['{}', 2, /\/how: required, but missing/],
      ];
      for (const [input, code, pattern] of said) {
        const answer = await stage.ctx(project, ['tool', 'call', 'odd', '--agent', 'user', input]);
        assert.equal(answer.code, code, `${input}\n${answer.stdout}${answer.stderr}`);
        assert.match(`${answer.stdout}${answer.stderr}`, pattern);
      }
      assert.equal((await stage.ctx(project, ['tool', 'call', 'gone', '--agent', 'user', '{}'])).code, 1);
      assert.equal((await stage.ctx(project, ['tool', 'call', 'fs.read', '--agent', 'user', '{}'])).code, 13);
      assert.equal((await stage.ctx(project, ['tool', 'call', 'odd', '{}'])).code, 2);
      assert.equal((await stage.ctx(project, ['tool', 'set', 'odd', 'cap', 'network'])).code, 2);
      assert.equal((await stage.ctx(project, ['tool', 'new', 'x', '--exec', join(stage.directory, 'none')])).code, 1);
      assert.equal(existsSync(join(stage.store, 'ctx/tool/x.d')), false);
      const denied = recordsOf(stage.store).filter(({ type, status }) => type === 'tool.call' && status === 'denied');
      assert.ok(denied.some(({ object }) => object === 'tool/fs.read'));
      await ok(stage, project, ['tool', 'rm', 'odd']);
      assert.equal(existsSync(join(stage.store, 'ctx/tool/odd')), false);
    });
  });
});
