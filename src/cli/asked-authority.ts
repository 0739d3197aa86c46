/** The Authority that a call of `ctx` is about: of `--agent`, or of nobody, with `--read` and `--write`. */
import type { AgentFacts } from '../proxy/agent-facts.js';
import { type ResolvedAuthority, resolveAuthority } from '../proxy/authority-of.js';
import { type Host, placeOf } from '../proxy/host.js';
import { currentDirectory } from './current-directory.js';
import type { Arguments } from './verb.js';

export async function askedAuthority(host: Host, call: Arguments): Promise<ResolvedAuthority> {
  const name = call.value('agent');
  const agent: AgentFacts | undefined = name === undefined ? undefined : await host.agents(name);
  const place = placeOf(host, currentDirectory());
  return resolveAuthority(host, {
    place,
    agent,
    reads: call.values('read'),
    writes: call.values('write'),
    liveWrites: call.values('write-live'),
    siblings: call.flag('siblings'),
  });
}
