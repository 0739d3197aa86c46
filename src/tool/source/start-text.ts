/** The program that a source's jail runs, as one file. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromSystemError } from '../../base/errno.js';
import { installationRoot } from '../../base/installation.js';
import type { ServerConfig } from '../../objects/source/server-config.js';
import type { ToolGrants } from '../../proxy/agent-views.js';
import type { BridgeConfiguration } from './http-bridge.js';

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The server with its variables, as a shell script. */
function script({ command, args, environment, directory }: Extract<ServerConfig, { kind: 'stdio' }>): string {
  const lines = [
    '#!/bin/sh',
    ...Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}`),
    ...(directory === undefined ? [] : [`cd -- ${quoted(directory)} || exit 1`]),
    `exec ${[command, ...args].map(quoted).join(' ')}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** What speaks to a server by HTTP, for Node, with where that is. */
function bridge({ url, headers }: Extract<ServerConfig, { kind: 'http' }>, { secrets }: ToolGrants): string {
  const { hostname } = new URL(url);
  const configuration: BridgeConfiguration = {
    url,
    headers,
    isInjected: secrets.some(({ host }) => host === hostname),
  };
  const path = join(installationRoot(), 'dist', 'cli', 'bridge.cjs');
  try {
    const code = readFileSync(path, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
    return `#!/usr/bin/env node\nglobalThis.bridge=${JSON.stringify(configuration)};\n${code}`;
  } catch (error) {
    throw fromSystemError(error, 'read the bridge to HTTP', path);
  }
}

export function startText(server: ServerConfig, grants: ToolGrants): string {
  return server.kind === 'http' ? bridge(server, grants) : script(server);
}
