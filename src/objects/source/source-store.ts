/**
 * Tool sources on disk: MCP servers whose tools are objects `mcp.NAME.TOOL` of the same tier. They are beside the tools, in a directory
 * that no object's name can be, and in no view:
 *
 *     TIER/tool/.source/NAME/server.json     how it is started, or where it is; its owner's alone, but where root has it for
 *                                            every user
 *     TIER/tool/.source/NAME/cap             what its jail is granted, as of any tool
 *     TIER/tool/.source/NAME/tools           what it listed last
 */
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { syncDirectory, writeFileAtomic } from '../../base/atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { makeDirectoryLike, makeDurableDirectory } from '../../base/make-directory.js';
import { having, ofShape, parseJson, word } from '../../base/shape.js';
import { type ObjectRoots, type Tier, tierDirectory, tiers } from '../layout.js';
import { draftOf, goneOf, removeLeft } from '../left-behind.js';
import { type ServerConfig, serverShape } from './server-config.js';
import { damagedList, indexBytesOf, indexHeadBytes, type ListIndex, parseIndex } from './tool-list.js';

const directoryName = '.source';
const sourceName = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,31}$/;

export interface LocatedSource {
  readonly name: string;
  readonly tier: Tier;
  readonly directory: string;
}

export interface SourceFile {
  readonly server: ServerConfig;
  /** The file that it was read from, and its name there. */
  readonly from: string;
}

/** A name has no dot, so that `mcp.NAME.TOOL` means one tool. EINVAL */
export function checkSourceName(name: string): string {
  if (sourceName.test(name)) return name;
  throw new ErrnoError('EINVAL', {
    operation: 'tool source',
    reason: 'expected a name of 1 to 32 letters, digits, `_` or `-` that starts with a letter or digit',
  });
}

/** The source and the tool that an object's name means; undefined for names of other tools. */
export function sourceAndTool(name: string): { readonly source: string; readonly tool: string } | undefined {
  const [, source, tool] = /^mcp\.([a-zA-Z0-9][a-zA-Z0-9_-]{0,31})\.(.+)$/.exec(name) ?? [];
  return source === undefined || tool === undefined ? undefined : { source, tool };
}

/** `tools` is a directory of tools. */
export function sourceDirectory(tools: string, name: string): string {
  return join(tools, directoryName, name);
}

export function sourceNames(tools: string): readonly string[] {
  try {
    return readdirSync(join(tools, directoryName))
      .filter((name) => sourceName.test(name))
      .sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES')) return [];
    throw fromSystemError(error, 'list the sources', tools);
  }
}

export function listSources(roots: ObjectRoots): readonly LocatedSource[] {
  const all = [...tiers.map((tier) => [tier, tierDirectory(roots, tier, 'tool')] as const)];
  if (roots.system !== undefined) all.push(['system', join(roots.system, 'tool')]);
  const found = all.flatMap(([tier, tools]) =>
    sourceNames(tools).map((name) => ({ name, tier, directory: sourceDirectory(tools, name) })),
  );
  // Of a name that root has for every user, too, the user's own counts.
  return found.filter(({ name }, at) => found.findIndex((each) => each.name === name) === at);
}

export function findSource(roots: ObjectRoots, name: string): LocatedSource | undefined {
  return listSources(roots).find((each) => each.name === name);
}

export function requireSource(roots: ObjectRoots, name: string): LocatedSource {
  const found = findSource(roots, checkSourceName(name));
  if (found !== undefined) return found;
  throw new ErrnoError('ENOENT', {
    operation: `tool source ${name}`,
    reason: 'there is no such source',
    remedy: 'ctx tool source list shows what there is',
  });
}

function textIn(directory: string, file: string): string {
  try {
    return readFileSync(join(directory, file), 'utf8');
  } catch (error) {
    throw fromSystemError(error, 'read a tool source', join(directory, file));
  }
}

export function readSource(directory: string): SourceFile & { readonly cap: string } {
  const text = textIn(directory, 'server.json');
  let value: (SourceFile & { readonly version: unknown }) | undefined;
  try {
    value = ofShape(parseJson(text), having({ server: serverShape, from: word }));
  } catch {
    value = undefined;
  }
  if (value === undefined) {
    throw new ErrnoError('EIO', { operation: 'read a tool source', path: directory, reason: 'server.json is damaged' });
  }
  if (value.version !== 1) {
    throw new ErrnoError('EIO', {
      operation: 'read a tool source',
      path: directory,
      reason: 'expected server.json of version 1',
    });
  }
  return { server: value.server, from: value.from, cap: textIn(directory, 'cap') };
}

export function refuseExistingSource(roots: ObjectRoots, name: string): void {
  const other = findSource(roots, checkSourceName(name));
  if (other === undefined) return;
  throw new ErrnoError('EEXIST', {
    operation: `tool source ${name}`,
    path: other.directory,
    reason: `source ${name} already exists in the ${other.tier} tier`,
    remedy: `ctx tool source rm ${name} removes it`,
  });
}

export interface StagedSource {
  /** It is read and listed here, and is not a source yet. */
  readonly directory: string;
  /** Now it is one. EEXIST where another one took the name meanwhile. */
  place(): LocatedSource;
  /** Where it is none to be. */
  discard(): void;
}

