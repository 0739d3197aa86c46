/** Objects that run: what an agent's command finds at /ctx, and what happens when it calls it. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { agentWith, exec, ok, withoutViews } from '../support/agents.js';
import { recordsOf } from '../support/record.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

/** `NAME: exit code` a call, then what it said. */
async function calls(stage: Stage, cwd: string, agent: string, ...scripts: readonly string[]): Promise<string[]> {
  const script = scripts.map((each) => `out=$( ${each} 2>&1 ); printf '%s %s\\036' $? "$out"`).join('\n');
  const { stdout, stderr, exitCode } = await exec(stage, cwd, agent, script);
  assert.equal(exitCode, 0, stderr?.text);
  return (stdout?.text ?? '').split('\x1e').slice(0, -1);
}

const allTools = ['fs.read', 'fs.list', 'fs.stat', 'fs.write', 'fs.replace', 'fs.search', 'shell.exec', 'fork.diff'];
const tool = (name: string, input?: unknown) =>
  `/ctx/tool/${name}${input === undefined ? '' : ` '${JSON.stringify(input)}'`}`;

forEitherUser((user) => {
  describe('objects that run', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useWarmStage(user);

    test('a command finds its tools as files, calls them in both forms, and is refused what is not its own', async () => {
      const project = stage.project(
        'printf "one\\ntwo\\nthree\\n" > file; mkdir d; ln -s /etc/passwd out; ln -s /nowhere d/dangling',
      );
      await agentWith(stage, project, 'coder', ...allTools.map((name) => `tool:${name} execute`));
      const home = `/ctx/home/${user.uid}/agent/coder`;
      const [first, ...rest] = await calls(
        stage,
        project,
        'coder',
        'ls -x /ctx; echo /ctx/tool/*; echo $HOME; touch ~/kept && echo $(ls ~) && cat /ctx/tool/fs.stat.d/name',
        tool('fs.read', { path: 'file' }),
        tool('fs.read', { path: 'file', offset: 2, limit: 1 }),
        `echo '{"path":"file"}' | (cd d && /ctx/tool/fs.read)`,
        `(cd d && ${tool('fs.read', { path: '../file' })})`,
        tool('fs.read', { path: 'out' }),
        tool('fs.read', { path: '/etc/passwd' }),
        tool('fs.read', { path: 'none' }),
        tool('fs.read', { path: 'd' }),
        tool('fs.read', { pfad: 'file' }),
        '/ctx/tool/fs.read not-json',
        '/ctx/tool/fs.read a b',
        'head -c 1048577 /dev/zero | /ctx/tool/fs.read',
        'touch /ctx/tool/x',
        'ls /ctx/tool/agent.create',
      );
      assert.equal(
        first,
        `0 agent  home  model  shared  tool\n${[...allTools]
          .sort()
          .flatMap((name) => [`/ctx/tool/${name}`, `/ctx/tool/${name}.d`])
          .join(' ')}\n${home}\ncache data kept log root session\nfs.stat`,
      );
      const wanted = [
        /^0 one\ntwo\nthree$/,
        /^0 two$/,
        /^1 .*no such file/,
        /^0 one\ntwo\nthree$/,
        /^13 .*leads out of the workspace \(EACCES\)/,
        /^13 .*outside of the workspace/,
        /^1 .*no such file or directory \(ENOENT\)/,
        /^1 .*it is a directory/,
        /^2 .*\/pfad: unknown member|^2 .*\/path: required, but missing/,
        /^2 .*expected JSON/,
        /^2 usage: \/ctx\/tool\/fs\.read JSON/,
        /^2 .*at most 1 MiB/,
        /^1 .*Read-only file system/,
        /^2 .*No such file or directory/,
      ];
      for (const [index, pattern] of wanted.entries()) assert.match(rest[index] ?? '', pattern);
      const begun = recordsOf(stage.store).filter(({ type, agent }) => type === 'tool.call' && agent === 'coder');
      assert.ok(begun.some(({ object, status }) => object === 'tool/fs.read' && status === 'begin'));
      assert.ok(begun.some(({ status, facts }) => status === 'failed' && facts?.['exitCode'] === 13));
    });

    test('tools change the fork as their caller could, and shell.exec runs beside it, recorded as a command', async () => {
      const project = stage.project('printf "aXbXc" > file; mkdir ro; echo x > ro/f; chmod 444 ro/f');
      await agentWith(stage, project, 'writer', ...allTools.map((name) => `tool:${name} execute`));
      const answers = await calls(
        stage,
        project,
        'writer',
        tool('fs.write', { path: 'new/deep/file', content: 'hello\n', parents: true }),
        tool('fs.write', { path: 'new/deep/file', content: 'again\n', create: true }),
        tool('fs.write', { path: '../outside', content: 'x' }),
        tool('fs.replace', { path: 'file', old: 'X', new: 'Y' }),
        tool('fs.replace', { path: 'file', old: 'X', new: 'Y', all: true }),
        'cat file new/deep/file',
        tool('fs.list', { path: 'new' }),
        tool('fs.stat', { path: 'new/deep/file' }),
        tool('fs.search', { pattern: '^h.l+o$' }),
        tool('fs.search', { pattern: '(' }),
        `cd new && echo '{"cmd":"pwd; cat deep/file; echo made > by-shell; exit 3"}' | /ctx/tool/shell.exec`,
        'cat new/by-shell',
        tool('shell.exec', { cmd: 'sleep 20', timeout: 0.3 }),
        tool('shell.exec', { cmd: 'cat' }),
        tool('fork.diff', { path: 'file' }),
      );
      const wanted = [
        /^0 $/,
        /^1 .*it is there already \(EEXIST\)/,
        /^13 .*outside of the workspace/,
        /^2 .*there 2 times/,
        /^0 replaced 2 times$/,
        /^0 aYbYchello$/,
        /^0 {"name":"deep","type":"directory","size":\d+}$/,
        /^0 {"type":"file","size":6,"mode":"06[46]4","modified":"20/,
        /^0 .*new\/deep\/file:1:hello$/,
        /^2 .*grep/,
        /^1 .*\/new\nhello\nctx: shell\.exec: exit code 3$/s,
        /^0 made$/,
        /^1 .*timed out/,
        /^0 $/,
        /^0 diff .*-aXbXc.*\+aYbYc/s,
      ];
      for (const [index, pattern] of wanted.entries()) assert.match(answers[index] ?? '', pattern, String(index));
      const records = recordsOf(stage.store).filter(({ agent, type }) => agent === 'writer' && type === 'exec');
      assert.ok(
        records.some(({ facts, status }) => status === 'begin' && JSON.stringify(facts?.['argv']).includes('by-shell')),
      );
    });

    test('a tool that is not granted is not there; what is taken away while it runs is refused, recorded and coached', async () => {
      const project = stage.project('echo secret > file');
      await agentWith(stage, project, 'reader', 'tool:fs.read execute');
      const [listed, missing] = await calls(
        stage,
        project,
        'reader',
        'ls /ctx/tool',
        tool('fs.write', { path: 'x', content: '' }),
      );
      assert.equal(listed, '0 fs.read\nfs.read.d');
      assert.match(missing ?? '', /^127 /);
      await ok(stage, project, ['tool', 'new', 'fs.read']);
      await ok(stage, project, ['tool', 'set', 'fs.read', 'policy', 'allow other_t tool:fs.read execute']);
      // Held open by its descriptor from before, so that only the call itself can refuse it.
      const script = [
        'exec 5< /ctx/tool/fs.read',
        'touch held; i=0; until [ -e go ] || [ $i -gt 300 ]; do sleep 0.1; i=$((i+1)); done',
        '/proc/self/fd/5 \'{"path":"file"}\'; echo "code $?"; ls /ctx/tool',
      ].join('\n');
      await ok(stage, project, ['tool', 'set', 'fs.read', 'policy', 'allow reader_t tool:fs.read execute']);
      const running = exec(stage, project, 'reader', script);
      const fork = [
        'exec',
        '--',
        'sh',
        '-c',
        'i=0; until [ -e held ] || [ $i -gt 300 ]; do sleep 0.1; i=$((i+1)); done',
      ];
      await ok(stage, project, fork);
      await ok(stage, project, ['tool', 'set', 'fs.read', 'policy', '']);
      await ok(stage, project, ['exec', '--', 'touch', 'go']);
      const { stdout, stderr } = await running;
      assert.equal(stdout?.text, 'code 13\n', stderr?.text);
      assert.match(stderr?.text ?? '', /allow reader_t tool:fs\.read execute.*\(EACCES\)/);
      const denied = recordsOf(stage.store).filter(({ type, status }) => type === 'tool.call' && status === 'denied');
      assert.ok(denied.some(({ object, layer }) => object === 'tool/fs.read' && layer === 'guard'));
      await ok(stage, project, ['audit', 'verify']);
      assert.deepEqual(readdirSync(join(stage.store, 'view')), []);
    });
  });
});
