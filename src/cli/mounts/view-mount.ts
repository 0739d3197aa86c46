/** `ctx view mount DIR`. The server is a process of its own, as that of `ctx vfs mount`. */
import { resolve } from 'node:path';
import { ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { painter, print, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';
import { endedBySignals, serveAt } from './background-server.js';

const part = async () => import('../../sdk/operator/views.js');

function sayMounted(call: Arguments, directory: string): void {
  const agent = call.value('agent');
  const what = agent === undefined ? 'the objects' : `what agent ${visible(agent)} sees`;
  if (call.flag('json')) printJson({ version: 1, agent: agent ?? null, directory });
  else print(`${painter(process.stdout)('green', `mounted ${what} at ${visible(directory)}`)}\n`);
}

export const mountViewAt: Run = async (call, hostOf) => {
  const { checkView, mountPoint, mountView } = await part();
  const host = await hostOf();
  const agent = call.value('agent');
  const directory = resolve(currentDirectory(), call.words[0] ?? '');
  if (call.flag('foreground')) {
    await mountView(host, { directory, agent, signal: endedBySignals(), mounted: (at) => sayMounted(call, at) });
    return ExitCode.ok;
  }
  // Before another process is started: what is refused is refused here.
  checkView(host, agent);
  const flags = [...(call.flag('json') ? ['--json'] : []), ...(agent === undefined ? [] : [`--agent=${agent}`])];
  return serveAt(directory, mountPoint, ['view', 'mount', ...flags, '--foreground', '--', directory]);
};
