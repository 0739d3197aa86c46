/**
 * Which control files an object has, and how each is read. The table is the whole of it: a name that is not here is not
 * a control file, and a text that its parser does not take is never written.
 *
 * Beyond the seed's files an agent has optional ones, so that its whole Authority is files: `network` narrows
 * `network:default connect` to hosts, `quota` and `expiry` bound it, `scope` says which directory is its workspace,
 * `sibling_reads` and `additional_reads` what it reads besides, `supervised` what it was granted beyond its parent.
 */
import { parseCapabilities } from '../authority/capability.js';
import { parseLabel } from '../authority/label.js';
import { parseIsolation, parseLife, parseLineage } from '../authority/lineage.js';
import { isTreeSource, type Mount, parseMounts } from '../authority/mount.js';
import { parseObjectName } from '../authority/name.js';
import { parsePolicy } from '../authority/policy.js';
import { parseScope } from '../authority/scope.js';
import { quoted, refuseAt } from '../authority/syntax.js';
import { parseWholeSpecification } from '../vfs/specification.js';
import type { ObjectKind } from './layout.js';
import { schemaFault } from './schema-check.js';
import {
  located,
  parseEnvironment,
  parseExpiry,
  parseGroups,
  parseHosts,
  parseId,
  parseModels,
  parseObject,
  parseOptionalPath,
  parsePath,
  parsePaths,
  parseQuota,
  parseSiblings,
  parseTemplates,
  singleLine,
} from './small-formats.js';
import { parseSupervised } from './supervised.js';

type Parse<T> = (text: string, file: string) => T;

/**
 * Who writes a file: the operator at any time, `ctx agent grant`, the process that makes the object, or the process
 * that runs it.
 */
export type Writer = 'operator' | 'supervisor' | 'maker' | 'process';

export interface ControlFile<T> {
  readonly parse: Parse<T>;
  readonly writer: Writer;
  /** May be missing: then it is as if it were empty. */
  readonly optional: boolean;
}

function file<T>(parse: Parse<T>, writer: Writer = 'operator', optional = false): ControlFile<T> {
  return Object.freeze({ parse, writer, optional });
}

/** A parser of one value that knows nothing of files. */
function oneValue<T>(parse: (text: string) => T): Parse<T> {
  return (text, path) => {
    const value = singleLine(text, path);
    return located(path, 1, () => parse(value));
  };
}

export const statuses = Object.freeze(['start', 'ready', 'busy', 'idle', 'stopping', 'dead'] as const);
export type ObjectStatus = (typeof statuses)[number];

function parseStatus(text: string, path: string): ObjectStatus {
  const word = singleLine(text, path);
  const status = statuses.find((known) => known === word);
  const place = { file: path, line: 1, column: 1 };
  return status ?? refuseAt('control file', place, `expected one of ${statuses.join(', ')}, got ${quoted(word)}`);
}

function parsePid(text: string, path: string): number | undefined {
  return singleLine(text, path) === '' ? undefined : parseId(text, path);
}

/** Trees are looked at, too: which engines there are is not known to `authority`. */
function parseAgentMounts(text: string, path: string): readonly Mount[] {
  const mounts = parseMounts(text, path);
  for (const { source } of mounts) {
    if (!isTreeSource(source)) continue;
    const number = text.split('\n').findIndex((each) => each.startsWith(`${source}\t`)) + 1;
    located(path, number, () => parseWholeSpecification(source));
  }
  return mounts;
}

/** `{ "input": SCHEMA, "output": SCHEMA }`, each left out where anything goes. */
function parseToolSchema(text: string, path: string): Readonly<Record<string, unknown>> {
  const schema = parseObject(text, path);
  for (const part of ['input', 'output']) {
    const fault = schema[part] === undefined ? undefined : schemaFault(schema[part]);
    if (fault !== undefined) refuseAt('control file', { file: path, line: 1, column: 1 }, `${part}: ${fault}`);
  }
  return schema;
}

export const agentFiles = Object.freeze({
  owner: file(parseId, 'maker'),
  uid: file(parseId),
  gid: file(parseId),
  groups: file(parseGroups),
  label: file(oneValue(parseLabel)),
  iso: file(oneValue(parseIsolation)),
  parent: file(oneValue(parseLineage), 'maker'),
  life: file(oneValue(parseLife)),
  root: file(parsePath),
  cwd: file(parseOptionalPath),
  env: file(parseEnvironment),
  path: file(parsePaths),
  mount: file(parseAgentMounts),
  model: file(parseModels),
  policy: file(parsePolicy),
  status: file(parseStatus, 'process'),
  pid: file(parsePid, 'process'),
  log: file(() => undefined, 'process'),
  'meta.json': file(parseObject),
  network: file(parseHosts, 'operator', true),
  quota: file(parseQuota, 'operator', true),
  expiry: file(parseExpiry, 'operator', true),
  scope: file(
    oneValue((text) => (text === '' ? 'project' : parseScope(text))),
    'operator',
    true,
  ),
  sibling_reads: file(parseSiblings, 'operator', true),
  additional_reads: file(parseTemplates, 'operator', true),
  supervised: file(parseSupervised, 'supervisor', true),
});

export const toolFiles = Object.freeze({
  name: file(oneValue(parseObjectName), 'maker'),
  description: file((text: string) => text),
  schema: file(parseToolSchema),
  cap: file(parseCapabilities),
  // Without one the agents' policies alone decide; an empty one allows no one.
  policy: file(parsePolicy, 'operator', true),
  status: file(parseStatus, 'process'),
  log: file(() => undefined, 'process'),
});

export type Values<Files extends Readonly<Record<string, ControlFile<unknown>>>> = {
  readonly [Name in keyof Files]: ReturnType<Files[Name]['parse']>;
};
export type AgentValues = Values<typeof agentFiles>;
export type ToolValues = Values<typeof toolFiles>;

export type ControlFiles = Readonly<Record<string, ControlFile<unknown>>>;

export function controlFiles(kind: ObjectKind): ControlFiles {
  return kind === 'agent' ? agentFiles : toolFiles;
}
