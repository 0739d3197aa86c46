/**
 * An Authority as the hook asks it. The harness is outside of the jail and names paths of the host, so a mount counts
 * where it shows a path at its own place; what stands in the jail at another path has no such name here.
 */
import type { Authority } from '../authority/authority.js';
import { lifetimeFault } from '../authority/quota.js';
import { ErrnoError } from '../base/errno.js';
import type { HookGrants } from './grants.js';

export function authorityGrants(authority: Authority, tools: ReadonlySet<string>, now: number): HookGrants {
  const fault = lifetimeFault(authority.lifetime, now, 0);
  if (fault !== undefined) {
    throw new ErrnoError('EACCES', { operation: 'hook', reason: `the agent's authority is ${fault}` });
  }
  const { view, policy, identity, network } = authority;
  const entryOf = (path: string) => {
    const entry = view.locate(path)?.entry;
    return entry !== undefined && entry.source === entry.target ? entry : undefined;
  };
  return Object.freeze({
    accessTo: (path: string) => entryOf(path)?.access ?? 'none',
    deciding: (path: string) => entryOf(path)?.target,
    hidden: view.hidden,
    network,
    mayExecute: (tool: string) => tools.has(tool) || policy.allows(identity.label.type, 'tool', tool, 'execute'),
  });
}
