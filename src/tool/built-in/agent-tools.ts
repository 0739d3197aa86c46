/**
 * `agent.create`, `agent.start` and `agent.stop`. A new agent is its caller's child and within what its caller has: every excess is refused
 * by name. To start and stop one needs the runtime of agents, which is not built; the permission is asked all the same.
 */
import { coach } from '../../authority/refusal.js';
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { verdictOnAgent } from '../../objects/projection/visible.js';
import { type ToolRun, type ToolRunCall, textOf } from '../tool-run.js';

const create: ToolRun = async (call) => {
  const { createAgent, name, input } = call;
  if (createAgent === undefined) {
    const reason = 'only an agent can make a child agent, and this call was not made by one';
    throw new ErrnoError('ENOTSUP', {
      operation: name,
      reason,
      remedy: 'ctx agent new NAME [--parent AGENT] makes one',
    });
  }
  const { directory } = await withoutHostPaths(() => createAgent(textOf(call, 'name'), input));
  call.print(`made agent ${textOf(call, 'name')}: ${directory}\n`);
  return ExitCode.ok;
};

/** A failure without the place of objects on the host, which is shown to no agent. */
async function withoutHostPaths<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    const { code, operation, reason, remedy, cause } = error;
    throw new ErrnoError(code, { operation, reason, remedy, cause });
  }
}

function refusePermission(call: ToolRunCall, permission: 'start' | 'stop'): void {
  const agent = textOf(call, 'name');
  const verdict = verdictOnAgent(call.catalogue, call.viewer(), agent, permission);
  if (verdict.allowed) return;
  throw new ErrnoError(verdict.code === 'ENOENT' ? 'ENOENT' : 'EACCES', {
    operation: call.name,
    reason: verdict.code === 'ENOENT' ? `there is no agent ${agent}` : coach(verdict.reason),
  });
}

const lifecycle =
  (permission: 'start' | 'stop'): ToolRun =>
  async (call) => {
    refusePermission(call, permission);
    throw new ErrnoError('ENOTSUP', {
      operation: call.name,
      reason: `${permission === 'start' ? 'starting' : 'stopping'} an agent needs the agent runtime, which this version of ctx does not have`,
      remedy: `ctx exec --agent ${textOf(call, 'name')} -- COMMAND runs a command for it`,
    });
  };

export const agentTools: Readonly<Record<string, ToolRun>> = {
  'agent.create': create,
  'agent.start': lifecycle('start'),
  'agent.stop': lifecycle('stop'),
};
