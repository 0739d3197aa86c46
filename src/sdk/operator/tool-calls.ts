/** Calls of tools by their names, for a person: in a jail of an agent that may call it, as that agent would. */
import { coach } from '../../authority/refusal.js';
import { ErrnoError } from '../../base/errno.js';
import { agentViewer } from '../../objects/projection/agent-viewer.js';
import { diskCatalogue } from '../../objects/projection/disk-catalogue.js';
import { toolHit, verdictOnTool } from '../../objects/projection/visible.js';
import { withBuiltIns } from '../../objects/projection/with-built-ins.js';
import type { Host } from '../../proxy/host.js';

/** Where the agent finds it. ENOENT where it has none of that name, EACCES where it may not call it; that is recorded. */
export function calledPath(host: Host, agent: string, name: string): string {
  const { root, uid, recorder } = host;
  const catalogue = withBuiltIns(diskCatalogue(root));
  const viewer = agentViewer({ root, uid }, agent, () => host.now().getTime()).viewer();
  const hit = toolHit(catalogue, viewer, name);
  if (hit === undefined) {
    throw new ErrnoError('ENOENT', {
      operation: `tool ${name}`,
      reason: `there is no executable tool of that name on the path of agent ${agent}`,
      remedy: 'ctx tool new NAME --exec FILE makes one; ctx view mount shows what there is',
    });
  }
  const verdict = verdictOnTool(viewer, name, hit);
  const reason = hit.problem ?? (verdict.allowed ? undefined : coach(verdict.reason));
  if (reason === undefined) return `/ctx/${hit.place}/${name}`;
  const step = verdict.allowed ? 'object policy' : verdict.step;
  recorder.append({
    type: 'tool.call',
    object: `tool/${name}`,
    agent,
    status: 'denied',
    layer: 'guard',
    facts: { step, reason },
  });
  throw new ErrnoError('EACCES', { operation: `tool ${name}`, reason });
}