/** EEXIST where either tier has the name. */
export function stageSource(
  roots: ObjectRoots,
  tier: Tier,
  name: string,
  { server, from, cap, isForAll = false }: SourceFile & { readonly cap: string; readonly isForAll?: boolean },
): StagedSource {
  refuseExistingSource(roots, name);
  const tools = tierDirectory(roots, tier, 'tool');
  const directory = sourceDirectory(tools, name);
  const staging = draftOf(join(tools, directoryName), name);
  const discard = () => rmSync(staging, { recursive: true, force: true });
  const attempt = (act: () => void) => {
    try {
      act();
    } catch (error) {
      discard();
      if (hasCode(error, 'ENOTEMPTY') || hasCode(error, 'EEXIST')) refuseExistingSource(roots, name);
      throw fromSystemError(error, `add source ${name}`, directory);
    }
  };
  attempt(() => {
    makeDurableDirectory(tools, 0o755);
    const sources = join(tools, directoryName);
    makeDirectoryLike(tools, sources);
    removeLeft(sources);
    makeDirectoryLike(sources, staging);
    const own = `${JSON.stringify({ version: 1, from, server }, undefined, 2)}\n`;
    writeFileAtomic(join(staging, 'server.json'), own, { durable: true, mode: isForAll ? 0o644 : 0o600 });
    writeFileAtomic(join(staging, 'cap'), cap, { durable: true, mode: 0o644 });
  });
  return {
    directory: staging,
    place: () => {
      attempt(() => {
        // In the other tier another process may have placed one since.
        refuseExistingSource(roots, name);
        renameSync(staging, directory);
        syncDirectory(dirname(directory));
      });
      return { name, tier, directory };
    },
    discard,
  };
}

export function writeToolList(directory: string, tools: string): void {
  writeFileAtomic(join(directory, 'tools'), tools, { durable: true, mode: 0o644 });
}

function stampOf(path: string): string {
  const about = statSync(path, { bigint: true, throwIfNoEntry: false });
  return about === undefined ? 'none' : `${about.dev}:${about.ino}.${about.ctimeNs}`;
}

/** Before a server is asked: which source is there, and which list it has. */
export interface SourceThen {
  readonly source: string;
  readonly list: string;
}

/** What a source is started with never changes: with another file it is another source of the same name. */
export function sourceNow(directory: string): SourceThen {
  return { source: stampOf(join(directory, 'server.json')), list: stampOf(join(directory, 'tools')) };
}

/**
 * What its server was asked for, to be called while no other process changes objects. False where another one has written a list since
 * then: which of both is newer is not known, so it is to be asked again. ENOENT where the source is gone, or another one by now.
 */
export function replaceToolList(directory: string, before: SourceThen, tools: string): boolean {
  const now = sourceNow(directory);
  if (now.source !== before.source || now.source === 'none') {
    throw new ErrnoError('ENOENT', {
      operation: 'list the tools',
      path: directory,
      reason: 'the source was removed while its server was asked for its tools',
    });
  }
  if (now.list !== before.list) return false;
  writeToolList(directory, tools);
  return true;
}

export function removeSource({ directory, name }: LocatedSource): void {
  const gone = goneOf(dirname(directory), name);
  try {
    renameSync(directory, gone);
    // What it was granted does not come back after a power cut.
    syncDirectory(dirname(directory));
    rmSync(gone, { recursive: true, force: true });
  } catch (error) {
    throw fromSystemError(error, `remove source ${name}`, directory);
  }
}

export type ToolPart = 'description' | 'schema';

/** The list of one source, as the file is now: the index is read again where it has changed, a text when it is asked for. */
export class ToolListFile {
  readonly #path: string;
  #stamp = '';
  #index: ListIndex | undefined;

  constructor(directory: string) {
    this.#path = join(directory, 'tools');
  }

  /** Nanoseconds since 1970. */
  modified = 0n;

  #load(descriptor: number): ListIndex {
    const { ino, mtimeNs, size } = fstatSync(descriptor, { bigint: true });
    const stamp = `${ino}.${mtimeNs}.${size}`;
    if (this.#index !== undefined && stamp === this.#stamp) return this.#index;
    const head = Buffer.alloc(indexHeadBytes);
    readSync(descriptor, head, 0, indexHeadBytes, 0);
    const bytes = Buffer.alloc(Math.min(indexBytesOf(head.toString('latin1')), Number(size)));
    readSync(descriptor, bytes, 0, bytes.length, indexHeadBytes);
    this.#index = parseIndex(bytes);
    this.#stamp = stamp;
    this.modified = mtimeNs;
    return this.#index;
  }

  #open<T>(use: (descriptor: number) => T): T | undefined {
    let descriptor: number | undefined;
    try {
      descriptor = openSync(this.#path, 'r');
      return use(descriptor);
    } catch (error) {
      if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES')) return undefined;
      throw fromSystemError(error, 'read the tools of a source', this.#path);
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  /** Undefined where there is no such source. */
  index(): ListIndex | undefined {
    const about = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    if (about === undefined) return undefined;
    const isSame = this.#stamp === `${about.ino}.${about.mtimeNs}.${about.size}`;
    return isSame ? this.#index : this.#open((descriptor) => this.#load(descriptor));
  }

  read(tool: string, part: ToolPart): Buffer | undefined {
    return this.#open((descriptor) => {
      const place = this.#load(descriptor).tools.get(tool);
      if (place === undefined) return undefined;
      const { offset, descriptionBytes, schemaBytes } = place;
      const [at, length] =
        part === 'description' ? [offset, descriptionBytes] : [offset + descriptionBytes, schemaBytes];
      if (at + length > fstatSync(descriptor).size) return damagedList();
      const bytes = Buffer.alloc(length);
      readSync(descriptor, bytes, 0, length, at);
      return bytes;
    });
  }
}
