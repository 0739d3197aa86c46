/** What an agent may be, given who makes it: no one gives away what they do not have. */

import type { Agent } from '../../authority/agent.js';
import { coach } from '../../authority/refusal.js';
import { ErrnoError } from '../../base/errno.js';
import { resolveAuthority } from '../../proxy/grants/authority-of.js';
import { type Host, type Place, placeOf } from '../../proxy/host.js';

/** An agent can be made anywhere. Outside of every project it is compared without a workspace. */
function placeForComparison(host: Host, directory: string): Place {
  try {
    return placeOf(host, directory);
  } catch (error) {
    if (!(error instanceof ErrnoError) || error.code !== 'EINVAL') throw error;
    const nowhere = '/nonexistent';
    return { directory: nowhere, origin: nowhere, owner: { uid: host.uid, gid: host.gid, shift: 0 } };
  }
}

/** A person makes agents of their own ids; root makes anybody's. */
export function assertOwnAgent(host: Host, { name, identity }: Agent): void {
  if (host.uid === 0 || (identity.owner === host.uid && identity.uid === host.uid && identity.gid === host.gid)) return;
  throw new ErrnoError('EPERM', {
    operation: `agent ${name}`,
    reason: `expected owner and uid ${host.uid} and gid ${host.gid}, which are yours`,
  });
}

export async function assertWithinParent(host: Host, agent: Agent, directory: string): Promise<void> {
  await resolveAuthority(host, { place: placeForComparison(host, directory), agent });
}

/** Every reason at once: the permission to create it, and each thing it asks for beyond its parent. */
export async function assertMayCreate(host: Host, parent: Agent, child: Agent, directory: string): Promise<void> {
  const reasons: string[] = [];
  const { type } = parent.identity.label;
  if (!parent.policy.allows(type, 'agent', child.name, 'create')) {
    const grant = { class: 'agent', name: child.name, permission: 'create' } as const;
    reasons.push(coach({ kind: 'no agent rule', grant, subject: type, file: parent.policy.file }));
  }
  try {
    await assertWithinParent(host, child, directory);
  } catch (error) {
    if (!(error instanceof ErrnoError) || error.code !== 'EACCES') throw error;
    reasons.push(error.reason);
  }
  if (reasons.length === 0) return;
  throw new ErrnoError('EACCES', {
    operation: `agent ${child.name}`,
    reason: reasons.join('; '),
    remedy: `ctx agent show ${parent.name}`,
  });
}
