import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finished } from './process.js';
import { checkout } from './program.js';
import type { Stage } from './stage.js';

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
