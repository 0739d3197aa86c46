/**
 * Mount lines whose source is a path of the objects, `/ctx/...`, as the agent's own view has it: its home and shared spaces are
 * directories of the host, which are bound though the rest of the objects is hidden; everything else is the view itself, and a link
 * to it. What carries authority (a space's tools, what is kept of an agent's runs) is read-only whatever the line says.
 */
import { lstatSync, mkdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import type { Authority } from '../../authority/authority.js';
import { objectsPath } from '../../authority/mount.js';
import { isObjectName } from '../../authority/name.js';
import type { ViewEntry } from '../../authority/view.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import type { Link, SharedPath } from '../../jail/plan.js';
import { agentHomeDirectory, keptParts } from './agent-home.js';

/** Of a shared space: objects, which say what may be called and by whom. */
const objectParts = ['tool', 'agent', 'model'];

const homeSource = /^\/ctx\/home\/(0|[1-9]\d*)\/agent\/([^/]+)(?:\/(.+))?$/;
const spaceSource = /^\/ctx\/shared\/([^/]+)(?:\/(.+))?$/;

interface ObjectSource {
  readonly kind: 'home' | 'space';
  readonly uid: number;
  /** Of the agent, or of the space. */
  readonly name: string;
  readonly rest: string;
}

/** Undefined for what is the view itself. */
function sourceOf(source: string): ObjectSource | undefined {
  const [, uid, agent, below = ''] = homeSource.exec(source) ?? [];
  if (agent !== undefined && isObjectName(agent)) return { kind: 'home', uid: Number(uid), name: agent, rest: below };
  const [, space, rest = ''] = spaceSource.exec(source) ?? [];
  return space !== undefined && isObjectName(space) ? { kind: 'space', uid: 0, name: space, rest } : undefined;
}

function refuse(path: string, reason: string, remedy?: string): never {
  throw new ErrnoError('EACCES', { operation: 'mount', path, reason, remedy });
}

/** A line names the agent's own home and no other; what a parent gives its child of its own is not a line. */
export function refuseForeignHomes(agent: string, sources: readonly string[]): void {
  for (const source of sources) {
    const found = sourceOf(source);
    if (found?.kind === 'home' && found.name !== agent)
      refuse(source, `agent ${agent} may mount only its own home, not that of agent ${found.name}`);
  }
}

/** A space needs the permission to read it, and to write it where the line says rw. EACCES */
export function refuseUnsharedSpaces({ mounts, policy, identity }: Authority): void {
  const { type } = identity.label;
  for (const { source, mode } of mounts) {
    const found = sourceOf(source);
    if (found?.kind !== 'space') continue;
    const permission = mode === 'rw' ? 'write' : 'read';
    if (policy.allows(type, 'shared', found.name, permission)) continue;
    const rule = `allow ${type} shared:${found.name} ${permission}`;
    refuse(source, `the policy has no \`${rule}\``, `an operator would add: ${rule}`);
  }
}

export interface ObjectMounts {
  readonly shared: readonly SharedPath[];
  /** Paths of the view that become read-only once everything is there. */
  readonly readOnly: readonly string[];
  readonly links: readonly Link[];
}

export interface ObjectPlaces {
  /** CTX_ROOT on the host, then the system's. */
  readonly roots: readonly [string, ...string[]];
  /** The agent and those it descends from: whose homes it may have been given. */
  readonly line: readonly string[];
}

function hostDirectory({ roots, line }: ObjectPlaces, source: string, found: ObjectSource): string {
  if (found.kind === 'home') {
    if (!line.includes(found.name)) refuse(source, `the home of agent ${found.name} is not in this agent's view`);
    return agentHomeDirectory(roots[0], found.uid, found.name);
  }
  const spaces = roots.map((root) => join(root, 'shared', found.name));
  return spaces.find(isDirectory) ?? spaces[0] ?? '';
}

/** Of a path of the objects that is bound: where it is on the host, and whether no line makes it writable. */
export interface BoundPath {
  readonly kind: 'home' | 'space';
  readonly path: string;
  readonly isKept: boolean;
}

const keptBy = (kind: ObjectSource['kind']): readonly string[] => (kind === 'home' ? keptParts : objectParts);

/** Undefined for what is the view itself. */
export function boundPath(places: ObjectPlaces, source: string): BoundPath | undefined {
  const found = sourceOf(source);
  if (found === undefined) return undefined;
  const isKept = keptBy(found.kind).includes(found.rest.split('/')[0] ?? '');
  return { kind: found.kind, path: join(hostDirectory(places, source, found), found.rest), isKept };
}

function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** What an agent must not make itself is there before it comes. */
function makeParts(directory: string, parts: readonly string[]): void {
  for (const part of parts) {
    try {
      mkdirSync(join(directory, part), { mode: 0o755 });
    } catch (error) {
      // Of a space that is not ours to write: nor is it the agent's.
      if (!(['EEXIST', 'EACCES', 'EROFS', 'EPERM'] as const).some((code) => hasCode(error, code))) {
        throw fromSystemError(error, 'mkdir', join(directory, part));
      }
    }
  }
}

function boundSource(
  places: ObjectPlaces,
  { source, target, access: granted }: ViewEntry,
  found: ObjectSource,
): ObjectMounts {
  const directory = hostDirectory(places, source, found);
  const path = join(directory, found.rest);
  const protectedParts = keptBy(found.kind);
  const isProtected = protectedParts.includes(found.rest.split('/')[0] ?? '');
  const isWritten = granted === 'write' && !isProtected;
  const about = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (about === undefined) {
    throw new ErrnoError('ENOENT', { operation: 'mount', path: source, reason: 'there is no such path in the view' });
  }
  if (isWritten && found.rest === '') makeParts(directory, protectedParts);
  const inside = found.rest === '' ? protectedParts.map((part) => posix.join(target, part)) : [];
  const identity = `${about.dev}:${about.ino}`;
  // A home has the owners that its commands have outside: shown as to root it would be no one's.
  const access = isWritten || found.kind === 'home' ? 'read write' : 'read only';
  return {
    shared: [{ source: path, target, access, identity }],
    readOnly: isWritten ? inside : found.kind === 'home' ? [target] : [],
    links: [],
  };
}

/** What is at its own path already needs nothing. */
function linkTo({ source, target }: ViewEntry): ObjectMounts {
  const links = source === target || contains(objectsPath, target) ? [] : [{ path: target, target: source }];
  return { shared: [], readOnly: [], links };
}

export function objectMounts(places: ObjectPlaces, entries: readonly ViewEntry[]): ObjectMounts {
  const all = entries
    .filter(({ of }) => of === 'objects')
    .map((entry) => {
      const found = sourceOf(entry.source);
      return found === undefined ? linkTo(entry) : boundSource(places, entry, found);
    });
  return {
    shared: all.flatMap(({ shared }) => shared),
    readOnly: all.flatMap(({ readOnly }) => readOnly),
    links: all.flatMap(({ links }) => links),
  };
}
