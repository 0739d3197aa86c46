/** A tool's files as one typed value, and what a decision has to know of it. */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ToolCapability } from '../authority/capability.js';
import type { ObjectFacts } from '../authority/decide.js';
import type { Policy } from '../authority/policy.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { type ObjectStatus, type ToolValues, toolFiles } from './control-file.js';
import { hostPathOf, type ObjectRoots } from './layout.js';
import { decidingText, type LocatedObject, readControlText } from './object-store.js';
import { type ReadValues, readValues, wholeValues } from './read-values.js';

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly capabilities: readonly ToolCapability[];
  /** Undefined where it has none: then the agents' policies alone decide. */
  readonly policy: Policy | undefined;
  readonly status: ObjectStatus;
}

export function toolFrom(name: string, values: ToolValues, hasPolicy: boolean): Tool {
  if (values.name !== name) {
    const reason = `name:1:1: expected ${name}, the name of its directory, got ${values.name}`;
    throw new ErrnoError('EINVAL', { operation: `tool ${name}`, reason });
  }
  const { description, schema, cap, policy, status } = values;
  return Object.freeze({
    name,
    description,
    schema,
    capabilities: cap,
    policy: hasPolicy ? policy : undefined,
    status,
  });
}

export function inspectTool(
  object: LocatedObject,
  changed?: ReadonlyMap<string, string>,
): ReadValues<typeof toolFiles> {
  return readValues(
    toolFiles,
    (file) => changed?.get(file) ?? (file === 'log' ? '' : decidingText(object, file)),
    (file) => `${object.shown}/${file}`,
  );
}

export function readTool(object: LocatedObject, changed?: ReadonlyMap<string, string>): Tool {
  const hasPolicy = changed?.has('policy') === true || readControlText(object, 'policy') !== undefined;
  return toolFrom(object.name, wholeValues(inspectTool(object, changed), `tool ${object.name}`), hasPolicy);
}

function statOf(path: string): { readonly uid: number; readonly gid: number; readonly mode: number } | undefined {
  try {
    const { uid, gid, mode } = statSync(path);
    return { uid, gid, mode };
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined;
    throw fromSystemError(error, 'stat', path);
  }
}

/** Of the first directory of the tool path that has the tool; its executable entry, where it has one, else its directory. */
export function toolFacts(
  roots: ObjectRoots,
  toolPath: readonly string[],
  object: LocatedObject | undefined,
): ObjectFacts {
  if (object === undefined) return { exists: false, visible: false };
  const bases = [roots.root, ...(roots.system === undefined ? [] : [roots.system])];
  const visible = toolPath.some((path) => bases.some((base) => hostPathOf(base, path) === dirname(object.directory)));
  const file = statOf(join(dirname(object.directory), object.name)) ?? statOf(object.directory);
  const { policy } = readTool(object);
  return {
    exists: true,
    visible,
    ...(file === undefined ? {} : { file }),
    ...(policy === undefined ? {} : { policy }),
  };
}
