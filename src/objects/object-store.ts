/** Objects as directories: made whole by one rename, changed a file at a time, each whole or as it was. */
import { isUtf8 } from 'node:buffer';
import { chmodSync, copyFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { isObjectName } from '../authority/name.js';
import { refuseAt } from '../authority/syntax.js';
import { removeLeftDrafts, syncDirectory, writeFileAtomic } from '../base/atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { controlTextBytes } from '../base/limits/objects.js';
import { makeDirectoryLike, makeDurableDirectory } from '../base/make-directory.js';
import { readSmallBytes } from '../base/small-file.js';
import { controlDirectory, type ObjectKind, type ObjectRoots, type Tier, tierDirectory, tiers } from './layout.js';
import { draftOf, goneOf, removeLeft } from './left-behind.js';
import { liveText } from './live-status.js';

export interface LocatedObject {
  readonly kind: ObjectKind;
  readonly name: string;
  readonly tier: Tier;
  /** Of its control files. */
  readonly directory: string;
  /** The same below the root, for messages. */
  readonly shown: string;
}

function at(roots: ObjectRoots, tier: Tier, kind: ObjectKind, name: string): LocatedObject {
  const directory = controlDirectory(roots, tier, kind, name);
  return Object.freeze({ kind, name, tier, directory, shown: relative(roots.root, directory) });
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return false;
    throw fromSystemError(error, 'stat', path);
  }
}

function findOwn(roots: ObjectRoots, kind: ObjectKind, name: string): LocatedObject | undefined {
  return tiers.map((tier) => at(roots, tier, kind, name)).find(({ directory }) => isDirectory(directory));
}

/** As if the machine's were all there is. */
function systemRoots({ system, uid }: ObjectRoots): ObjectRoots | undefined {
  return system === undefined ? undefined : { root: system, uid };
}

export function findObject(roots: ObjectRoots, kind: ObjectKind, name: string): LocatedObject | undefined {
  const own = findOwn(roots, kind, name);
  const system = systemRoots(roots);
  if (own !== undefined || system === undefined) return own;
  const found = at(system, 'system', kind, name);
  return isDirectory(found.directory) ? found : undefined;
}

export function requireObject(roots: ObjectRoots, kind: ObjectKind, name: string): LocatedObject {
  const found = findObject(roots, kind, name);
  if (found !== undefined) return found;
  throw new ErrnoError('ENOENT', {
    operation: `${kind} ${name}`,
    reason: `there is no such ${kind}`,
    remedy: `ctx ${kind} ls shows what there is, ctx ${kind} new ${name} makes one`,
  });
}

/** Sorted by name; of a name in several tiers the one that is found. */
export function listObjects(roots: ObjectRoots, kind: ObjectKind): readonly LocatedObject[] {
  const found = new Map<string, LocatedObject>();
  const system = systemRoots(roots);
  const places = [...tiers.map((tier) => [roots, tier] as const), ...(system ? [[system, 'system'] as const] : [])];
  for (const [of, tier] of places) {
    const directory = tierDirectory(of, tier, kind);
    let entries: readonly string[];
    try {
      entries = readdirSync(directory);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) continue;
      throw fromSystemError(error, 'readdir', directory);
    }
    for (const entry of entries) {
      const name = entry.slice(0, -'.d'.length);
      if (!entry.endsWith('.d') || !isObjectName(name) || found.has(name)) continue;
      found.set(name, at(of, tier, kind, name));
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function readControlBytes({ directory }: LocatedObject, file: string): Buffer | undefined {
  const path = join(directory, file);
  try {
    return readSmallBytes(path, controlTextBytes);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw fromSystemError(error, 'read', path);
  }
}

function textOf({ directory, kind }: LocatedObject, file: string, bytes: Buffer | undefined): string | undefined {
  const text = bytes?.toString('utf8');
  return text === undefined || kind !== 'agent' ? text : liveText(directory, file, text);
}

/** To be shown. Undefined where there is no such file. */
export function readControlText(object: LocatedObject, file: string): string | undefined {
  return textOf(object, file, readControlBytes(object, file));
}

/** The same, to decide by: EINVAL where it is not UTF-8, since what is read in its place would be another path or variable. */
export function decidingText(object: LocatedObject, file: string): string | undefined {
  const bytes = readControlBytes(object, file);
  if (bytes !== undefined && !isUtf8(bytes)) {
    refuseAt('control file', { file: `${object.shown}/${file}`, line: 1, column: 1 }, 'expected UTF-8');
  }
  return textOf(object, file, bytes);
}

/** The caller has checked the text, and is the only one who changes objects. */
export function writeControlText({ directory }: LocatedObject, file: string, text: string): void {
  removeLeftDrafts(directory, (each) => each === file);
  writeFileAtomic(join(directory, file), text, { durable: true, mode: 0o644 });
}

/** The caller has checked the texts. EEXIST where either tier has the name. */
export function makeObject(
  roots: ObjectRoots,
  tier: Tier,
  kind: ObjectKind,
  name: string,
  texts: ReadonlyMap<string, string>,
): LocatedObject {
  const made = at(roots, tier, kind, name);
  const exists = (where: LocatedObject): never => {
    throw new ErrnoError('EEXIST', {
      operation: `${kind} ${name}`,
      path: where.directory,
      reason: `${kind} ${name} already exists in the ${where.tier} tier`,
      remedy: `ctx ${kind} rm ${name} removes it`,
    });
  };
  const other = findOwn(roots, kind, name);
  if (other !== undefined) exists(other);
  const parent = tierDirectory(roots, tier, kind);
  const staging = draftOf(parent, basename(made.directory));
  try {
    makeDurableDirectory(parent, 0o755);
    removeLeft(parent);
    makeDirectoryLike(parent, staging);
    for (const [file, text] of texts) writeFileAtomic(join(staging, file), text, { durable: true, mode: 0o644 });
    renameSync(staging, made.directory);
    syncDirectory(parent);
  } catch (error) {
    rmSync(staging, { recursive: true, force: true });
    if (hasCode(error, 'ENOTEMPTY') || hasCode(error, 'EEXIST')) exists(made);
    throw fromSystemError(error, `make ${kind} ${name}`, made.directory);
  }
  return made;
}

function programOf({ directory, name }: LocatedObject): string {
  return join(directory, '..', name);
}

/** A copy of a file of the person's, as what is run where the tool is called; whole, or as it was before. */
export function installProgram(object: LocatedObject, source: string): void {
  const program = programOf(object);
  const staging = draftOf(dirname(object.directory), object.name);
  try {
    if (!statSync(source).isFile()) {
      throw new ErrnoError('EINVAL', { operation: 'install', path: source, reason: 'expected a regular file' });
    }
    copyFileSync(source, staging);
    chmodSync(staging, 0o755);
    // An empty program would run, and do nothing.
    syncDirectory(staging);
    renameSync(staging, program);
    syncDirectory(join(program, '..'));
  } catch (error) {
    rmSync(staging, { force: true });
    throw error instanceof ErrnoError ? error : fromSystemError(error, `install tool ${object.name}`, source);
  }
}

export function removeObject(object: LocatedObject): void {
  const gone = goneOf(dirname(object.directory), basename(object.directory));
  try {
    // First what could be called.
    if (object.kind === 'tool') rmSync(programOf(object), { force: true });
    renameSync(object.directory, gone);
    // What it was granted does not come back after a power cut.
    syncDirectory(join(gone, '..'));
    rmSync(gone, { recursive: true, force: true });
  } catch (error) {
    throw fromSystemError(error, `remove ${object.kind} ${object.name}`, object.directory);
  }
}
