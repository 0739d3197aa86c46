/** What the SDK and `ctx mcp` add to a command of a jail: a turn, a message there and one back. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { KeptJail } from '../src/kept-jail/kept-jail.js';
import { Workspace } from '../src/sdk/workspace/workspace.js';
import { measure, print } from './measure.js';
import { ctxProgram, run, setStage, useOnce } from './stage/stage.js';

const argv = ['/bin/true'];

const stage = setStage('mcp');
try {
  await useOnce(stage);
  const { host, project, environment } = stage;
  // Each on a fork of its own: they do not wait for each other.
  for (const fork of ['sdk', 'mcp']) {
    await run(ctxProgram, ['fork', 'create', fork], { cwd: project, env: environment });
  }
  const jail = await KeptJail.start(host, { cwd: project, environmentAdditions: [], weakened: [], wait: false });
  const workspace = new Workspace(host, project, { fork: 'sdk' });
  const client = new Client({ name: 'bench', version: '1' });
  const env = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  );
  await client.connect(
    new StdioClientTransport({ command: ctxProgram, args: ['mcp', '--fork', 'mcp'], cwd: project, env }),
  );
  try {
    print(
      await measure({
        title: 'Running /bin/true in a kept jail',
        anchor: 'a kept jail',
        rounds: 101,
        directory: stage.directory,
        subjects: [
          { name: 'a kept jail', run: () => jail.exec({ argv, cwd: project, environmentAdditions: [] }) },
          { name: 'workspace.run', run: () => workspace.run(argv) },
          { name: 'exec over MCP', run: () => client.callTool({ name: 'exec', arguments: { argv } }) },
          { name: 'list over MCP', run: () => client.callTool({ name: 'list', arguments: {} }) },
        ],
        notes: ['Each decides, records, makes a checkpoint, mounts, runs and reports. The client is the official one.'],
      }),
    );
  } finally {
    await client.close();
    await workspace.close();
    await jail.end();
  }
} finally {
  stage.end();
}
