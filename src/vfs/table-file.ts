/**
 * `vfs.toml`: trees at paths, as one tree.
 *
 *   [mount]
 *   "/" = "chunked:notes.ctx"
 *
 *   [mount."/project"]
 *   upper = "chunked:changes.ctx"
 *   lower = "host:/srv/project"      # or a list, the topmost first
 *
 *   [mount."/data"]
 *   spec = "host:/srv/data"
 *   writable = true
 *
 * Relative paths begin at the directory of the file. What is unknown is refused by file, key and what was expected.
 */
import { dirname } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { ErrnoError, fromSystemError } from '../base/errno.js';
import { tableFileBytes } from '../base/limits/trees.js';
import { readSmallFile } from '../base/small-file.js';
import { componentsOf, pathOf } from './mount-table.js';
import { nameFromText } from './names.js';
import { type EngineSpecification, parseSpecification } from './specification.js';
import type { PlannedMount, Source } from './tree-plan.js';

const entryForm =
  'expected a tree as text, or a table with either spec = TREE or upper = TREE and lower = TREE, and writable = true or false';
const entryKeys = ['spec', 'upper', 'lower', 'writable'];

type Refuse = (key: string, reason: string) => never;

export function readTable(file: string): readonly PlannedMount[] {
  let text: string;
  try {
    text = readSmallFile(file, tableFileBytes);
  } catch (error) {
    throw fromSystemError(error, 'read', file);
  }
  return parseTable(text, file);
}

/** EINVAL */
export function parseTable(text: string, file: string): readonly PlannedMount[] {
  const refuse: Refuse = (key, reason) => {
    throw new ErrnoError('EINVAL', {
      operation: 'vfs',
      path: file,
      reason: key === '' ? reason : `${key}: ${reason}`,
      remedy: 'docs/vfs.md has the form of this file',
    });
  };
  if (text.length > tableFileBytes) refuse('', `expected at most ${tableFileBytes} bytes`);
  const document = parsed(text, refuse);
  for (const key of Object.keys(document)) if (key !== 'mount') refuse(key, "unknown key; expected 'mount' alone");
  const { mount } = document;
  if (!isTable(mount) || Object.keys(mount).length === 0) {
    return refuse('mount', `expected a table with at least one path, such as "/" = "memory:"`);
  }
  const mounts = Object.entries(mount).map(([path, value]) => mountFrom(path, value, dirname(file), refuse));
  const seen = new Set<string>();
  for (const { path } of mounts) {
    const at = pathOf(path);
    if (seen.has(at)) refuse(`mount."${at}"`, 'expected each path once');
    seen.add(at);
  }
  return mounts;
}

function parsed(text: string, refuse: Refuse): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return refuse('', `expected TOML: line ${error.line}: ${error.message.split('\n')[0]}`);
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function mountFrom(path: string, value: unknown, directory: string, refuse: Refuse): PlannedMount {
  const key = `mount.${JSON.stringify(path)}`;
  const components = componentsOf(nameFromText(path));
  if (!path.startsWith('/') || path.includes('\0') || components.some((name) => name === '.' || name === '..')) {
    refuse(key, "expected an absolute path without '.' and '..'");
  }
  if (typeof value === 'string') {
    return { path: components, source: sourceFrom(value, key, directory, refuse), writable: undefined };
  }
  if (!isTable(value)) return refuse(key, entryForm);
  for (const each of Object.keys(value)) {
    if (!entryKeys.includes(each)) refuse(`${key}.${each}`, `unknown key; expected one of ${entryKeys.join(', ')}`);
  }
  const { spec, upper, lower, writable } = value;
  if (writable !== undefined && typeof writable !== 'boolean') refuse(`${key}.writable`, 'expected true or false');
  const isOverlay = upper !== undefined || lower !== undefined;
  if (isOverlay === (spec !== undefined)) refuse(key, entryForm);
  const source = isOverlay
    ? overlayFrom(upper, lower, key, directory, refuse)
    : sourceFrom(spec, `${key}.spec`, directory, refuse);
  return { path: components, source, writable: writable === undefined ? undefined : writable === true };
}

function overlayFrom(upper: unknown, lower: unknown, key: string, directory: string, refuse: Refuse): Source {
  if (upper === undefined) refuse(`${key}.upper`, 'expected a tree: what is changed is kept in it');
  const over = sourceFrom(upper, `${key}.upper`, directory, refuse);
  if (over.engine === 'chunked' && over.snapshot !== undefined) {
    refuse(`${key}.upper`, 'expected a tree that can be written to, and a snapshot never is');
  }
  const under = Array.isArray(lower) ? (lower as readonly unknown[]) : [lower];
  if (lower === undefined || under.length === 0) refuse(`${key}.lower`, 'expected a tree, or a list of trees');
  return {
    engine: 'overlay',
    upper: over,
    lower: under.map((each, index) =>
      sourceFrom(each, Array.isArray(lower) ? `${key}.lower[${index}]` : `${key}.lower`, directory, refuse),
    ),
  };
}

function sourceFrom(value: unknown, key: string, directory: string, refuse: Refuse): EngineSpecification {
  if (typeof value !== 'string') return refuse(key, 'expected a tree as text, such as "host:/srv"');
  let source: ReturnType<typeof parseSpecification>;
  try {
    source = parseSpecification(value, directory);
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    return refuse(key, `${JSON.stringify(value)}: ${error.reason}`);
  }
  return source.engine === 'table' ? refuse(key, 'expected an engine: a table cannot be inside a table') : source;
}
