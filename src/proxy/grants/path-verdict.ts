/**
 * Whether a command could use a path as it would find it: what its Authority says of the path, then what is there, and the mode
 * bits. What the jail is made of is asked, not a copy of it: the same view, the same read-only places.
 */
import { accessSync, constants } from 'node:fs';
import { contains } from '../../authority/absolute-path.js';
import { decidePath } from '../../authority/decide-path.js';
import { type Reason, stepOf, type Verdict } from '../../authority/refusal.js';
import type { ErrnoCode } from '../../base/errno.js';
import type { Host, Place } from '../host.js';
import type { ResolvedAuthority } from './authority-of.js';
import type { FoundEntry, FoundInView } from './found-in-view.js';
import { ownerOfFiles } from './jail-identity.js';
import { ownPath } from './own-path.js';
import { readOnlyByRequest } from './read-only-by-request.js';

export const accesses = ['read', 'write', 'exec'] as const;
export type PathAccess = (typeof accesses)[number];

export interface PathCheck {
  readonly host: Pick<Host, 'uid' | 'groups'>;
  readonly place: Place;
  readonly resolved: ResolvedAuthority;
  /** As `--readonly`. */
  readonly readonly: boolean;
  readonly now: number;
  /** Of the uses that the Authority's lifetime allows. */
  readonly used: number;
}

const bits = { read: 4, write: 2, exec: 1 } as const;
const hostModes = { read: constants.R_OK, write: constants.W_OK, exec: constants.X_OK } as const;
const needs = { read: 'read', write: 'write', exec: 'execute' } as const;

const forkedBy = ({ place, resolved }: PathCheck) => [place.origin, ...resolved.roots];

function hostAllows(path: string, access: PathAccess): boolean {
  try {
    accessSync(path, hostModes[access]);
    return true;
  } catch {
    return false;
  }
}

/**
 * By mode bits. Of the host's own files the kernel is asked where the command has our ids: access lists count there. Root's
 * commands run shifted: what they may write is not shifted with them, so they are strangers there; what is shown read-only is.
 */
function mayByMode(use: PathCheck, path: string, entry: FoundEntry, access: PathAccess): boolean {
  const { host, place, resolved } = use;
  const { view, identity } = resolved.authority;
  const located = view.locate(ownPath(view, forkedBy(use), path));
  if (!entry.inFork && located !== undefined) {
    if (host.uid !== 0) return hostAllows(located.host, access);
    if (located.entry.access === 'write') return (entry.mode & bits[access]) !== 0;
  }
  // The fork is its own whatever its uid.
  const { uid, gid } = entry.inFork ? place.owner : ownerOfFiles(place.owner, resolved);
  const groups = host.uid === 0 ? identity.groups : host.groups;
  const shift = entry.uid === uid ? 6 : entry.gid === gid || groups.includes(entry.gid) ? 3 : 0;
  return ((entry.mode >> shift) & bits[access]) !== 0;
}

function wayReason(use: PathCheck, { way }: FoundInView): Reason | undefined {
  // Directories that only lead to a grant are the jail's own.
  const seen = way.filter(([path]) => use.resolved.authority.view.locate(path) !== undefined);
  const closed = seen.find(([path, entry]) => !mayByMode(use, path, entry, 'exec'));
  if (closed === undefined) return undefined;
  return { kind: 'path mode', path: closed[0], needed: 'search', mode: closed[1].mode };
}

function foundReason(use: PathCheck, access: PathAccess, found: FoundInView): Reason | undefined {
  const { path, entry, above, way } = found;
  if (entry === undefined && (access !== 'write' || above === undefined)) return { kind: 'no such path', path };
  if (entry === undefined) {
    const [directory = path] = way[0] ?? [];
    if (above === undefined || mayByMode(use, directory, above, 'write')) return undefined;
    return { kind: 'path mode', path: directory, needed: 'write', mode: above.mode };
  }
  if (access === 'exec' && entry.type !== 'file') {
    return { kind: 'no program', path, is: entry.type === 'directory' ? 'a directory' : 'not a file' };
  }
  if (mayByMode(use, path, entry, access)) return undefined;
  return { kind: 'path mode', path, needed: needs[access], mode: entry.mode };
}

function codeOf({ kind }: Reason): ErrnoCode {
  if (kind === 'no such path') return 'ENOENT';
  return kind === 'run read-only' ? 'EROFS' : 'EACCES';
}

export function pathVerdict(use: PathCheck, access: PathAccess, found: FoundInView): Verdict {
  const { place, resolved, now, used } = use;
  const { authority } = resolved;
  const { path } = found;
  const { view } = authority;
  const own = ownPath(view, forkedBy(use), path);
  const decided = (at: string) =>
    decidePath({ authority, path: at, access: access === 'write' ? 'write' : 'read', now, used });
  const granted = decided(path);
  if (!granted.allowed) return granted;
  const inOwn = own === path ? granted : decided(own);
  if (!inOwn.allowed) return inOwn;
  const there = view.locate(own)?.host ?? own;
  // All that is shown of a part of the fork is of one mount.
  const root = forkedBy(use).find((each) => contains(each, there));
  const entries = [path, own, ...(root === undefined ? [] : [root])].map((each) => view.covering(each));
  const closed = entries.find((entry) => entry?.options.includes('noexec') === true);
  const isShownReadOnly =
    access === 'write' &&
    readOnlyByRequest(place, resolved, use).some((at) => [path, there].some((each) => contains(at, each)));
  const reason: Reason | undefined =
    (isShownReadOnly ? ({ kind: 'run read-only', path } as const) : undefined) ??
    wayReason(use, found) ??
    foundReason(use, access, found) ??
    (access === 'exec' && closed !== undefined
      ? ({ kind: 'no execution', path, entry: closed.target } as const)
      : undefined);
  if (reason === undefined) return granted;
  return Object.freeze({ allowed: false, step: stepOf(reason), code: codeOf(reason), reason });
}
