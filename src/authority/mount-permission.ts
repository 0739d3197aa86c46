/**
 * `mount:` permissions. A policy that names no mount leaves it to the mount file: what a line mounts is granted. One that
 * names any decides about all of them: a mount needs `mount:NAME read` to be shown and `mount:NAME write` to be written,
 * NAME being its target with `/` as `.`; `write` includes reading, since nothing can be mounted for writing alone.
 */
import type { Mount } from './mount.js';
import { mountObjectName } from './name.js';
import type { Policy } from './policy.js';

export interface WithheldMount {
  readonly mount: Mount;
  /** The permission that is missing. */
  readonly missing: 'read' | 'write';
  /** The rule that would grant it; undefined for a target that no policy can name. */
  readonly rule: string | undefined;
}

export interface PermittedMounts {
  readonly mounts: readonly Mount[];
  readonly withheld: readonly WithheldMount[];
}

export function namesMounts(policy: Policy, subject: string): boolean {
  return policy.rules.some((rule) => rule.class === 'mount' && rule.subject === subject);
}

export function permittedMounts(policy: Policy, subject: string, mounts: readonly Mount[]): PermittedMounts {
  if (!namesMounts(policy, subject)) return { mounts, withheld: [] };
  const permitted: Mount[] = [];
  const withheld: WithheldMount[] = [];
  for (const mount of mounts) {
    const name = mountObjectName(mount.target);
    const may = (permission: 'read' | 'write') =>
      name !== undefined && policy.allows(subject, 'mount', name, permission);
    const without = (missing: 'read' | 'write') =>
      withheld.push({ mount, missing, rule: name && `allow ${subject} mount:${name} ${missing}` });
    if (may('write') || (mount.mode === 'ro' && may('read'))) permitted.push(mount);
    else if (may('read')) {
      permitted.push({ ...mount, mode: 'ro' });
      without('write');
    } else without('read');
  }
  return Object.freeze({ mounts: Object.freeze(permitted), withheld: Object.freeze(withheld) });
}
