/** The program that a source's jail runs. Pure. */
import { ErrnoError } from '../../base/errno.js';
import type { ServerConfig } from '../../objects/source/server-config.js';

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A shell script: the server with its variables. */
export function startText(server: ServerConfig): string {
  if (server.kind === 'http') {
    throw new ErrnoError('ENOTSUP', { operation: 'source', reason: 'servers by HTTP are not supported yet' });
  }
  const { command, args, environment, directory } = server;
  const lines = [
    '#!/bin/sh',
    ...Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}`),
    ...(directory === undefined ? [] : [`cd -- ${quoted(directory)} || exit 1`]),
    `exec ${[command, ...args].map(quoted).join(' ')}`,
  ];
  return `${lines.join('\n')}\n`;
}
