/** MCP servers that others wrote, from npm, each in its jail and called as files by an agent that has none of what they have. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { agentWith, executes, ok, withoutViews } from '../support/agents.js';
import { parseJson, useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

/** They are not dependencies of ours: no other test needs them, and everybody would download them. */
const skip =
  process.env['CTX_SOAK'] === '1' ? withoutViews : 'downloads 148 packages, 51 MB, from the registry: npm run soak';

const packages = [
  '@modelcontextprotocol/server-filesystem@2026.8.31',
  '@modelcontextprotocol/server-memory@2026.8.31',
  '@modelcontextprotocol/server-everything@2026.8.31',
  '@cyanheads/git-mcp-server@2.15.3',
];

forEitherUser((user) => {
  describe('real MCP servers', { skip, concurrency: 1 }, () => {
    const stage = useStage(user);
    let modules = '';
    before(() => {
      const directory = stage.makeDirectory('servers');
      modules = join(directory, 'node_modules');
      stage.shell(
        directory,
        `npm install --ignore-scripts --no-audit --no-fund --loglevel=error ${packages.join(' ')} >&2`,
      );
    });

    test('filesystem, memory, everything and git work in their jails, with what is granted to them', async () => {
      const commit = 'git -c user.name=n -c user.email=n@example.org commit -q --allow-empty -m first';
      const project = stage.project(`git init -q; ${commit}; echo hello > file`);
      const at = (name: string) => join(modules, name, 'dist', 'index.js');
      const server = (name: string, args: readonly string[] = [], env: object = {}) => ({
        command: 'node',
        args: [at(name), ...args],
        env,
      });
      const memory = join(stage.home, 'memory.jsonl');
      const file = join(stage.directory, 'config.json');
      const mcpServers = {
        files: server('@modelcontextprotocol/server-filesystem', [project]),
        memory: server('@modelcontextprotocol/server-memory', [], { MEMORY_FILE_PATH: memory }),
        everything: server('@modelcontextprotocol/server-everything'),
        git: server('@cyanheads/git-mcp-server', [], { MCP_TRANSPORT_TYPE: 'stdio', LOGS_DIR: '/tmp/logs' }),
      };
      writeFileSync(file, JSON.stringify({ mcpServers }));
      for (const name of Object.keys(mcpServers)) {
        const fork = name === 'files' || name === 'git' ? ['--fork', 'rw'] : [];
        await ok(stage, project, ['tool', 'source', 'add', name, '--mcp', file, '--read', modules, ...fork]);
      }
      const tools = [
        ...['files.read_text_file', 'files.write_file', 'memory.create_entities', 'memory.read_graph'],
        ...['everything.echo', 'everything.get-sum', 'everything.get-tiny-image', 'everything.get-env', 'git.git_log'],
      ];
      await agentWith(stage, project, 'coder', ...executes(...tools.map((name) => `mcp.${name}`)));
      const entity = '{"entities": [{"name": "x", "entityType": "t", "observations": ["seen"]}]}';
      const script = [
        'cd /ctx/tool; set -e',
        `./mcp.files.read_text_file '{"path": "${project}/file"}'; echo '{"message": "hi"}' | ./mcp.everything.echo`,
        `./mcp.files.write_file '{"path": "${project}/made", "content": "by a tool"}' > /dev/null; cat ${project}/made; echo`,
        `./mcp.files.read_text_file '{"path": "/etc/passwd"}' 2>&1 || echo "refused $?"`,
        `./mcp.everything.get-sum '{"a": 1, "b": 2}'; ./mcp.everything.get-tiny-image | grep -c '"type":"image"'`,
        `./mcp.memory.create_entities '${entity}' > /dev/null; ./mcp.git.git_log '{"path": "${project}"}' | grep -o '"subject":"first"'`,
        './mcp.everything.get-env | grep -cE "CTX_(ROOT|HOME|DATA)" || true',
      ].join('\n');
      const words = ['exec', '--json', '--agent', 'coder', '--', 'sh', '-c', script];
      const { stdout, stderr } = await stage.ctx(project, words);
      const envelope = parseJson(stdout, stderr) as Envelope;
      assert.match(
        envelope.stdout?.text ?? '',
        /^{"content":"hello\\n"}\nEcho: hi\nby a tool\n[\s\S]*Access denied[\s\S]*refused 1\nThe sum of 1 and 2 is 3\.\n1\n"subject":"first"\n0\n$/,
        envelope.stderr?.text,
      );
      assert.deepEqual([existsSync(join(project, 'made')), existsSync(memory)], [false, false]);
      const graph = JSON.parse(await ok(stage, project, ['tool', 'call', 'mcp.memory.read_graph', '{}'])) as object;
      assert.deepEqual(graph, {
        entities: [{ name: 'x', entityType: 't', observations: ['seen'] }],
        relations: [],
      });
    });
  });
});
