/** The view that an agent has in its jail, and where that is. */
import { accessSync, constants } from 'node:fs';
import { contains } from '../../authority/absolute-path.js';
import type { Authority } from '../../authority/authority.js';
import { objectsPath } from '../../authority/mount.js';
import { ErrnoError } from '../../base/errno.js';
import type { SharedPath } from '../../jail/plan.js';
import { planLimits } from '../../jail/plan-bytes.js';
import type { AgentView, AgentViewRequest, ToolRoot } from '../agent-views.js';
import type { AskedTree } from '../asked-tree.js';
import type { Host, Place } from '../host.js';
import type { ResolvedAuthority } from './authority-of.js';
import type { EnforcedView } from './enforced-plan.js';

/** Where agents see the objects. */
export const viewTarget = objectsPath;
/** The directory of the view's socket; native/object has the same. */
export const socketTarget = '/run/ctx';

/** Whether an agent misses anything without a view: its policy has a rule about objects. */
function seesObjects({ policy, identity }: Authority): boolean {
  return policy.rules.some(
    ({ subject, class: of }) => subject === identity.label.type && ['tool', 'agent', 'shared', 'model'].includes(of),
  );
}

/** Why there can be no view in a jail of this Authority. */
export function viewObstacle({ view }: Authority): string | undefined {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
  } catch {
    return '/dev/fuse cannot be opened; modprobe fuse, or give it to this container or user';
  }
  const others = view.entries.filter(({ of, source, target }) => of !== 'objects' || source !== target);
  const taken = others.find(({ target }) =>
    [viewTarget, socketTarget].some((own) => contains(own, target) || (target !== '/' && contains(target, own))),
  );
  return taken === undefined ? undefined : `${taken.target} is mounted there`;
}

/** By a person, who has no agent. */
interface CalledTool {
  readonly tool: string | undefined;
}

export interface OfferedView {
  readonly view: AgentView | undefined;
  readonly warnings: readonly string[];
}

/** The fork's directories, and where mounts show parts of them, too. */
function toolRoots({ view }: Authority, forked: readonly string[]): readonly ToolRoot[] {
  const repeated = view.entries.filter(
    ({ of, source, target }) => of === 'host' && source !== target && forked.some((root) => contains(root, source)),
  );
  return [
    ...forked.map((path) => ({ path, source: path })),
    ...repeated.map(({ target, source }) => ({ path: target, source })),
  ];
}

/** What cannot be shown is said: the command runs without it, and has nothing more by that. */
export async function agentViewFor(
  { views }: Host,
  { origin, directory }: Place,
  { agent, authority, roots, tool }: Pick<ResolvedAuthority, 'agent' | 'authority' | 'roots'> & CalledTool,
  runs: Pick<AgentViewRequest, 'run' | 'runTool' | 'runServer' | 'pending'>,
): Promise<OfferedView> {
  if (views === undefined || (tool === undefined && agent === undefined)) return { view: undefined, warnings: [] };
  const reason = viewObstacle(authority);
  if (reason !== undefined) {
    const isMissed = tool !== undefined || seesObjects(authority);
    return { view: undefined, warnings: isMissed ? [`the agent's tools are not at ${viewTarget}: ${reason}`] : [] };
  }
  const view = await views({
    agent: agent?.name,
    tool,
    authority,
    roots: toolRoots(authority, [origin, ...roots]),
    directory,
    ...runs,
  });
  return { view, warnings: [] };
}

/** Whether anything of the view may be written: control files of other agents, where its policy says so. */
export function writesObjects({ policy, identity }: Authority): boolean {
  const { type } = identity.label;
  return policy.rules.some(
    ({ subject, class: of, permission }) => subject === type && of === 'agent' && permission === 'write',
  );
}

/** The view is served last, after the trees that were asked for. */
export function withAgentView<View extends EnforcedView>(view: View, agentView: AgentView | undefined): View {
  if (agentView === undefined) return view;
  const { jail } = view;
  const { served = [] } = jail;
  if (served.length >= planLimits.channels) {
    const reason = `expected at most ${planLimits.channels - 1} mounts beside the agent's view`;
    throw new ErrnoError('EINVAL', { operation: '--mount', reason, remedy: 'mount fewer' });
  }
  const socket: SharedPath = { source: agentView.socketDirectory, target: socketTarget, access: 'read only' };
  const shared = [...jail.shared, socket];
  return {
    ...view,
    jail: { ...jail, shared, served: [...served, { target: viewTarget, writable: agentView.isWritten }] },
  };
}

/** The server of the view, as those of trees are started. */
export function viewServer(
  view: AgentView | undefined,
  { jail }: EnforcedView,
  fork: string | undefined,
): readonly Pick<AskedTree, 'start'>[] {
  if (view === undefined) return [];
  const end = () => view.end();
  return [
    {
      start: async (identity) => ({
        ...(await view.start({ identity, home: jail.person.home, fork })),
        ended: end,
        kill: () => void end(),
      }),
    },
  ];
}
