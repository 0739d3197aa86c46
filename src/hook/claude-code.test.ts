import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allow, deny } from './call.js';
import { claudeCodeAnswer, claudeCodeCall } from './claude-code.js';
import { jsonAnswer, jsonCall } from './json-protocol.js';
import type { JsonValue } from './json-text.js';

const message = (tool_name: JsonValue, tool_input: JsonValue, more = {}) => ({
  session_id: 's',
  transcript_path: '/t',
  cwd: '/w',
  hook_event_name: 'PreToolUse',
  tool_name,
  tool_input,
  ...more,
});
const action = (tool: string, input: JsonValue) => claudeCodeCall(message(tool, input)).action;

describe("Claude Code's protocol", () => {
  it('knows the path of every file tool', () => {
    const write = { kind: 'paths', uses: [{ path: '/f', access: 'write', tree: false }] };
    for (const tool of ['Write', 'Edit', 'MultiEdit']) assert.deepEqual(action(tool, { file_path: '/f' }), write);
    assert.deepEqual(action('NotebookEdit', { notebook_path: '/f' }), write);
    const read = { kind: 'paths', uses: [{ path: '/f', access: 'read', tree: false }] };
    assert.deepEqual(action('Read', { file_path: '/f', limit: 3 }), read);
    assert.deepEqual(action('NotebookRead', { notebook_path: '/f' }), read);
  });

  it('looks through the working directory where no other is named', () => {
    for (const tool of ['Grep', 'LS']) {
      assert.deepEqual(action(tool, { pattern: 'x' }), {
        kind: 'paths',
        uses: [{ path: '/w', access: 'read', tree: true }],
      });
      assert.deepEqual(action(tool, { path: '/p' }), {
        kind: 'paths',
        uses: [{ path: '/p', access: 'read', tree: true }],
      });
    }
    const uses = [{ path: '/w', access: 'read', tree: true, pattern: '*' }];
    assert.deepEqual(action('Glob', { pattern: '*' }), { kind: 'paths', uses });
  });

  it('knows which of its tools do nothing by themselves, and no other', () => {
    const names = `Agent AskUserQuestion BashOutput EnterPlanMode ExitPlanMode KillBash KillShell Task TaskCreate
      TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoRead TodoWrite ToolSearch`;
    for (const tool of names.split(/\s+/)) assert.equal(action(tool, { file_path: '/etc' }).kind, 'harmless', tool);
    for (const tool of ['task', 'Tasks', 'TaskRun', 'KillAll', 'Skill', 'SlashCommand', 'Monitor', 'constructor', '']) {
      assert.deepEqual(action(tool, {}), { kind: 'tool', name: tool });
    }
  });

  it('denies a file tool with any other member that may be a path', () => {
    const tools = {
      Read: 'file_path',
      Write: 'file_path',
      NotebookEdit: 'notebook_path',
      Glob: 'path',
      Grep: 'path',
      LS: 'path',
    };
    const words = ['path', 'file', 'dir', 'folder', 'root', 'cwd', 'uri', 'url'];
    const others = words.flatMap((word) => [`other_${word}`, `${word}s`, `base${word.toUpperCase()}`]);
    for (const [tool, own] of Object.entries(tools)) {
      const input = { [own]: '/f', pattern: '*' };
      for (const other of others) {
        assert.throws(() => action(tool, { ...input, [other]: '/etc' }), { code: 'EINVAL' }, `${tool} ${other}`);
      }
      assert.equal(action(tool, { ...input, limit: 3, output_mode: 'x' }).kind, 'paths');
    }
  });

  it('lets sub-agents start: their calls come here, too', () => {
    for (const tool of ['Task', 'Agent']) assert.equal(action(tool, {}).kind, 'harmless');
    for (const tool of ['TodoWrite', 'BashOutput', 'KillShell', 'ExitPlanMode'])
      assert.equal(action(tool, {}).kind, 'harmless');
  });

  it('names an MCP tool as the policy does, and any other by its own name', () => {
    const name = (tool: string) => {
      const found = action(tool, {});
      return found.kind === 'tool' ? found.name : found.kind;
    };
    assert.equal(name('mcp__github__get_issue'), 'mcp.github.get_issue');
    assert.equal(name('Skill'), 'Skill');
    // A name that could be another tool's has none.
    for (const tool of ['mcp__a.b__c', 'mcp.github.get_issue', 'mcp__x', 'mcp____', 'mcp__a__'])
      assert.equal(name(tool), '', tool);
    for (const tool of ['read', 'READ', 'Read ', '__proto__', 'constructor']) assert.equal(name(tool), tool);
  });

  it('refuses what is not a call it understands', () => {
    const bad: JsonValue[] = [
      null,
      [],
      'x',
      {},
      message(7, {}),
      message('Read', null),
      message('Read', []),
      message('Read', {}),
      message('Read', { file_path: 7 }),
      message('Read', { file_path: ['/f'] }),
      message('Bash', { command: ['ls'] }),
      message('Glob', { path: '/p' }),
      message('WebFetch', {}),
      message('Read', { file_path: '/f' }, { cwd: 7 }),
      message('Read', { file_path: '/f' }, { hook_event_name: 'PostToolUse' }),
      message('Read', { file_path: '/f', other_path: '/etc/shadow' }),
      message('Grep', { path: '/f', directory: '/etc' }),
    ];
    for (const each of bad) assert.throws(() => claudeCodeCall(each), { code: 'EINVAL' }, JSON.stringify(each));
  });

  it('takes away and never gives, unless it is told to approve', () => {
    const output = (text: string) => JSON.parse(text).hookSpecificOutput;
    assert.deepEqual(output(claudeCodeAnswer(allow('r'), {}, false)), { hookEventName: 'PreToolUse' });
    assert.equal(output(claudeCodeAnswer(allow('r'), {}, true)).permissionDecision, 'allow');
    for (const approve of [true, false]) {
      assert.equal(output(claudeCodeAnswer(deny('r'), {}, approve)).permissionDecision, 'deny');
    }
  });

  it('replaces the command and keeps the other members it knows', () => {
    const input = {
      command: 'ls',
      timeout: 5,
      description: 'd',
      run_in_background: true,
      dangerouslyDisableSandbox: true,
    };
    const verdict = { decision: 'rewrite', reason: 'r', command: 'jailed' } as const;
    assert.deepEqual(
      JSON.parse(claudeCodeAnswer(verdict, message('Bash', input), false)).hookSpecificOutput.updatedInput,
      {
        command: 'jailed',
        timeout: 5,
        description: 'd',
        run_in_background: true,
      },
    );
    const odd = { command: 'ls', timeout: 'x', description: 7 };
    assert.deepEqual(
      JSON.parse(claudeCodeAnswer(verdict, message('Bash', odd), false)).hookSpecificOutput.updatedInput,
      {
        command: 'jailed',
      },
    );
  });
});

