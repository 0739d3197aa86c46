/**
 * Decide for files: may this subject read or write this path of its view? The path is resolved by the caller (symlinks,
 * deepest existing ancestor). Outside the view is ENOENT and a write to what is read-only EROFS, as the kernel answers
 * in the jail; hook and guard ask here, so they answer alike.
 */
import type { Authority } from './authority.js';
import { lifetimeFault } from './quota.js';
import { allowed, refusedFor, type Verdict } from './refusal.js';

export interface PathRequest {
  readonly authority: Authority;
  readonly path: string;
  readonly access: 'read' | 'write';
  readonly now: number;
  readonly used: number;
}

export function decidePath({ authority, path, access, now, used }: PathRequest): Verdict {
  const fault = lifetimeFault(authority.lifetime, now, used);
  if (fault !== undefined) return refusedFor('EACCES', { kind: fault });
  const located = authority.view.locate(path);
  if (located === undefined) return refusedFor('ENOENT', { kind: 'outside the view', path, access });
  if (access === 'write' && located.entry.access === 'read') {
    return refusedFor('EROFS', { kind: 'read-only', path, entry: located.entry.target });
  }
  return allowed;
}
