/** A command of an agent with its view, in one process: what it finds at /ctx, calls there, and leaves in the record. */
import assert from 'node:assert/strict';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { RecordEntry } from '../audit/record.js';
import { viewCalls } from '../base/limits/objects.js';
import { KeptJail } from '../kept-jail/kept-jail.js';
import { agentNamed } from '../objects/agent.js';
import { stageSource } from '../objects/source/source-store.js';
import { agentTexts } from '../objects/spec.js';
import { execute } from '../proxy/execute.js';
import type { Host } from '../proxy/host.js';
import { testHost } from '../proxy/host-fixture.js';
import type { ExecRequest } from '../proxy/run/exec-request.js';
import { onDirectory } from '../proxy/run/live-target.js';
import { onFork } from '../proxy/run/open-fork-target.js';
import { storePaths } from '../vault/store/layout.js';
import { agentView } from './command-view.js';
import type { Descendants } from './served-objects.js';
import { listSource } from './source/list-source.js';

const withoutFuse = (() => {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
    return false as const;
  } catch {
    return '/dev/fuse cannot be opened here';
  }
})();

const made = testHost();
const { project, recorded } = made;
const root = made.host.root;
const { uid, gid } = made.host;
const asked: unknown[] = [];
const descendants: Descendants = {
  create: async (...given) => {
    asked.push(given);
    return { directory: '/ctx/agent/kid.d' };
  },
  set: async (...given) => void asked.push(given),
};
const host: Host = {
  ...made.host,
  agents: async (name) => agentNamed({ root, uid }, name),
  views: async (each) => agentView(host, each, descendants),
};

function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text, { mode });
}

function agent(name: string, rules: readonly string[], more: object = {}): void {
  const policy = rules.map((rule) => `allow ${name}_t ${rule}`);
  for (const [file, text] of agentTexts(name, { policy, ...more }, { uid, gid })) put(`agent/${name}.d/${file}`, text);
}

function request(cwd: string, script: string, more: Partial<ExecRequest> = {}): ExecRequest {
  const own = {
    cwd,
    environmentAdditions: [],
    weakened: [],
    streams: 'capture',
    stdin: 'nothing',
    wait: false,
  } as const;
  return { argv: ['sh', '-c', script], ...own, ...more };
}

/** A tool, its input, and what it ended with. */
const call = (name: string, input: object) =>
  `/ctx/tool/${name} '${JSON.stringify(input).replaceAll("'", "'\\''")}' 2>&1; echo "= $?"`;

const entriesOf = (from: number, type: string) =>
  (JSON.parse(JSON.stringify(recorded.slice(from))) as readonly RecordEntry[]).filter((entry) => entry.type === type);

