/** `ctx hook` as a harness sees it: installed, called once for every kind of tool, removed. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Body } from '../../src/audit/format.js';
import type { Finished, StartOptions } from '../support/process.js';
import { recordsOf } from '../support/record.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { asOneUser, forEitherUser } from '../support/users.js';

interface Output {
  readonly permissionDecision?: string;
  readonly permissionDecisionReason?: string;
  readonly updatedInput?: { readonly command?: string; readonly timeout?: number };
}

function message(cwd: string, tool: string, input: object): string {
  return JSON.stringify({
    session_id: 's',
    transcript_path: '/t',
    cwd,
    hook_event_name: 'PreToolUse',
    tool_name: tool,
    tool_input: input,
  });
}

function outputOf({ code, stdout, stderr }: Finished): Output {
  assert.equal(code, 0, stderr);
  const { hookSpecificOutput } = parseJson(stdout, stderr) as {
    hookSpecificOutput: Output & { hookEventName: string };
  };
  assert.equal(hookSpecificOutput.hookEventName, 'PreToolUse');
  return hookSpecificOutput;
}

async function ask(
  stage: Stage,
  cwd: string,
  tool: string,
  input: object,
  words: readonly string[] = [],
  options: StartOptions = {},
) {
  const text = message(cwd, tool, input);
  return outputOf(await stage.ctx(cwd, ['hook', 'claude-code', ...words], { input: text, ...options }));
}

function denials(stage: Stage): readonly Body[] {
  return recordsOf(stage.store).filter(({ type }) => type === 'hook');
}

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('each kind of tool is granted, denied or rewritten', async () => {
    const project = stage.project('mkdir src; echo x > src/a; git init -q .; ln -s /etc/passwd link');
    const granted: readonly (readonly [string, object])[] = [
      ['Read', { file_path: join(project, 'src/a') }],
      ['Read', { file_path: '/usr/bin/env' }],
      ['Write', { file_path: 'new/deep/file', content: 'x' }],
      ['Edit', { file_path: 'src/a', old_string: 'x', new_string: 'y' }],
      ['MultiEdit', { file_path: 'src/a', edits: [] }],
      ['NotebookEdit', { notebook_path: 'n.ipynb', new_source: '' }],
      ['NotebookRead', { notebook_path: 'n.ipynb' }],
      ['Glob', { pattern: '**/*.ts' }],
      ['Grep', { pattern: 'x', path: 'src', glob: '*.ts' }],
      ['LS', { path: project }],
      ['Task', { prompt: 'x' }],
      ['Agent', { prompt: 'x' }],
      ['TodoWrite', { todos: [] }],
      ['BashOutput', { bash_id: '1' }],
      ['KillShell', { shell_id: '1' }],
    ];
    for (const [tool, input] of granted) {
      assert.equal((await ask(stage, project, tool, input)).permissionDecision, undefined, tool);
    }
    assert.equal(
      (await ask(stage, project, 'Read', { file_path: 'src/a' }, ['--approve'])).permissionDecision,
      'allow',
    );
    const denied: readonly (readonly [string, object, RegExp])[] = [
      ['Read', { file_path: '/etc/shadow' }, /outside the surface.*--read \/etc\/shadow/],
      ['Read', { file_path: 'link' }, /\/etc\/passwd is outside/],
      ['Write', { file_path: `${project}2/x` }, /outside/],
      ['Edit', { file_path: '/usr/bin/env' }, /read-only/],
      ['Edit', { file_path: '.claude/settings.json' }, /read-only/],
      ['Glob', { pattern: '../*' }, /without/],
      ['Grep', { pattern: 'x', path: stage.home }, /outside/],
      ['LS', { path: '/' }, /outside/],
      ['Read', { file_path: stage.store }, /belongs to ctx/],
      ['WebFetch', { url: 'https://example.org', prompt: 'x' }, /no network/],
      ['WebSearch', { query: 'x' }, /no network/],
      ['mcp__github__get_issue', {}, /--tool mcp\.github\.get_issue/],
      ['Frobnicate', {}, /--tool Frobnicate/],
      ['Read', {}, /file_path/],
    ];
    const before = denials(stage).length;
    for (const [tool, input, reason] of denied) {
      const output = await ask(stage, project, tool, input, ['--approve']);
      assert.equal(output.permissionDecision, 'deny', tool);
      assert.match(output.permissionDecisionReason ?? '', reason);
    }
    const recorded = denials(stage).slice(before);
    assert.ok(recorded.length >= denied.length);
    for (const entry of recorded) assert.deepEqual([entry['object'], entry['status']], ['hook/claude-code', 'denied']);
  });

  test('a rewritten command runs in the jail, whatever it says', async () => {
    const project = stage.project('echo own > file');
    for (const command of [
      `echo "$CTX_JAIL" 'it'"'"'s'; cat ${stage.home}/.ssh/key 2>/dev/null; echo changed > file; true`,
      "ctx exec -- true; echo 1 it\\'s; echo changed > file",
      "printf '%s %s\\n' 1 it\\'s\necho changed > file # '",
    ]) {
      const { updatedInput } = await ask(stage, project, 'Bash', { command, timeout: 9_000 });
      assert.equal(updatedInput?.timeout, 9_000);
      assert.equal(stage.shell(project, `${updatedInput?.command ?? 'false'} 2>/dev/null`), "1 it's\n", command);
      assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'own\n');
      // What the hook made is not wrapped again.
      const again = await ask(stage, project, 'Bash', { command: updatedInput?.command }, ['--approve']);
      assert.deepEqual([again.permissionDecision, again.updatedInput], ['allow', undefined]);
    }
  });

  test('--bash deny says the form that would run, and takes it', async () => {
    const project = stage.project();
    const words = ['--bash', 'deny', '--approve'];
    const first = await ask(stage, project, 'Bash', { command: 'echo ran' }, words);
    assert.equal(first.permissionDecision, 'deny');
    const form = /exactly this form: (.*)$/s.exec(first.permissionDecisionReason ?? '')?.[1];
    const second = await ask(stage, project, 'Bash', { command: form }, words);
    assert.deepEqual([second.permissionDecision, second.updatedInput], ['allow', undefined]);
    assert.equal(stage.shell(project, form ?? 'false'), 'ran\n');
  });

  test('further paths, tools and hosts are granted as an operator names them', async () => {
    const project = stage.project();
    const other = stage.project('echo x > file');
    const file = join(other, 'file');
    assert.equal(
      (await ask(stage, project, 'Read', { file_path: file }, ['--read', other, '--approve'])).permissionDecision,
      'allow',
    );
    assert.equal(
      (await ask(stage, project, 'Write', { file_path: file }, ['--read', other])).permissionDecision,
      'deny',
    );
    assert.equal(
      (await ask(stage, project, 'Write', { file_path: file }, ['--write', other, '--approve'])).permissionDecision,
      'allow',
    );
    assert.equal(
      (await ask(stage, project, 'mcp__a__b', {}, ['--tool', 'mcp.a.b', '--approve'])).permissionDecision,
      'allow',
    );
    const url = { url: 'https://example.org/x', prompt: 'p' };
    assert.equal(
      (await ask(stage, project, 'WebFetch', url, ['--net', 'example.org', '--approve'])).permissionDecision,
      'allow',
    );
    assert.equal((await ask(stage, project, 'WebFetch', url, ['--net', 'example.com'])).permissionDecision, 'deny');
    const { updatedInput } = await ask(stage, project, 'Bash', { command: `cat ${file}` }, ['--read', other]);
    assert.equal(stage.shell(project, updatedInput?.command ?? 'false'), 'x\n');
  });

  test('the task is that of the directory the harness was started in, wherever it goes', async () => {
    const project = stage.project('mkdir inner');
    const other = stage.project();
    const env = { CLAUDE_PROJECT_DIR: project };
    assert.equal((await ask(stage, other, 'Read', { file_path: 'x' }, [], { env })).permissionDecision, 'deny');
    assert.equal((await ask(stage, other, 'Bash', { command: 'ls' }, [], { env })).permissionDecision, 'deny');
    assert.equal(
      (await ask(stage, other, 'Read', { file_path: join(project, 'x') }, ['--approve'], { env })).permissionDecision,
      'allow',
    );
    assert.equal(
      (await ask(stage, join(project, 'inner'), 'Read', { file_path: '../x' }, ['--approve'], { env }))
        .permissionDecision,
      'allow',
    );
  });

  test('it is installed, works from there, and is removed without a trace', async () => {
    const project = stage.project(
      'mkdir .claude; printf \'{\\n  "model": "x",\\n  "2": 1,\\n  "1": 2\\n}\\n\' > .claude/settings.json',
    );
    const file = join(project, '.claude', 'settings.json');
    const before = readFileSync(file, 'utf8');
    assert.equal((await stage.json(project, ['hook', 'install', 'claude-code']))['changed'], true);
    assert.equal((await stage.json(project, ['hook', 'install', 'claude-code']))['changed'], false);
    const settings = JSON.parse(readFileSync(file, 'utf8'));
    const [{ matcher, hooks }] = settings.hooks.PreToolUse;
    assert.equal(matcher, '*');
    const run = (input: string, path?: string) =>
      stage.start('/', ['/bin/sh', '-c', hooks[0].command], {
        input,
        env: { CLAUDE_PROJECT_DIR: project, ...(path === undefined ? {} : { PATH: path }) },
      }).finished;
    const output = outputOf(await run(message(project, 'Read', { file_path: '/etc/shadow' })));
    assert.equal(output.permissionDecision, 'deny');
    // A hook that cannot run blocks: no node on PATH.
    assert.equal((await run(message(project, 'Read', { file_path: 'x' }), '/nonexistent')).code, 2);
    await stage.json(project, ['hook', 'uninstall', 'claude-code']);
    assert.equal(readFileSync(file, 'utf8'), before);
  });

  test('it is installed for the user, with its options', async () => {
    const project = stage.project();
    const words = ['hook', 'install', 'claude-code', '--user', '--bash', 'deny', '--read', '../x y'];
    const { path } = (await stage.json(project, words)) as { path: string };
    assert.equal(path, join(stage.home, '.claude', 'settings.json'));
    const { command } = JSON.parse(readFileSync(path, 'utf8')).hooks.PreToolUse[0].hooks[0];
    const ask = ` hook claude-code --bash deny --read '${join(stage.directory, 'x y')}'`;
    assert.ok(command.includes(`${ask}) && `) && command.endsWith(' || exit 2'), command);
    await stage.json(project, ['hook', 'uninstall', 'claude-code', '--user']);
    assert.equal(readFileSync(path, 'utf8').trim(), '{}');
  });

  test('settings that are not JSON stay as they are', async () => {
    const project = stage.project('mkdir .claude; echo "{ broken" > .claude/settings.json');
    for (const verb of ['install', 'uninstall']) {
      const answer = await stage.json(project, ['hook', verb, 'claude-code'], 2);
      assert.equal((answer['error'] as { code: string }).code, 'EINVAL');
      assert.equal(readFileSync(join(project, '.claude', 'settings.json'), 'utf8'), '{ broken\n');
    }
  });

  test('other hooks are warned of', async () => {
    const project = stage.project('mkdir .claude');
    writeFileSync(
      join(project, '.claude', 'settings.json'),
      '{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"x"}]}]}}',
    );
    const { warnings } = (await stage.json(project, ['hook', 'install', 'claude-code'])) as { warnings: string[] };
    assert.match(warnings[0] ?? '', /CTX_JAIL/);
    const deny = (await stage.json(project, ['hook', 'install', 'claude-code', '--bash', 'deny'])) as {
      warnings: string[];
    };
    assert.deepEqual(deny.warnings, []);
  });
});

