/**
 * A person who calls one tool: sees that tool and nothing else. No policy of an agent is asked, since no one's agent
 * calls; what the tool's own policy says is asked as for everybody, of the type `operator_t`.
 */
import { makeAuthority } from '../../authority/authority.js';
import { parseLabel } from '../../authority/label.js';
import { makePolicy } from '../../authority/policy.js';
import { viewSurface } from './agent-viewer.js';
import type { Viewer } from './visible.js';

const label = parseLabel('user_u:operator_r:operator_t:s0');

/** EINVAL for what can be no name of a tool. */
export function personViewer(
  { uid, gid }: { readonly uid: number; readonly gid: number },
  tool: string,
  now: () => number,
): { viewer(): Viewer } {
  const authority = makeAuthority({
    identity: { uid, gid, groups: [], label },
    surface: viewSurface,
    policy: makePolicy('', [{ subject: label.type, class: 'tool', name: tool, permission: 'execute' }]),
    toolPath: ['/ctx/tool', `/ctx/home/${uid}/tool`],
  });
  return { viewer: () => ({ authority, now: now() }) };
}
