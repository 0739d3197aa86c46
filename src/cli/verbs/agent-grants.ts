/** `ctx agent grant` and `ctx agent revoke`: what a person gives an agent as its supervisor, in the words of `ctx why`. */
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { pathFrom } from '../../base/path-from.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { withDefaultPort } from '../../sdk/network-name.js';
import { type AgentGrant, Agents, type ChangedAgent, printAgentGrant } from '../../sdk/operator/agents.js';
import { objectQuestion } from '../../sdk/workspace/permissions.js';
import { painter, print, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';

function groupOf(text: string): number {
  if (/^(?:0|[1-9][0-9]{0,9})$/.test(text)) return Number(text);
  throw new ErrnoError('EINVAL', { operation: 'ctx agent grant', reason: `expected a group's number, got '${text}'` });
}

function grantOf({ words }: Arguments): AgentGrant {
  const [, first = '', second = ''] = words;
  switch (first) {
    case 'read':
    case 'write':
      return { kind: first, path: pathFrom(currentDirectory(), second) };
    case 'connect':
      return { kind: 'connect', host: withDefaultPort(second) };
    case 'group':
      return { kind: 'group', gid: groupOf(second) };
    default:
      return { kind: 'permission', ...objectQuestion(first, second, 'agent grant') };
  }
}

function told(call: Arguments, done: string, unchanged: string, { files, beyond }: ChangedAgent): number {
  const [name = ''] = call.words;
  const what = printAgentGrant(grantOf(call));
  if (call.flag('json')) {
    printJson({ version: 1, kind: 'agent', name, what, files, beyond });
    return ExitCode.ok;
  }
  const paint = painter(process.stdout);
  if (files.length === 0) print(`nothing to do: agent ${name} ${unchanged} ${visible(what)}\n`);
  else print(`${paint('green', `${done} agent ${name}: ${visible(what)}`)} (${files.join(', ')})\n`);
  for (const text of beyond) print(`  beyond its parent: ${visible(text)}\n`);
  return ExitCode.ok;
}

export const grant: Run = async (call, hostOf) => {
  const agents = new Agents(await hostOf());
  const changed = await agents.grant(call.words[0] ?? '', grantOf(call), currentDirectory());
  return told(call, 'granted', 'has', changed);
};

export const revoke: Run = async (call, hostOf) => {
  const agents = new Agents(await hostOf());
  return told(call, 'revoked from', 'does not have', await agents.revoke(call.words[0] ?? '', grantOf(call)));
};
