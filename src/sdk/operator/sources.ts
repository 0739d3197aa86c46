/**
 * Tool sources: MCP servers whose tools are objects `mcp.NAME.TOOL`. Adding one grants nothing to any agent: who may call a tool is said
 * by policies. Each change is in the record before it happens.
 */
import { basename, dirname, resolve } from 'node:path';
import { parseCapabilities, type ToolCapability } from '../../authority/capability.js';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import { sourceFileBytes } from '../../base/limits/objects.js';
import { sha256 } from '../../base/sha256.js';
import { readSmallFile } from '../../base/small-file.js';
import type { ObjectRoots, Tier } from '../../objects/layout.js';
import { chosenServer, type ServerConfig, serverConfig, serversIn } from '../../objects/source/server-config.js';
import { settledServer } from '../../objects/source/settled-server.js';
import {
  checkSourceName,
  type LocatedSource,
  listSources,
  readSource,
  refuseExistingSource,
  removeSource,
  requireSource,
  stageSource,
  ToolListFile,
} from '../../objects/source/source-store.js';
import { type LeftOut, sourceToolName } from '../../objects/source/tool-list.js';
import type { Host } from '../../proxy/host.js';
import { isForEveryUser, makeSystemObjects } from '../../vault/store/store-place.js';
import { toolHomes } from '../../vault/store/tool-home.js';
import { discard } from '../../vault/store/trash.js';
import { whileChanging } from '../../workspace/changing-objects.js';
import { recordedVerb } from '../../workspace/recorded-verb.js';
import { currentDirectory } from '../current-directory.js';

export interface NewSource {
  /** A configuration that names MCP servers: of Claude Code, VS Code or Codex. */
  readonly file: string;
  /** Its name in that file, where that is not the source's. */
  readonly server?: string | undefined;
  /** Lines of cap v0: what its jail is granted. */
  readonly cap?: readonly string[] | undefined;
  /** Variables of the file that it is given although they look like secrets. */
  readonly passed?: readonly string[] | undefined;
  readonly tier?: Tier | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ShownTool {
  /** `mcp.NAME.TOOL`. */
  readonly name: string;
  /** The first line; escaped. */
  readonly about: string;
}

export interface ShownSource {
  readonly name: string;
  readonly tier: Tier;
  readonly directory: string;
  readonly kind: ServerConfig['kind'];
  /** The command, or the URL. */
  readonly runs: string;
  readonly from: string;
  /** What its server calls itself. */
  readonly server: string;
  readonly cap: string;
  readonly tools: readonly ShownTool[];
  readonly leftOut: readonly LeftOut[];
}

export interface ListedSource extends Pick<ShownSource, 'name' | 'tier' | 'kind' | 'runs'> {
  readonly tools: number;
  /** Why it cannot be used. */
  readonly problem: string | null;
}

const isSecret = (each: ToolCapability): each is Extract<ToolCapability, { readonly kind: 'secret' }> =>
  each.kind === 'secret';

function textOf(path: string): string {
  try {
    return readSmallFile(path, sourceFileBytes);
  } catch (error) {
    throw error instanceof ErrnoError ? error : fromSystemError(error, 'read', path);
  }
}

function runsOf(server: ServerConfig): string {
  return server.kind === 'http' ? server.url : [server.command, ...server.args].join(' ');
}

/** What a server by HTTP needs is where it is: it is granted like everything else, by the person who adds it. */
function refuseUngranted(server: ServerConfig, cap: readonly ToolCapability[], file: string): void {
  if (server.kind !== 'http') return;
  const { protocol, hostname, port } = new URL(server.url);
  const number = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  const host = `${hostname}:${number}`;
  if (cap.some((each) => each.kind === 'net.connect' && each.host === host)) return;
  throw new ErrnoError('EINVAL', {
    operation: '--mcp',
    path: file,
    reason: `its server is at ${host}, which is not granted`,
    remedy: `add: --net ${host}, or --net-private ${host} where it is on this machine or in your own network`,
  });
}

export class Sources {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  get #roots(): ObjectRoots {
    const { root, uid } = this.#host;
    return { root, uid };
  }

  /** With root's for every user. */
  get #allRoots(): ObjectRoots {
    return { ...this.#roots, system: this.#host.system };
  }

