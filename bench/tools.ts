/**
 * Tools as files: what a call costs beside reading the file by `cat`, by a start of Node and over `ctx mcp`; what a listing of 2,000 tools
 * costs beside one of a tmpfs; and what the view adds to a launch.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Workspace } from '../src/sdk/workspace/workspace.js';
import { measure, print } from './measure.js';
import { ctxProgram, run, setStage, useOnce } from './stage/stage.js';

const many = 2_000;
/** In one command, so that what is timed is the calls and not the command. */
const calls = 50;

const stage = setStage('tools');
/** Of the jail's own. */
const tmpfs = '/dev/shm/tool';
try {
  await useOnce(stage);
  const { host, project, environment } = stage;
  const ctx = (...words: readonly string[]) => run(ctxProgram, words, { cwd: project, env: environment });
  writeFileSync(join(project, 'file'), 'a line\n'.repeat(40));
  const names = Array.from({ length: many }, (_, index) => `tool${index}`);
  const rules = (agent: string, tools: readonly string[]) =>
    tools.map((tool) => `allow ${agent}_t tool:${tool} execute\n`).join('');
  await ctx('agent', 'new', 'few');
  await ctx('agent', 'set', 'few', 'policy', rules('few', ['fs.read']));
  await ctx('agent', 'new', 'many');
  const policy = join(stage.directory, 'policy');
  writeFileSync(policy, rules('many', names));
  await ctx('agent', 'set', 'many', 'policy', '--from', policy);
  const tier = join(host.root, 'tool');
  mkdirSync(tier, { recursive: true });
  for (const name of names) {
    writeFileSync(join(tier, name), '#!/bin/sh\n', { mode: 0o755 });
    mkdirSync(join(tier, `${name}.d`));
  }
  for (const fork of ['few', 'many', 'mcp']) await ctx('fork', 'create', fork);
  const workspace = new Workspace(host, project, { fork: 'few', agent: 'few' });
  const listing = new Workspace(host, project, { fork: 'many', agent: 'many' });
  await listing.run({
    shell: `mkdir ${tmpfs} && cd ${tmpfs} && seq -f tool%g 0 ${many - 1} | xargs touch && seq -f tool%g.d 0 ${many - 1} | xargs mkdir`,
  });
  const client = new Client({ name: 'bench', version: '1' });
  const env = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  );
  const args = ['mcp', '--fork', 'mcp', '--agent', 'few'];
  await client.connect(new StdioClientTransport({ command: ctxProgram, args, cwd: project, env }));
  const repeated = (text: string) => () =>
    workspace.run({ shell: `n=${calls}; while [ $n -gt 0 ]; do ${text} > /dev/null; n=$((n - 1)); done` });
  try {
    print(
      await measure({
        title: `Reading a small file ${calls} times in one command of a kept jail`,
        anchor: 'cat',
        rounds: 11,
        directory: stage.directory,
        subjects: [
          { name: 'cat', run: repeated('/bin/cat file') },
          { name: 'fs.read as a file', run: repeated(`/ctx/tool/fs.read '{"path":"file"}'`) },
          { name: 'node', run: repeated(`node -e 'fs.readFileSync("file")'`) },
        ],
        notes: [`Divide by ${calls}: each is a process that the shell starts. The aim of a call is 1 ms.`],
      }),
    );
    print(
      await measure({
        title: 'The same file over ctx mcp',
        anchor: 'read_file',
        rounds: 31,
        directory: stage.directory,
        subjects: [
          { name: 'read_file', run: () => client.callTool({ name: 'read_file', arguments: { path: 'file' } }) },
          { name: 'fs.read', run: () => client.callTool({ name: 'fs.read', arguments: { path: 'file' } }) },
        ],
        notes: ['One call each: decided, recorded, with a checkpoint.'],
      }),
    );
    print(
      await measure({
        title: `ls -l of ${many} tools and their directories`,
        anchor: 'tmpfs',
        rounds: 11,
        directory: stage.directory,
        subjects: [
          { name: 'tmpfs', run: () => listing.run({ shell: `ls -l ${tmpfs} > /dev/null` }) },
          { name: '/ctx/tool', run: () => listing.run({ shell: 'ls -l /ctx/tool > /dev/null' }) },
        ],
      }),
    );
    print(
      await measure({
        title: 'A cold ctx exec -- true',
        anchor: 'without an agent',
        rounds: 31,
        directory: stage.directory,
        subjects: [
          { name: 'without an agent', run: () => ctx('exec', '--', 'true') },
          { name: 'with a view', run: () => ctx('exec', '--agent', 'few', '--', 'true') },
          {
            name: 'that is looked into',
            run: () => ctx('exec', '--agent', 'few', '--', 'test', '-x', '/ctx/tool/fs.read'),
          },
        ],
        notes: ['The aim is that a view adds less than 2 ms; resolving the agent is in it.'],
      }),
    );
  } finally {
    await client.close();
    await workspace.close();
    await listing.close();
  }
} finally {
  stage.end();
}