asOneUser((user) => {
  const stage = useWarmStage(user);

  test('what cannot be decided is denied, in the form that was asked for', async () => {
    const project = stage.project();
    const bad = [
      '',
      '{',
      'null',
      '[]',
      '{"a":1,"a":2}',
      '['.repeat(100_000),
      '\ufeff{}',
      JSON.stringify({ tool_name: 'Read' }),
    ];
    for (const input of [...bad, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), 'x'.repeat(17 * 1024 * 1024)]) {
      const output = outputOf(await stage.ctx(project, ['hook', 'claude-code', '--approve'], { input }));
      assert.equal(output.permissionDecision, 'deny');
      const json = await stage.ctx(project, ['hook', 'json'], { input });
      assert.equal(json.code, 0);
      assert.equal((parseJson(json.stdout) as { decision: string }).decision, 'deny');
    }
  });

  test('a message that never ends is denied, recorded, and blocks by its exit', async () => {
    const project = stage.project();
    const call = stage.startCtx(project, ['hook', 'json'], { stdio: ['pipe', 'pipe', 'pipe'] });
    call.child.stdin?.write('{"version":1,');
    const { code, signal, stdout, stderr } = await call.finished;
    call.child.stdin?.destroy();
    assert.deepEqual([code, signal], [null, 'SIGKILL']);
    assert.equal((parseJson(stdout) as { decision: string }).decision, 'deny');
    assert.match(stderr, /whole message/);
    assert.match(JSON.stringify(denials(stage)), /whole message/);
  });

  test('without a store there is no grant', async () => {
    const project = stage.project();
    const input = message(project, 'Read', { file_path: 'x' });
    stage.shell(project, 'echo > no-directory');
    for (const CTX_DATA of [join(project, 'no-directory', 'store'), 'relative', '/proc/nothing']) {
      const output = outputOf(
        await stage.ctx(project, ['hook', 'claude-code', '--approve'], { input, env: { CTX_DATA } }),
      );
      assert.equal(output.permissionDecision, 'deny', CTX_DATA);
    }
  });

  test('a denial that cannot be recorded is one, and says so', async () => {
    const project = stage.project();
    const CTX_DATA = stage.makeDirectory('unwritable');
    await stage.ctx(project, ['hook', 'json'], { input: '{', env: { CTX_DATA } });
    stage.shell(CTX_DATA, 'rm -r record; echo > record');
    const { code, stdout } = await stage.ctx(project, ['hook', 'json'], { input: '{', env: { CTX_DATA } });
    assert.equal(code, 0);
    const { decision, reason } = parseJson(stdout) as { decision: string; reason: string };
    assert.equal(decision, 'deny');
    assert.match(reason, /could not be recorded/);
  });

  test('a wrong call of the hook itself blocks', async () => {
    const project = stage.project();
    for (const words of [
      ['claude-code', '--frobnicate'],
      ['claude-code', '--bash', 'allow'],
      ['json', 'extra'],
      ['frobnicate'],
      ['install', 'emacs'],
    ]) {
      const { code, stderr } = await stage.ctx(project, ['hook', ...words], { input: '{}' });
      assert.equal(code, 2, words.join(' '));
      assert.match(stderr, /^ctx: /);
    }
  });

  test('an agent that does not exist is not installed, denies by its name, and gets no chain', async () => {
    const project = stage.project();
    const refused = await stage.ctx(project, ['hook', 'install', 'claude-code', '--agent', 'nosuch']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /there is no such agent \(ENOENT\)/);
    assert.ok(!existsSync(join(project, '.claude')));
    const output = await ask(stage, project, 'Read', { file_path: join(project, 'file') }, ['--agent', 'nosuch']);
    assert.equal(output.permissionDecision, 'deny');
    assert.match(output.permissionDecisionReason ?? '', /agent nosuch: there is no such agent/);
    assert.ok(!existsSync(join(stage.store, 'record', 'agent', 'nosuch')));
  });

  test('the JSON protocol answers as it is documented', async () => {
    const project = stage.project('mkdir src');
    const answer = async (rest: object) =>
      parseJson(
        (await stage.ctx(project, ['hook', 'json'], { input: JSON.stringify({ version: 1, cwd: project, ...rest }) }))
          .stdout,
      ) as Record<string, string>;
    assert.equal((await answer({ tool: 'read', paths: ['src', '/usr/lib'] }))['decision'], 'allow');
    assert.equal((await answer({ tool: 'read', paths: ['src', '/root'] }))['decision'], 'deny');
    const exec = await answer({ tool: 'exec', command: 'echo hi' });
    assert.equal(exec['decision'], 'allow');
    assert.equal(stage.shell(project, exec['rewrite'] ?? 'false'), 'hi\n');
  });
});