  async #settled(name: string, { file, server, cap = [], passed = [] }: NewSource) {
    const path = resolve(currentDirectory(), file);
    const { parse } = await import('smol-toml');
    const servers = serversIn(textOf(path), file, parse);
    const chosen = chosenServer(servers, file, name, server);
    const text = cap.map((line) => `${line}\n`).join('');
    const capabilities = parseCapabilities(text, 'cap');
    const beside = dirname(path);
    const settled = settledServer(serverConfig(servers.get(chosen) ?? {}, file, chosen), {
      file,
      name: chosen,
      environment: this.#host.environment,
      folder: basename(beside) === '.vscode' ? dirname(beside) : beside,
      home: this.#host.home,
      secrets: capabilities.filter(isSecret),
      passed,
    });
    refuseUngranted(settled.server, capabilities, file);
    return { ...settled, cap: text, from: `${path} ${chosen}` };
  }

  async #list(name: string, directory: string, signal?: AbortSignal): Promise<void> {
    const { listSource } = this.#host;
    if (listSource === undefined) {
      throw new ErrnoError('ENOSYS', {
        operation: `tool source ${name}`,
        reason: 'tool sources are not available here',
      });
    }
    await listSource({ name, directory, cwd: currentDirectory(), signal });
  }

  /** Its server is started once, in its jail, to see which tools it has: one that does not start is not added. */
  async add(name: string, given: NewSource): Promise<ShownSource & { readonly warnings: readonly string[] }> {
    refuseExistingSource(this.#roots, checkSourceName(name));
    const { tier = 'system', signal, passed = [] } = given;
    const isForAll = isForEveryUser(this.#host.root);
    if (isForAll && passed.length > 0) {
      throw new ErrnoError('EINVAL', {
        operation: `tool source ${name}`,
        reason: 'variables cannot be passed to a source that every user shares: every user could read them',
        remedy: 'use --secret, which names a stored secret of the user who calls the tools',
      });
    }
    const { server, cap, from, warnings } = await this.#settled(name, given);
    const facts = { tier, kind: server.kind, from, server: `sha256:${sha256(JSON.stringify(server))}`, cap };
    return recordedVerb(this.#host, { type: 'source.add', object: `source/${name}`, facts }, async () => {
      makeSystemObjects(this.#host.root, 'tool');
      const staged = stageSource(this.#roots, tier, name, { server, from, cap, isForAll });
      try {
        await this.#list(name, staged.directory, signal);
        // Not while its server is asked, which takes long.
        const placed = await whileChanging(this.#host, () => staged.place());
        return { ...this.#shown(placed), warnings };
      } catch (error) {
        staged.discard();
        throw error;
      }
    });
  }

  /** Asks its server again which tools it has. */
  async refresh(name: string, signal?: AbortSignal): Promise<ShownSource> {
    const source = requireSource(this.#roots, name);
    return recordedVerb(this.#host, { type: 'source.refresh', object: `source/${name}`, facts: {} }, async () => {
      await this.#list(name, source.directory, signal);
      return this.#shown(source);
    });
  }

  #shown({ name, tier, directory }: LocatedSource): ShownSource {
    const { server, from, cap } = readSource(directory);
    const list = new ToolListFile(directory);
    const { server: called, tools, leftOut } = list.index() ?? { server: '', tools: new Map(), leftOut: [] };
    const about = (tool: string) => list.read(tool, 'description')?.toString('utf8').split('\n')[0] ?? '';
    return {
      name,
      tier,
      directory,
      kind: server.kind,
      runs: runsOf(server),
      from,
      server: called,
      cap,
      tools: [...tools.keys()].map((tool) => ({ name: sourceToolName(name, tool), about: about(tool) })),
      leftOut,
    };
  }

  /** ENOENT where there is none of that name. */
  show(name: string): ShownSource {
    return this.#shown(requireSource(this.#allRoots, name));
  }

  list(): readonly ListedSource[] {
    return listSources(this.#allRoots).map(({ name, tier, directory }) => {
      try {
        const { server } = readSource(directory);
        const tools = new ToolListFile(directory).index()?.tools.size ?? 0;
        return { name, tier, kind: server.kind, runs: runsOf(server), tools, problem: null };
      } catch (error) {
        if (!(error instanceof ErrnoError)) throw error;
        return { name, tier, kind: 'stdio', runs: '', tools: 0, problem: error.reason };
      }
    });
  }

  /** With the home of its server. */
  async remove(name: string): Promise<void> {
    const source = requireSource(this.#roots, name);
    const { store, tree } = this.#host;
    await recordedVerb(
      this.#host,
      { type: 'source.rm', object: `source/${name}`, facts: { tier: source.tier } },
      async () => {
        await whileChanging(this.#host, () => removeSource(source));
        await discard(store, tree, [toolHomes(store.directory, `mcp.${name}`)]);
      },
    );
  }
}
