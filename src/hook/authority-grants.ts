/**
 * An Authority as the hook asks it. The harness is outside of the jail and names paths of the host, so a mount counts
 * where it shows a path at its own place; what is in the jail at another path has no such name here.
 *
 * A tool that is an object of ours is decided about as everywhere: mode bits, visibility and its own policy count.
 * Tools that only the harness has are not objects: for them the agent's policy alone decides.
 */
import { decide } from '../authority/decide.js';
import { lifetimeFault } from '../authority/quota.js';
import { coach } from '../authority/refusal.js';
import { ErrnoError } from '../base/errno.js';
import type { HookGrants } from './grants.js';
import type { HookTask, TaskAuthority } from './hook-host.js';
import { protectedPaths, withProtected } from './protected-paths.js';
import type { Resolve } from './resolve-path.js';

export function authorityGrants(held: TaskAuthority, tools: ReadonlySet<string>, now: number): HookGrants {
  const { authority, used } = held;
  const fault = lifetimeFault(authority.lifetime, now, used);
  if (fault !== undefined) throw new ErrnoError('EACCES', { operation: 'hook', reason: coach({ kind: fault }) });
  const { view, policy, identity, network } = authority;
  const entryOf = (path: string) => {
    const entry = view.locate(path)?.entry;
    return entry?.of === 'host' && entry.source === entry.target ? entry : undefined;
  };
  const toolFault = (name: string): string | undefined => {
    if (tools.has(name)) return undefined;
    const object = held.toolFacts(name);
    if (!object.exists) {
      const { type } = identity.label;
      if (policy.allows(type, 'tool', name, 'execute')) return undefined;
      return `no policy grants it; an operator would add: allow ${type} tool:${name} execute`;
    }
    const { uid, gid } = identity;
    const question = { class: 'tool', name, permission: 'execute' } as const;
    const verdict = decide({ authority, credential: { uid, gid }, ...question, object, now, used });
    return verdict.allowed ? undefined : coach(verdict.reason);
  };
  return Object.freeze({
    accessTo: (path: string) => entryOf(path)?.access ?? 'none',
    deciding: (path: string) => entryOf(path)?.target,
    hidden: view.hidden,
    elsewhere: (path: string) =>
      view.beneath(path).flatMap(({ target }) => (entryOf(target) === undefined ? [target] : [])),
    readOnlyIn: (path: string) => view.beneath(path).find(({ target }) => view.accessTo(target) !== 'write')?.target,
    network,
    toolFault,
  });
}

/** All that a task grants its harness, which works on the person's own files. */
export async function taskGrants(
  held: TaskAuthority,
  task: Pick<HookTask, 'directory' | 'tools'>,
  now: number,
  resolve: Resolve,
): Promise<HookGrants> {
  const grants = authorityGrants(held, new Set(task.tools), now);
  const { cwd, additionalWrites } = held.authority.surface;
  return withProtected(grants, await protectedPaths([cwd, task.directory], resolve), additionalWrites);
}