describe('the JSON protocol', () => {
  it('has five tools', () => {
    for (const access of ['read', 'write'] as const) {
      const { action: found } = jsonCall({ version: 1, cwd: '/w', tool: access, paths: ['a', '/b'] });
      const uses = ['a', '/b'].map((path) => ({ path, access, tree: true }));
      assert.deepEqual(found, { kind: 'paths', uses }, 'a directory is used with all in it');
    }
    const of = (rest: object) => jsonCall({ version: 1, cwd: '/w', ...rest } as JsonValue).action.kind;
    assert.equal(of({ tool: 'read', paths: ['a', 'b'] }), 'paths');
    assert.equal(of({ tool: 'write', paths: ['a'] }), 'paths');
    assert.equal(of({ tool: 'exec', command: 'ls' }), 'command');
    assert.equal(of({ tool: 'fetch', url: 'https://x.org' }), 'fetch');
    assert.equal(of({ tool: 'other', name: 'x' }), 'tool');
  });

  it('refuses what it does not know', () => {
    const good = { version: 1, tool: 'read', paths: ['a'], cwd: '/w' };
    const bad = [
      { ...good, version: 2 },
      { ...good, version: '1' },
      { ...good, tool: 'Read' },
      { ...good, paths: [] },
      { ...good, paths: 'a' },
      { ...good, paths: ['a', 7] },
      { ...good, command: 'ls' },
      { ...good, extra: 1 },
      { version: 1, tool: 'read', paths: ['a'] },
      { version: 1, tool: 'exec', cwd: '/w' },
    ];
    for (const each of bad) assert.throws(() => jsonCall(each), { code: 'EINVAL' }, JSON.stringify(each));
  });

  it('answers allow, deny, or allow with what to run instead', () => {
    assert.deepEqual(JSON.parse(jsonAnswer(deny('r'))), { version: 1, decision: 'deny', reason: 'r' });
    const verdict = { decision: 'rewrite', reason: 'r', command: 'c' } as const;
    assert.deepEqual(JSON.parse(jsonAnswer(verdict)), { version: 1, decision: 'allow', reason: 'r', rewrite: 'c' });
  });
});
