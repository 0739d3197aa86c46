/**
 * Files in which harnesses name MCP servers, read as they are: `mcpServers` of Claude Code (`.mcp.json`), `servers` of VS Code
 * (`.vscode/mcp.json`, comments allowed) and `[mcp_servers.NAME]` of Codex (`config.toml`). Members that are about the harness (time
 * limits, which tools it asks about) are passed over: what may be called is said by policies. Pure.
 */

import { ErrnoError } from '../../base/errno.js';
import {
  either,
  having,
  list,
  mapOf,
  membersOf,
  oneOf,
  optional,
  parseJson,
  type Shape,
  word,
} from '../../base/shape.js';
import { isRecord } from '../schema-check.js';
import { plainJson } from './json-with-comments.js';

export type ServerConfig =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly environment: Readonly<Record<string, string>>;
      /** Where it starts, as written. */
      readonly directory?: string | undefined;
    }
  | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> };

const http = having({ kind: oneOf('http'), url: word, headers: mapOf(word) });
const stdio = having({
  kind: oneOf('stdio'),
  command: word,
  args: list(word),
  environment: mapOf(word),
  directory: optional(word),
});

/** Of one that was written down. */
export const serverShape: Shape = either((value) => membersOf(value)['kind'] === 'http', http, stdio);

type Members = Readonly<Record<string, unknown>>;

const forms = ['mcpServers', 'servers', 'mcp_servers'] as const;
const formsText = 'expected `mcpServers` (Claude Code), `servers` (VS Code) or `[mcp_servers.NAME]` (Codex)';

export function refuseConfig(file: string, reason: string, remedy?: string): never {
  throw new ErrnoError('EINVAL', { operation: '--mcp', path: file, reason, remedy });
}

/** The servers of a file by their names. `parseToml` is asked where the file's name ends so. */
export function serversIn(
  text: string,
  file: string,
  parseToml: (text: string) => unknown,
): ReadonlyMap<string, Members> {
  let all: unknown;
  try {
    all = file.endsWith('.toml') ? parseToml(text) : parseJson(plainJson(text));
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'not readable';
    return refuseConfig(file, `expected ${file.endsWith('.toml') ? 'TOML' : 'JSON'}: ${said}`);
  }
  const form = isRecord(all) ? forms.find((each) => isRecord((all as Members)[each])) : undefined;
  if (form === undefined) return refuseConfig(file, formsText);
  const servers = Object.entries((all as Readonly<Record<string, Members>>)[form] ?? {});
  return new Map(
    servers.map(([name, server]) => [
      name,
      isRecord(server) ? server : refuseConfig(file, `${name}: expected a server`),
    ]),
  );
}

/** The server that NAME means: the one of that name, or the only one that the file has. */
export function chosenServer(
  servers: ReadonlyMap<string, Members>,
  file: string,
  name: string,
  server?: string,
): string {
  const names = [...servers.keys()];
  const wanted = server ?? (servers.has(name) ? name : names.length === 1 ? names[0] : undefined);
  if (wanted !== undefined && servers.has(wanted)) return wanted;
  const have = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`;
  return refuseConfig(
    file,
    `expected a server ${server ?? name}: ${have}`,
    names.length === 0 ? undefined : `--server ${names[0]} takes that one, whatever the source is called`,
  );
}

class Reader {
  readonly #at: string;
  readonly #file: string;
  readonly #members: Members;

  constructor(members: Members, file: string, at: string) {
    this.#members = members;
    this.#file = file;
    this.#at = at;
  }

  refuse(reason: string, remedy?: string): never {
    return refuseConfig(this.#file, `${this.#at}: ${reason}`, remedy);
  }

  text(member: string): string | undefined {
    const value = this.#members[member];
    if (value === undefined) return undefined;
    if (typeof value !== 'string' || value.includes('\0')) this.refuse(`expected ${member} to be a text`);
    return value;
  }

  texts(member: string): readonly string[] {
    const value = this.#members[member] ?? [];
    const isGood = Array.isArray(value) && value.every((each) => typeof each === 'string' && !each.includes('\0'));
    return isGood ? (value as string[]) : this.refuse(`expected ${member} to be a list of texts`);
  }

  /** Numbers and truth values become texts: people write ports without quotes. */
  pairs(member: string): Readonly<Record<string, string>> {
    const value = this.#members[member] ?? {};
    if (!isRecord(value)) return this.refuse(`expected ${member} to be names and texts`);
    const entries = Object.entries(value).map(([name, each]): readonly [string, string] => {
      if (!['string', 'number', 'boolean'].includes(typeof each) || String(each).includes('\0')) {
        return this.refuse(`expected ${member}.${name} to be a text`);
      }
      return [name, String(each)];
    });
    return Object.fromEntries(entries);
  }
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** `${NAME}` as Claude Code writes it, which is expanded later, where a value is looked at. */
function named(names: Readonly<Record<string, string>>, scheme = ''): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(names).map(([name, variable]) => [name, `${scheme}\${${variable}}`]));
}

function httpOf(read: Reader, url: string): ServerConfig {
  const bearer = read.text('bearer_token_env_var');
  const headers = {
    ...read.pairs('headers'),
    ...read.pairs('http_headers'),
    ...named(read.pairs('env_http_headers')),
    ...(bearer === undefined ? {} : named({ Authorization: bearer }, 'Bearer ')),
  };
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[A-Za-z0-9-]{1,64}$/.test(name)) read.refuse(`expected the name of a header, got ${JSON.stringify(name)}`);
    if (/[\r\n]/.test(value)) read.refuse(`expected header ${name} to be one line`);
  }
  return { kind: 'http', url, headers };
}

function stdioOf(read: Reader, command: string): ServerConfig {
  if (command === '') read.refuse('expected command to be a program');
  const passed = Object.fromEntries(read.texts('env_vars').map((name) => [name, `\${${name}}`]));
  const environment = { ...passed, ...read.pairs('env') };
  for (const name of Object.keys(environment)) {
    if (!variableName.test(name)) read.refuse(`expected the name of a variable, got ${JSON.stringify(name)}`);
  }
  if (read.text('envFile') !== undefined) {
    read.refuse('envFile is not read', 'write the variables into env');
  }
  return { kind: 'stdio', command, args: read.texts('args'), environment, directory: read.text('cwd') };
}

/** As the file says it: variables are not expanded yet. */
export function serverConfig(members: Members, file: string, name: string): ServerConfig {
  const read = new Reader(members, file, name);
  const type = read.text('type') ?? read.text('transport');
  const [command, url] = [read.text('command'), read.text('url')];
  if (type === 'sse') {
    read.refuse('the transport sse is not supported', 'most servers speak streamable HTTP at /mcp: type "http"');
  }
  if ((command === undefined) === (url === undefined)) read.refuse('expected command (stdio) or url (streamable HTTP)');
  const expected = url === undefined ? ['stdio'] : ['http', 'streamable-http', 'streamableHttp', 'streamable_http'];
  if (type !== undefined && !expected.includes(type)) {
    read.refuse(`expected type ${expected[0]}, got ${JSON.stringify(type)}`);
  }
  return url === undefined ? stdioOf(read, command ?? '') : httpOf(read, url);
}
