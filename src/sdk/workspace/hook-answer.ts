/** What the hook would say of a call, for `ctx why`: its own code, asked without a harness, and nothing is recorded. */
import { ErrnoError } from '../../base/errno.js';
import { taskGrants } from '../../hook/authority-grants.js';
import type { CallAction } from '../../hook/call.js';
import { decideCall } from '../../hook/decide-call.js';
import { HostResolver } from '../../hook/resolve-path.js';
import { taskAuthority } from '../../hook/task-authority.js';
import type { PathAccess } from '../../proxy/grants/path-verdict.js';
import type { Host, Place } from '../../proxy/host.js';
import type { WorkspaceOptions } from '../options.js';

export interface HookAnswer {
  readonly allowed: boolean;
  readonly text: string;
}

function actionOf(access: PathAccess, path: string): CallAction {
  if (access === 'exec') return { kind: 'command', command: path };
  return { kind: 'paths', uses: [{ path, access, tree: true }] };
}

export async function hookAnswer(
  host: Host,
  { directory }: Place,
  options: WorkspaceOptions,
  access: PathAccess,
  path: string,
): Promise<HookAnswer> {
  const { agent, reads = [], writes = [], network = [], privateHosts = [] } = options;
  const task = { directory, agent, reads, writes, network: [...network, ...privateHosts], tools: [] };
  const { resolve } = new HostResolver();
  try {
    const grants = await taskGrants(await taskAuthority(host, task), task, host.now().getTime(), resolve);
    const form = { program: 'ctx', options: [], shell: 'sh' };
    const call = { tool: access, cwd: directory, action: actionOf(access, path) };
    const { decision, reason } = await decideCall({ grants, resolve, commands: 'rewrite', form }, call);
    if (decision === 'deny') return { allowed: false, text: `denies the call: ${reason}` };
    return { allowed: true, text: decision === 'rewrite' ? 'leaves the command to `ctx exec`' : `may ${access}` };
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    return { allowed: false, text: `denies the call: ${error.reason}` };
  }
}
