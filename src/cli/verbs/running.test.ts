/** What others start: harnesses with their profiles, hooks and tool sources; and help on every verb. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Answer, Calls } from '../../../test/support/calls.js';
import { checkout } from '../../../test/support/program.js';
import { verbs } from '../verbs.js';

const calls = new Calls();
after(() => calls.end());

const json = ({ stdout }: Answer) => JSON.parse(stdout);

test('help is given on everything, a group and each verb, however it is asked for', async () => {
  const overview = (await calls.run(['help'])).stdout;
  const groups = [...new Set(verbs.map(({ name }) => name.split(' ')[0] ?? ''))];
  for (const group of groups) assert.ok(overview.includes(`  ${group}  `), group);
  await calls.all([
    [['--help'], 0, overview],
    [['-h'], 0, overview],
    [['help', 'nosuch'], 0, overview],
    [[], 2, overview],
    ['nosuch', 'EINVAL'],
    ['--nosuch', 'EINVAL'],
    ['nosuch --help', 'EINVAL'],
    ['vault', 'EINVAL'],
    ['vault nosuch', 'EINVAL'],
    ['nosuch --json', 2, /^\{"version":1,"error":\{"code":"EINVAL",.*\}\n$/],
    ['nosuch -- --json', 'EINVAL'],
  ]);
  for (const { name, options, summary, examples } of verbs) {
    const words = name.split(' ');
    const { code, stdout } = await calls.run(['help', ...words]);
    assert.equal(code, 0, name);
    for (const part of [`ctx ${name}`, summary, ...options.map((option) => `--${option.name}`), ...examples]) {
      assert.ok(stdout.includes(part), `${name}: ${part}`);
    }
    await calls.check([[...words, '--help'], 0, calls.plain(stdout)]);
    await calls.check([[...words, '-h'], 0, calls.plain(stdout)]);
  }
  for (const group of ['vault', 'tool', 'audit']) {
    const text = (await calls.run(['help', group])).stdout;
    for (const { name } of verbs.filter((verb) => verb.name.startsWith(`${group} `))) assert.ok(text.includes(name));
    await calls.check([[group, '--help'], 0, text]);
  }
  // What a command is given is its own.
  await calls.check([['exec', '--', 'sh', '-c', 'echo $0', '--help'], 0, '--help\n']);
});

test('a harness gets what its profile says, a home that stays, and no key that was not asked for', async () => {
  const configuration = join(calls.home, '.config', 'ctxfs');
  mkdirSync(configuration, { recursive: true });
  const profile =
    'command = ["sh", "-c"]\nvariables = ["A=1"]\nenvironment = ["B", "C"]\ncopies = ["notes"]\nsecrets = ["key"]\n';
  writeFileSync(join(configuration, 'profiles.toml'), `[own]\n${profile}`);
  for (const name of ['notes', 'key']) writeFileSync(join(calls.home, name), `${name}\n`);
  const show = 'echo $A$B$C; cat ~/notes ~/key ~/kept 2>/dev/null; echo kept > ~/kept';
  const environment = { B: '2' };
  const run = (words: readonly string[], printed: string, said: string | RegExp = '') =>
    calls.check([['run', '--report', 'never', ...words, 'own', show], 0, printed, said, { environment }]);
  await run([], '12\nnotes\n');
  await run([], '12\nnotes\nkept\n');
  await run(['--credentials'], '12\nnotes\nkey\nkept\n', /^ctx: .+\n$/);
  await run([], '12\nnotes\nkept\n');
  await run(['--fresh'], '12\nnotes\n');
  await run(['--env', 'C=3'], '123\nnotes\nkept\n');
  const { profiles } = json(await calls.run(['run', '--list', '--json']));
  assert.deepEqual(profiles.find(({ name }: { name: string }) => name === 'own').command, ['sh', '-c']);
  await calls.all([
    ['run --key-outside own true', 'EINVAL'],
    ['run --key-outside claude', 'EINVAL'],
    ['run --report never own false', 1],
    ['run --report never --timeout x own true', 'EINVAL'],
    ['run --agent nosuch own true', 'ENOENT'],
    ['run nosuch', 127, '', /./],
  ]);
  const whole = json(await calls.run(['run', '--json', 'own', 'exit 7']));
  assert.deepEqual([whole.exitCode, whole.argv], [7, ['sh', '-c', 'exit 7']]);
  writeFileSync(join(configuration, 'profiles.toml'), '[own]\nnosuch = 1\n');
  await calls.all([
    ['run --list', 'EINVAL'],
    ['run true', 'EINVAL'],
  ]);
  writeFileSync(join(configuration, 'profiles.toml'), '');
});

test('a hook answers each call that a harness makes, within what its options grant', async () => {
  const asked = async (call: object, ...words: string[]) => {
    const input = JSON.stringify({ version: 1, cwd: calls.project, ...call });
    const { code, stdout } = await calls.run(['hook', 'json', ...words], { input });
    assert.equal(code, 0);
    return JSON.parse(stdout);
  };
  const decision = async (call: object, ...words: string[]) => (await asked(call, ...words)).decision;
  calls.write('a', 'x');
  const read = { tool: 'read', paths: ['a'] };
  assert.equal(await decision(read), 'allow');
  assert.equal(await decision({ tool: 'write', paths: ['a'] }), 'allow');
  const outside = { tool: 'read', paths: ['/etc/hosts'] };
  assert.equal(await decision(outside), 'deny');
  assert.equal(await decision(outside, '--read', '/etc/hosts'), 'allow');
  assert.equal(await decision({ ...outside, tool: 'write' }, '--read', '/etc/hosts'), 'deny');
  assert.equal(await decision({ ...outside, tool: 'write' }, '--write', '/etc/hosts'), 'allow');
  assert.equal(await decision({ tool: 'read', paths: ['../other'] }), 'deny');
  assert.equal(await decision({ tool: 'read', paths: ['../home/notes'] }, '--read', '../home'), 'allow');
  const fetched = { tool: 'fetch', url: 'https://example.com/x' };
  assert.equal(await decision(fetched), 'deny');
  assert.equal(await decision(fetched, '--net', 'example.com'), 'allow');
  const other = { tool: 'other', name: 'mcp.x' };
  assert.equal(await decision(other), 'deny');
  assert.equal(await decision(other, '--tool', 'mcp.x'), 'allow');
  const command = { tool: 'exec', command: 'echo hello' };
  const rewritten = await asked(command);
  assert.equal(rewritten.decision, 'allow');
  assert.match(rewritten.rewrite, /exec .*echo hello/);
  assert.equal(await decision(command, '--bash', 'deny'), 'deny');
  assert.equal(await decision(read, '--agent', 'nosuch'), 'deny');
  assert.equal(await decision({ ...read, version: 2 }), 'deny');
  assert.equal(await decision({ ...read, more: 1 }), 'deny');
  const claude = async (...words: string[]) => {
    const message = {
      hook_event_name: 'PreToolUse',
      tool_name: 'Read',
      tool_input: { file_path: 'a' },
      cwd: calls.project,
    };
    return calls.run(['hook', 'claude-code', ...words], { input: JSON.stringify({ session_id: 's', ...message }) });
  };
  const silent = await claude();
  const approved = await claude('--approve');
  assert.deepEqual([silent.code, /"allow"/.test(silent.stdout), /"allow"/.test(approved.stdout)], [0, false, true]);
});

test('a source of tools is added, listed, shown, asked again and removed', async () => {
  const server = join(calls.directory, 'server.mjs');
  copyFileSync(join(checkout, 'test', 'support', 'mcp-server.mjs'), server);
  calls.write('mcp.json', JSON.stringify({ mcpServers: { one: { command: 'node', args: [server] } } }));
  await calls.all([
    [
      ['tool', 'source', 'add', 'one', '--mcp', 'mcp.json', '--read', server],
      0,
      'added source one: 7 tools\n  to let an agent call one: ctx agent grant AGENT tool:mcp.one.add execute\n',
    ],
    [['tool', 'source', 'add', 'one', '--mcp', 'mcp.json', '--read', server], 'EEXIST'],
    ['tool source list', 0, 'one  system  stdio  7 tools     node ~/server.mjs\n'],
    [
      'tool source show one',
      0,
      /^one {2}7 tools\n {2}tier {4}system\n {2}command node ~\/server\.mjs\n {2}from .*mcp\.json one\n {2}server .*\n {2}granted fs\.read ~\/server\.mjs\n {2}mcp\.one\.add +Adds\.\n(?: {2}mcp\.one\..*\n){6}$/,
    ],
    ['tool source refresh one', 0, 'refreshed source one: 7 tools\n'],
    [['tool', 'call', 'mcp.one.echo', '{"text":"hello"}'], 0, /hello/],
    [['tool', 'call', 'mcp.one.nosuch', '{}'], 'ENOENT'],
  ]);
  const { sources } = json(await calls.run(['tool', 'source', 'list', '--json']));
  const shown = json(await calls.run(['tool', 'source', 'show', 'one', '--json']));
  assert.deepEqual([sources.length, sources[0].tools, sources[0].problem], [1, 7, null]);
  assert.deepEqual(
    [shown.name, shown.tier, shown.kind, shown.tools.length, shown.leftOut],
    ['one', 'system', 'stdio', 7, []],
  );
  assert.match(shown.cap, /^fs\.read .*server\.mjs\n$/);
  await calls.all([
    ['tool source rm one', 0, { name: 'one' }],
    ['tool source rm one', 'ENOENT'],
    ['tool source list', 0],
  ]);
  // Without leave to read itself it does not start, and is not there.
  const refused = await calls.run(['tool', 'source', 'add', 'one', '--mcp', 'mcp.json']);
  assert.ok(refused.code !== 0 && !existsSync(join(calls.store, 'ctx', 'source', 'one')), refused.stderr);
  await calls.check(['tool source list', 0]);
});
