import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'smol-toml';
import { chosenServer, serverConfig, serversIn } from './server-config.js';
import { type Settling, settledServer, standIn } from './settled-server.js';

function read(text: string, name: string, file = '.mcp.json') {
  const servers = serversIn(text, file, parse);
  const chosen = chosenServer(servers, file, name);
  return serverConfig(servers.get(chosen) ?? {}, file, chosen);
}

const settling: Settling = {
  file: '.mcp.json',
  name: 'x',
  environment: { TOKEN_FILE: '/t', PORT: '8080', GITHUB_TOKEN: 'ghp_000000000000000000000000' },
  folder: '/project',
  home: '/home/me',
  secrets: [],
  passed: [],
};

const invalid = (pattern: RegExp) => (error: Error & { code?: string; remedy?: string }) => {
  assert.equal(error.code, 'EINVAL');
  assert.match(`${error.message} ${error.remedy ?? ''}`, pattern);
  return true;
};

describe('files that name MCP servers', () => {
  it('are named where they cannot be read, or have no servers', () => {
    for (const [text, file] of [
      ['{', '.mcp.json'],
      ['{}', 'other.json'],
      ['7', 'other.json'],
      ['{"mcpServers":[]}', 'other.json'],
      ['{"mcpServers":{"a":7}}', 'other.json'],
      ['= 1', 'config.toml'],
      ['a = 1', 'config.toml'],
    ] as const) {
      assert.throws(() => serversIn(text, file, parse), { code: 'EINVAL', operation: '--mcp', path: file }, text);
    }
  });

  it('are refused where a member is not of its kind, or has a byte that ends texts', () => {
    const stdio = { command: 'x', args: ['a'], env: { A: '1' }, cwd: '/srv', type: 'stdio' };
    const whole = (server: object) => JSON.stringify({ mcpServers: { a: server } });
    assert.equal(read(whole(stdio), 'a').kind, 'stdio');
    const bad: Readonly<Record<string, readonly unknown[]>> = {
      command: [5, true, [], {}, 'x\0y'],
      cwd: [5, ['/srv'], '/srv\0'],
      type: [5, {}, 'stdio\0'],
      args: ['a', 5, [5], ['a', null], ['a\0']],
      env: ['A=1', ['A'], { A: {} }, { A: null }, { A: ['1'] }, { A: '1\0' }],
    };
    for (const [member, values] of Object.entries(bad)) {
      for (const value of values) {
        const given = JSON.stringify({ [member]: value });
        assert.throws(() => read(whole({ ...stdio, [member]: value }), 'a'), invalid(new RegExp(member)), given);
      }
    }
    const numbers = read(whole({ ...stdio, env: { A: 1, B: true } }), 'a');
    assert.deepEqual('environment' in numbers && numbers.environment, { A: '1', B: 'true' });
  });

  it('are read as Claude Code, VS Code and Codex write them', () => {
    const claude =
      '{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"PORT": 1}}, "b": {"type": "http", "url": "https://x.example/mcp"}}}';
    assert.deepEqual(read(claude, 'a'), {
      kind: 'stdio',
      command: 'npx',
      args: ['-y', 'x'],
      environment: { PORT: '1' },
      directory: undefined,
    });
    assert.deepEqual(read(claude, 'b'), { kind: 'http', url: 'https://x.example/mcp', headers: {} });
    const code =
      '// of the team\n{"servers": {"a": {"type": "stdio", "command": "x//y", /* "args": */ "args": [],},}, "inputs": []}';
    assert.deepEqual(read(code, 'other'), {
      kind: 'stdio',
      command: 'x//y',
      args: [],
      environment: {},
      directory: undefined,
    });
    const codex =
      '[mcp_servers.a]\ncommand = "x"\ncwd = "/srv"\nenv_vars = ["LANG"]\nstartup_timeout_sec = 3\n[mcp_servers.b]\nurl = "https://x.example"\nbearer_token_env_var = "X_TOKEN"\n';
    assert.deepEqual(read(codex, 'a', 'config.toml'), {
      kind: 'stdio',
      command: 'x',
      args: [],
      environment: { LANG: '$' + '{LANG}' },
      directory: '/srv',
    });
    assert.deepEqual(read(codex, 'b', 'config.toml'), {
      kind: 'http',
      url: 'https://x.example',
      headers: { Authorization: 'Bearer $' + '{X_TOKEN}' },
    });
  });

  it('are refused with what is wrong', () => {
    const two = '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}';
    const wrong: readonly (readonly [string, RegExp])[] = [
      ['{', /expected JSON/],
      ['{"tools": {}}', /mcpServers.*servers.*mcp_servers/],
      [two, /expected a server c: it has a, b.*--server a/],
      ['{"mcpServers": {}}', /it has none/],
      ['{"mcpServers": {"c": 7}}', /c: expected a server/],
      ['{"mcpServers": {"c": {}}}', /expected command \(stdio\) or url/],
      ['{"mcpServers": {"c": {"command": "x", "url": "y"}}}', /expected command \(stdio\) or url/],
      ['{"mcpServers": {"c": {"type": "sse", "url": "https://x"}}}', /sse is not supported/],
      ['{"mcpServers": {"c": {"type": "http", "command": "x"}}}', /expected type stdio/],
      ['{"mcpServers": {"c": {"command": "x", "args": "y"}}}', /args to be a list/],
      ['{"mcpServers": {"c": {"command": "x", "env": {"A;B": "y"}}}}', /name of a variable/],
      ['{"mcpServers": {"c": {"command": "x", "env": {"A": ["y"]}}}}', /env\.A to be a text/],
      ['{"mcpServers": {"c": {"url": "https://x", "headers": {"A": "x\\ny"}}}}', /one line/],
    ];
    for (const [text, pattern] of wrong) assert.throws(() => read(text, 'c'), invalid(pattern), text);
    assert.throws(() => read('[mcp', 'c', 'config.toml'), invalid(/expected TOML/));
  });

  it('have their variables expanded once', () => {
    const { server } = settledServer(
      {
        kind: 'stdio',
        command: '$' + '{userHome}/x',
        args: ['$' + '{workspaceFolder}', '$' + '{PORT}', '$' + '{NOPE:-none}'],
        environment: { P: '$' + '{env:PORT}' },
      },
      settling,
    );
    assert.deepEqual(server, {
      kind: 'stdio',
      command: '/home/me/x',
      args: ['/project', '8080', 'none'],
      environment: { P: '8080' },
      directory: undefined,
    });
    const bad = (word: string) => () =>
      settledServer({ kind: 'stdio', command: word, args: [], environment: {} }, settling);
    assert.throws(bad('$' + '{NOPE}'), invalid(/variable NOPE is not set/));
    assert.throws(bad('$' + '{input:key}'), invalid(/expected a variable.*ctx secret set/));
  });

  it('keep no secret: it is stored, and stands in for itself, or is passed by name', () => {
    const variable = (environment: Readonly<Record<string, string>>, more: Partial<Settling> = {}) => {
      const { server } = settledServer(
        { kind: 'stdio', command: 'x', args: [], environment },
        { ...settling, ...more },
      );
      return server.kind === 'stdio' ? server.environment : {};
    };
    const token = { GITHUB_TOKEN: 'ghp_000000000000000000000000' };
    assert.throws(
      () => variable(token),
      invalid(/GITHUB_TOKEN looks like a secret.*ctx secret set GITHUB_TOKEN.*--pass-env GITHUB_TOKEN/),
    );
    assert.throws(() => variable({ HARMLESS: token.GITHUB_TOKEN }), invalid(/HARMLESS looks like a secret/));
    assert.throws(() => variable({ X: '$' + '{GITHUB_TOKEN}' }), invalid(/X looks like a secret/));
    assert.deepEqual(variable(token, { passed: ['GITHUB_TOKEN'] }), token);
    const secrets = [{ name: 'GITHUB_TOKEN', host: 'api.github.com', header: 'Authorization' }];
    assert.deepEqual(variable(token, { secrets }), { GITHUB_TOKEN: standIn('GITHUB_TOKEN') });
    assert.deepEqual(variable({ GITHUB_TOKEN: '' }), { GITHUB_TOKEN: '' });
    const header = (value: string, more: Partial<Settling> = {}) =>
      settledServer(
        { kind: 'http', url: 'https://api.github.com/mcp', headers: { Authorization: value, Accept: 'x' } },
        { ...settling, ...more },
      );
    assert.throws(() => header('Bearer abc'), invalid(/--secret 'api\.github\.com Authorization: Bearer \$X_TOKEN'/));
    assert.throws(() => header('Bearer $' + '{GITHUB_TOKEN}'), invalid(/Bearer \$GITHUB_TOKEN'/));
    assert.deepEqual(header('Bearer abc', { secrets }).server, {
      kind: 'http',
      url: 'https://api.github.com/mcp',
      headers: { Accept: 'x' },
    });
    const { warnings } = settledServer(
      { kind: 'stdio', command: 'x', args: ['--key', 'sk-0000000000000000000000'], environment: {} },
      settling,
    );
    assert.match(warnings[0] ?? '', /argument 2 looks like a secret/);
    for (const url of ['ftp://x', 'x', 'https://me:pass@x.example/']) {
      assert.throws(() => settledServer({ kind: 'http', url, headers: {} }, settling), invalid(/expected url/));
    }
  });
});
