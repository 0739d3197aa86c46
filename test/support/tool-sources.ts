/** MCP servers for tests: the one of this checkout, put where its jail can be shown it, and named by a file. */
import assert from 'node:assert/strict';
import { accessSync, constants, copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finished } from './process.js';
import { checkout } from './program.js';
import type { Stage } from './stage.js';

/** Why views cannot be shown here. */
export const withoutViews = (() => {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
    return false as const;
  } catch {
    return '/dev/fuse cannot be opened here';
  }
})();

export async function ok(stage: Stage, cwd: string, words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await stage.ctx(cwd, words);
  assert.equal(code, 0, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

/** The path of the server, readable for every user. */
export function serverOf(stage: Stage): string {
  const path = join(stage.directory, 'mcp-server.mjs');
  if (!existsSync(path)) copyFileSync(join(checkout, 'test', 'support', 'mcp-server.mjs'), path);
  return path;
}

/** A configuration with one server of the name; `how` is what it does wrong. */
export function configuration(stage: Stage, name: string, how = 'good', more: object = {}): string {
  const file = join(stage.directory, `${name}.mcp.json`);
  const server = { command: 'node', args: [serverOf(stage), how], ...more };
  writeFileSync(file, JSON.stringify({ mcpServers: { [name]: server } }));
  return file;
}

export function add(stage: Stage, cwd: string, name: string, how = 'good', ...words: string[]): Promise<Finished> {
  const file = configuration(stage, name, how);
  return stage.ctx(cwd, ['tool', 'source', 'add', name, '--mcp', file, '--read', serverOf(stage), ...words]);
}

/** An agent that may call these tools. */
export async function agentWith(stage: Stage, cwd: string, agent: string, tools: readonly string[]): Promise<void> {
  await ok(stage, cwd, ['agent', 'new', agent]);
  const rules = tools.map((tool) => `allow ${agent}_t tool:${tool} execute\n`).join('');
  await ok(stage, cwd, ['agent', 'set', agent, 'policy', rules]);
}
