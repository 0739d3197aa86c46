/**
 * Decide for files: may this subject read or write this path of its view? The path is resolved by the caller (symlinks,
 * deepest existing ancestor). Outside the view is ENOENT and a write to what is read-only EROFS, as the kernel answers
 * in the jail; hook and guard ask here, so they answer alike.
 */
import type { Authority } from './authority.js';
import { lifetimeFault } from './quota.js';
import { allowed, type Verdict } from './refusal.js';

export interface PathRequest {
  readonly authority: Authority;
  readonly path: string;
  readonly access: 'read' | 'write';
  readonly now: number;
  readonly used: number;
}

export function decidePath({ authority, path, access, now, used }: PathRequest): Verdict {
  const fault = lifetimeFault(authority.lifetime, now, used);
  if (fault !== undefined) {
    return Object.freeze({ allowed: false, step: 'credential', code: 'EACCES', reason: { kind: fault } });
  }
  const located = authority.view.locate(path);
  if (located === undefined) {
    const reason = { kind: 'outside the view', path, access } as const;
    return Object.freeze({ allowed: false, step: 'visibility', code: 'ENOENT', reason });
  }
  if (access === 'write' && located.entry.access === 'read') {
    const reason = { kind: 'read-only', path, entry: located.entry.target } as const;
    return Object.freeze({ allowed: false, step: 'visibility', code: 'EROFS', reason });
  }
  return allowed;
}
