/** Whether a command of an agent could use what its jail has beside its surface: the objects at /ctx, its home, shared spaces. */
import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { decidePath } from '../../authority/decide-path.js';
import type { Grant } from '../../authority/permission.js';
import { allowed, type Reason, refusedFor, type Verdict } from '../../authority/refusal.js';
import type { ErrnoCode } from '../../base/errno.js';
import { viewTarget, writesObjects } from '../../proxy/grants/agent-view.js';
import type { ResolvedAuthority } from '../../proxy/grants/authority-of.js';
import type { FoundEntry, FoundInView } from '../../proxy/grants/found-in-view.js';
import { ownerOfFiles } from '../../proxy/grants/jail-identity.js';
import type { BoundPath } from '../../proxy/grants/object-mounts.js';
import type { PathAccess } from '../../proxy/grants/path-verdict.js';
import type { Host, Place } from '../../proxy/host.js';
import { objectVerdict } from './object-verdict.js';

export interface PlaceAsker {
  readonly host: Host;
  readonly place: Place;
  readonly resolved: ResolvedAuthority;
  readonly now: number;
  readonly used: number;
}

/** A directory of the objects that the jail binds, or what is in one. */
export interface ShownDirectory extends BoundPath {
  /** Where the jail has it. */
  readonly target: string;
}

const bits = { read: 4, write: 2, exec: 1 } as const;
const hostModes = { read: constants.R_OK, write: constants.W_OK, exec: constants.X_OK } as const;
const needs = { read: 'read', write: 'write', exec: 'execute' } as const;
const refuse = (code: ErrnoCode, reason: Reason): Verdict => refusedFor(code, reason);

/** What a path of the view means as an object: what has to be allowed for it to be shown. */
function grantFor(path: string): Grant | undefined {
  const parts = path.slice(viewTarget.length + 1).split('/');
  const [top, first = '', second, third] = parts[0] === 'home' ? parts.slice(2) : parts;
  const nameOf = (entry = '') => entry.replace(/\.d$/, '');
  if (top === 'tool') return { class: 'tool', name: nameOf(first), permission: 'execute' };
  if (top === 'agent') return { class: 'agent', name: nameOf(first), permission: 'read' };
  if (top === 'model') return { class: 'model', name: `${first}/${nameOf(second)}`, permission: 'use' };
  if (top !== 'shared') return undefined;
  const isTool = second === 'tool' && third !== undefined;
  if (isTool) return { class: 'tool', name: nameOf(third), permission: 'execute' };
  return { class: 'shared', name: first, permission: 'read' };
}

/** No file, and for a write no directory to make it in. */
export const isNothingThere = (access: PathAccess, { entry, above }: FoundInView) =>
  entry === undefined && (access !== 'write' || above === undefined);

/** Of a path of the objects. */
export function verdictInView(asker: PlaceAsker, access: PathAccess, found: FoundInView): Verdict {
  const { path, entry } = found;
  if (isNothingThere(access, found)) {
    const grant = grantFor(path);
    const decided = grant === undefined ? allowed : objectVerdict(asker, grant);
    return refuse('ENOENT', decided.allowed ? { kind: 'no such path', path } : decided.reason);
  }
  if (access === 'write') {
    if (entry?.type !== 'directory' && entry !== undefined && (entry.mode & 0o222) !== 0) return allowed;
    // Where some of it may be written the mount is not read-only, and its modes say no.
    const code = writesObjects(asker.resolved.authority) ? 'EACCES' : 'EROFS';
    return refuse(code, { kind: 'view read-only', path });
  }
  if (access === 'read' || (entry?.type === 'file' && (entry.mode & 0o111) !== 0)) return allowed;
  return refuse('EACCES', {
    kind: 'no program',
    path,
    is: entry?.type === 'directory' ? 'a directory' : 'not a program',
  });
}

function mayUse({ host, place, resolved }: PlaceAsker, shown: ShownDirectory, entry: FoundEntry, access: PathAccess) {
  // The home has the owner that its commands have.
  if (shown.kind === 'home' && !shown.isKept) return ((entry.mode >> 6) & bits[access]) !== 0;
  if (host.uid !== 0) {
    try {
      accessSync(shown.path, hostModes[access]);
      return true;
    } catch {
      return false;
    }
  }
  const { uid, gid } = ownerOfFiles(place.owner, resolved);
  // What root's commands may write is not shifted with them: they are strangers there.
  const isWritable = !shown.isKept && resolved.authority.view.accessTo(shown.target) === 'write';
  const shift = isWritable ? 0 : entry.uid === uid ? 6 : entry.gid === gid ? 3 : 0;
  return ((entry.mode >> shift) & bits[access]) !== 0;
}

/** Of a path in a directory of the objects that the jail binds. */
export function verdictInDirectory(
  asker: PlaceAsker,
  shown: ShownDirectory,
  access: PathAccess,
  found: FoundInView,
): Verdict {
  const { path, entry, above } = found;
  const { authority } = asker.resolved;
  const { view } = authority;
  if (view.locate(path) !== undefined) {
    const asked = access === 'write' ? 'write' : 'read';
    const decided = decidePath({ authority, path, access: asked, now: asker.now, used: asker.used });
    if (!decided.allowed) return decided;
  }
  if (access === 'write' && shown.isKept) return refuse('EROFS', { kind: 'kept read-only', path });
  if (isNothingThere(access, found)) return refuse('ENOENT', { kind: 'no such path', path });
  const about = entry ?? above;
  if (access === 'exec' && about?.type !== 'file') {
    return refuse('EACCES', {
      kind: 'no program',
      path,
      is: about?.type === 'directory' ? 'a directory' : 'not a file',
    });
  }
  const at = entry === undefined ? { ...shown, path: dirname(shown.path) } : shown;
  if (about !== undefined && !mayUse(asker, at, about, access)) {
    return refuse('EACCES', { kind: 'path mode', path, needed: needs[access], mode: about.mode });
  }
  const covering = view.covering(path);
  if (access !== 'exec' || covering?.options.includes('noexec') !== true) return allowed;
  return refuse('EACCES', { kind: 'no execution', path, entry: covering.target });
}