describe('a command of an agent, with its view', { skip: withoutFuse, concurrency: false }, () => {
  const viewsLeft = () => {
    const { views } = storePaths(host.store.directory);
    return existsSync(views) ? readdirSync(views) : [];
  };

  it('finds its tools, calls them as its own process, and leaves what they asked of the fork to its end', async () => {
    const names = ['fs.read', 'fs.write', 'shell.exec', 'fork.checkpoint', 'fork.diff', 'agent.create'];
    agent(
      'coder',
      names.map((name) => `tool:${name} execute`),
    );
    const cwd = project({ file: 'one\n' });
    const from = recorded.length;
    const script = [
      'echo /ctx/tool/*; echo "$HOME"',
      call('fs.read', { path: 'file' }),
      call('fs.write', { path: 'new', content: 'text', create: true }),
      call('shell.exec', { cmd: 'cat new; exit 3' }),
      call('fork.checkpoint', { name: 'mine' }),
      call('agent.create', { name: 'kid' }),
      call('fs.read', { path: '/etc/passwd' }),
      call('fs.list', {}),
      call('fork.diff', { path: 'new' }),
    ];
    const report = await execute(host, request(cwd, script.join('\n'), { agent: 'coder' }), onFork);
    const text = report.stdout?.text ?? '';
    const said = text.split(/(?<== \d+)\n/);
    const tools = [...names].sort().flatMap((name) => [`/ctx/tool/${name}`, `/ctx/tool/${name}.d`]);
    assert.ok(said[0]?.startsWith(`${tools.join(' ')}\n/ctx/home/${uid}/agent/coder\n`), text);
    assert.equal(said[0]?.split('\n').slice(2).join('\n'), 'one\n= 0');
    assert.deepEqual(said.slice(1, 3), ['= 0', 'textctx: shell.exec: exit code 3\n= 1'], text);
    assert.match(said[3] ?? '', /when the command has ended\n= 0$/);
    assert.match(said[4] ?? '', /made agent kid: \/ctx\/agent\/kid\.d\n= 0$/);
    assert.match(said[5] ?? '', /outside of the workspace.*\(EACCES\)\n[\s\S]*= 13$/);
    assert.match(said[6] ?? '', /not found|No such file/);
    assert.match(said[7] ?? '', /\+text[\s\S]*= 0$/);
    assert.deepEqual(asked.splice(0), [['coder', 'kid', { name: 'kid' }, cwd]]);
    assert.match(report.warnings.join('\n'), /checkpoint.*mine|mine.*checkpoint/);
    assert.deepEqual(
      report.changes.map(({ kind, path }) => `${kind} ${path}`),
      ['added new'],
    );
    const calls = entriesOf(from, 'tool.call').map(({ object, status, agent: by, facts }) => [
      object,
      status,
      by,
      facts?.['exitCode'],
    ]);
    assert.deepEqual(calls.slice(0, 6), [
      ['tool/fs.read', 'begin', 'coder', undefined],
      ['tool/fs.read', 'ok', 'coder', 0],
      ['tool/fs.write', 'begin', 'coder', undefined],
      ['tool/fs.write', 'ok', 'coder', 0],
      ['tool/shell.exec', 'begin', 'coder', undefined],
      ['tool/shell.exec', 'failed', 'coder', 1],
    ]);
    const runs = entriesOf(from, 'exec');
    const inside = runs.filter(({ facts }) => facts?.['caller'] === report.run);
    assert.deepEqual(
      inside.map(({ status, facts }) => [status, facts?.['exitCode'], facts?.['directory']]),
      [
        ['begin', undefined, cwd],
        ['failed', 3, cwd],
      ],
    );
    assert.deepEqual([viewsLeft(), report.beside], [[], []]);
  });

  it('goes on where the socket of its home cannot be made', async () => {
    agent('full', ['tool:fs.read execute']);
    const views: Host['views'] = async (each) => {
      const view = await agentView(host, each, descendants);
      // What a full disk does, too: the place is taken, or has no room.
      mkdirSync(join(view.socketDirectory, 'agent.sock'));
      return view;
    };
    const asking = request(project({ file: 'one\n' }), call('fs.read', { path: 'file' }), { agent: 'full' });
    const { stdout } = await execute({ ...host, views }, asking, onFork);
    assert.equal(stdout?.text, 'one\n= 0\n');
  });

  it('runs a tool of the operator’s apart from it: its program, what its cap says, and nothing else', async () => {
    agent('user', ['tool:look execute', 'tool:reads execute', 'tool:writes execute']);
    const data = project({ secret: 'data' });
    const look = [
      '#!/bin/sh',
      'cat; echo ":$PWD:$GIVEN"; for p in ~/own /tmp/own; do [ -e $p ] && echo seen; done',
      `cat file ${data}/secret 2>/dev/null; touch mark 2>/dev/null && echo wrote; true\n`,
    ].join('\n');
    for (const [name, cap] of [
      ['look', ''],
      ['reads', `fork ro\nfs.read ${data}\n`],
      ['writes', 'fork rw\n'],
    ] as const) {
      put(`tool/${name}`, look, 0o755);
      put(`tool/${name}.d/cap`, cap);
    }
    const cwd = project({ file: 'mine' });
    const script = [
      'touch ~/own /tmp/own; export GIVEN=x',
      call('look', { a: 1 }),
      call('reads', {}),
      call('writes', {}),
    ];
    const report = await execute(host, request(cwd, script.join('\n'), { agent: 'user' }), onFork);
    const [apart, reads, writes] = (report.stdout?.text ?? '').split(/(?<== \d+)\n/);
    assert.equal(apart, '{"a":1}:/tmp:\nwrote\n= 0', 'an empty /tmp is its own');
    assert.equal(reads, `{}:${cwd}:\nminedata= 0`, JSON.stringify(reads));
    assert.equal(writes, `{}:${cwd}:\nminewrote\n= 0`, JSON.stringify(writes));
    assert.deepEqual(
      report.changes.map(({ kind, path }) => `${kind} ${path}`),
      ['added mark'],
    );
  });

  const server = `while IFS= read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
    case $line in
      *'"initialize"'*) said='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
      *'"tools/list"'*) said='{"tools":[{"name":"pid","inputSchema":{"type":"object"}},{"name":"end","inputSchema":{"type":"object"}}]}' ;;
      *'"name":"pid"'*) said='{"content":[{"type":"text","text":"'"$PWD $VARIABLE $$"'"}]}' ;;
      *'"name":"end"'*) exit 5 ;;
      *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$said"
  done`;

  it('calls tools of a server that starts with the first call, goes on, is started again, and ends with the view', async () => {
    const from = {
      server: { kind: 'stdio', command: 'sh', args: ['-c', server], environment: { VARIABLE: "it's" } },
      from: 'test',
    } as const;
    const staged = stageSource({ root, uid }, 'system', 'src', { ...from, cap: '' });
    const cwd = project({ file: '' });
    await listSource(host, { name: 'src', directory: staged.directory, cwd });
    staged.place();
    agent('caller', ['tool:mcp.src.pid execute', 'tool:mcp.src.end execute']);
    const script = ['pid', 'pid', 'end', 'pid'].map((name) => call(`mcp.src.${name}`, {}));
    const report = await execute(host, request(cwd, script.join('\n'), { agent: 'caller' }), onFork);
    const [first, second, third, fourth] = (report.stdout?.text ?? '').split(/(?<== \d+)\n/);
    assert.match(first ?? '', /^\S+ it's \d+\n= 0$/);
    assert.equal(second, first, 'the same process');
    assert.match(third ?? '', /its server is gone: it ended with exit code 5/);
    assert.match(fourth ?? '', /^\S+ it's \d+\n= 0$/);
    assert.deepEqual(viewsLeft(), []);
    const servers = entriesOf(0, 'exec').filter(({ object }) => object.includes('mcp.src'));
    assert.ok(
      servers.length >= 4 && servers.filter(({ status }) => status === 'begin').length * 2 === servers.length,
      String(servers.length),
    );
  });

  it('on the directory itself has no fork to ask for, and tools run where it does', async () => {
    agent('live', ['tool:fork.checkpoint execute', 'tool:fork.diff execute', 'tool:shell.exec execute']);
    const cwd = project({ file: 'text' });
    const script = [call('fork.checkpoint', {}), call('fork.diff', {}), call('shell.exec', { cmd: 'cat file' })];
    const report = await execute(host, request(cwd, script.join('\n'), { agent: 'live' }), onDirectory);
    const [checkpoint, diff, shell] = (report.stdout?.text ?? '').split(/(?<== \d+)\n/);
    for (const said of [checkpoint, diff]) assert.match(said ?? '', /\(ENOTSUP\)[\s\S]*= [^0]\d*$/);
    assert.equal(shell, 'text= 0');
    const inside = entriesOf(0, 'exec').filter(({ facts }) => facts?.['caller'] === report.run);
    assert.deepEqual(
      inside.map(({ facts }) => facts?.['live']),
      [true, true],
    );
    assert.deepEqual(
      report.warnings.filter((text) => text.includes('checkpoint')),
      [],
    );
  });

  it('has a home that is its agent’s, whatever it works on, unless another one was given', async () => {
    agent('homely', ['tool:fs.read execute']);
    const given = project();
    const run = async (script: string, more: Partial<ExecRequest> = {}) =>
      (await execute(host, request(project(), script, { agent: 'homely', ...more }), onFork)).stdout?.text;
    const script = 'ls ~/data; touch ~/data/kept && touch ~/log/x 2> /dev/null || echo closed';
    assert.deepEqual([await run(script), await run(script)], ['closed\n', 'kept\nclosed\n']);
    if (uid !== 0) assert.equal(await run('ls -A ~; touch ~/mine', { home: given }), '');
  });

  it('calls tools in a kept jail, too: what they run is beside its caller there, and as read-only as that', async () => {
    agent('keeper', ['tool:shell.exec execute', 'tool:fork.checkpoint execute']);
    const cwd = project({ file: 'text' });
    const { argv: _argv, streams: _streams, ...kept } = request(cwd, '', { agent: 'keeper' });
    const jail = await KeptJail.start(host, kept);
    try {
      const script = [
        call('shell.exec', { cmd: 'cat file; touch made 2> /dev/null || echo closed' }),
        call('fork.checkpoint', {}),
      ].join('\n');
      const exec = (more: object) => jail.exec({ argv: ['sh', '-c', script], cwd, environmentAdditions: [], ...more });
      const writes = await exec({});
      const [said] = (writes.stdout?.text ?? '').split(/(?<== \d+)\n/);
      assert.deepEqual([said, writes.changes.map(({ path }) => path)], ['text= 0', ['made']], writes.stdout?.text);
      assert.match(writes.warnings.join('\n'), /checkpoint/);
      const reads = await exec({ readonly: true });
      assert.match(reads.stdout?.text ?? '', /^textclosed\n= 0\n/);
      const inside = entriesOf(0, 'exec').filter(({ facts }) => facts?.['keptJail'] === jail.id);
      assert.equal(inside.filter(({ status }) => status === 'begin').length, 4);
    } finally {
      await jail.end();
    }
    assert.deepEqual(viewsLeft(), []);
  });

  it('calls tools beside connections for lines that ask nothing', async () => {
    agent('keeper', ['tool:fs.read execute']);
    const program = `const { connect } = require('net');
      const { execFileSync } = require('child_process');
      const path = '/run/ctx/agent.sock';
      const opened = Array.from({ length: ${viewCalls + 1} }, () => connect(path));
      Promise.all(opened.map((socket) => new Promise((resolve) => {
        socket.write('{"id":"p","op":"ping"}\\n');
        socket.once('data', resolve);
      }))).then(() => {
        process.stdout.write(execFileSync('/ctx/tool/fs.read', ['{"path":"file"}']));
        for (const socket of opened) socket.destroy();
      });`;
    const cwd = project({ file: 'text', 'client.cjs': program });
    const reads = [dirname(dirname(process.execPath))].filter((path) => path !== '/usr');
    const script = `ls /ctx > /dev/null; exec '${process.execPath}' client.cjs`;
    const report = await execute(host, request(cwd, script, { agent: 'keeper', reads }), onFork);
    assert.deepEqual([report.exitCode, report.stdout?.text], [0, 'text'], report.stderr?.text);
  });

  it('calls tools by lines, too: those that need its files are run beside it, as the objects that they are', async () => {
    agent('liner', ['tool:fs.read execute', 'tool:shell.exec execute']);
    // Each means something to a shell, and more than once.
    const name = 'it\'s \'a\' "name" "of" $HOME $(id) `id` `id` \\ \\ ; ;';
    const requests = [
      { tool: 'fs.read', input: { path: name } },
      { tool: 'fs.read', input: { path: 'none' } },
      { tool: 'fs.read', input: { path: 'x'.repeat(64 * 1024) } },
      { tool: 'fs.write', input: { path: 'x' } },
      { tool: 'shell.exec', input: { cmd: 'pwd; exit 4' }, directory: '/tmp' },
      { tool: 'a/b', input: {} },
    ].map((each, index) => JSON.stringify({ id: String(index), op: 'call', ...each }));
    const program = `const socket = require('net').connect('/run/ctx/agent.sock');
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
        const ended = text.split('\\n').slice(0, -1).map((line) => JSON.parse(line)).filter(({ type }) => type === 'result');
        if (ended.length === ${requests.length}) { process.stdout.write(text); socket.destroy(); }
      });
      for (const line of ${JSON.stringify(requests)}) socket.write(line + '\\n');`;
    const cwd = project({ [name]: 'text', 'client.cjs': program.replaceAll('\\\\n', '\\n') });
    const reads = [dirname(dirname(process.execPath))].filter((path) => path !== '/usr');
    const from = recorded.length;
    // The socket is there once the view has been looked into.
    const script = `ls /ctx > /dev/null; exec '${process.execPath}' client.cjs`;
    const report = await execute(host, request(cwd, script, { agent: 'liner', reads }), onFork);
    const answers = (report.stdout?.text ?? '').split('\n').slice(0, -1);
    const found = answers.map((line) => JSON.parse(line) as Record<string, unknown>);
    const result = (id: number) => {
      const { reason, ...rest } = found.find((each) => each['id'] === String(id) && each['type'] === 'result') ?? {};
      const printed = found.filter((each) => each['id'] === String(id) && each['type'] === 'output');
      const text = printed.map((each) => each['text']).join('');
      return [rest['ok'], rest['exitCode'], rest['error'], text.replace(/ctx: [\s\S]*/, ''), typeof reason];
    };
    assert.deepEqual(
      result(0),
      [true, 0, undefined, 'text', 'undefined'],
      `${report.stdout?.text}${report.stderr?.text}`,
    );
    assert.deepEqual(result(1).slice(0, 3), [false, 1, 'EIO']);
    assert.deepEqual(result(2), [false, undefined, 'EINVAL', '', 'string']);
    assert.deepEqual(result(3).slice(0, 3), [false, 13, 'EACCES']);
    assert.deepEqual(result(4).slice(0, 4), [false, 1, 'EIO', '/tmp\n']);
    assert.deepEqual(result(5), [false, undefined, 'EINVAL', '', 'string']);
    const calls = entriesOf(from, 'tool.call').filter(({ object }) => object === 'tool/fs.read');
    assert.ok(calls.some(({ status }) => status === 'ok') && calls.some(({ status }) => status === 'failed'));
  });
});
