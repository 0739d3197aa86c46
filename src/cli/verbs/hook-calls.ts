/** `ctx hook claude-code` and `ctx hook json`: one call in, one answer out. */
import { isAbsolute } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { givenPath } from '../../sdk/given-path.js';
import { type HookHost, type HookRequest, protocolNames, protocolOf, runHook } from '../../sdk/hook.js';
import { withDefaultPort } from '../../sdk/network-name.js';
import type { Caller } from '../caller.js';
import type { Arguments } from '../verb.js';

export function refuseHook(reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'ctx hook', reason, remedy: 'ctx hook --help shows the usage' });
}

/** Where the harness was started, and not where it has gone since: a task does not move by going elsewhere. */
function startOf(protocol: string, { environment, directory }: Caller): string {
  const named = environment['CLAUDE_PROJECT_DIR'];
  return protocol === 'claude-code' && named !== undefined && isAbsolute(named) ? named : directory();
}

export function isDecision(call: Arguments): boolean {
  return call.words.length === 1 && protocolNames.some((name) => name === call.words[0]);
}

export async function decideCalls(call: Arguments, host: () => Promise<HookHost>, caller: Caller): Promise<number> {
  const name = protocolNames.find((each) => each === call.words[0]);
  if (name === undefined || !isDecision(call)) return refuseHook(`expected ${protocolNames.join(' or ')} alone`);
  const directory = startOf(name, caller);
  const absolute = (option: string) => call.values(option).map((path) => givenPath(directory, path));
  const request: HookRequest = {
    protocol: protocolOf(name, call.flag('approve')),
    commands: call.value('bash') === 'deny' ? 'deny' : 'rewrite',
    task: {
      directory,
      agent: call.value('agent'),
      reads: absolute('read'),
      writes: absolute('write'),
      network: call.values('net').map(withDefaultPort),
      tools: call.values('tool'),
      environment: caller.environment,
    },
    host,
  };
  return runHook(request, caller.hook);
}
