/** `ctx status`: where a command here would work, and what waits for the person. */
import { visible } from '../base/visible-text.js';
import { counted } from './change-text.js';
import { forkHere } from './fork-here.js';
import { painter, printJson } from './output.js';
import type { Run } from './verb.js';

export const run: Run = async (call, host) => {
  const status = await (await forkHere(call, host)).status();
  if (call.flag('json')) {
    printJson({ version: 1, ...status, changes: status.changes.length });
    return 0;
  }
  const paint = painter(process.stdout);
  const lines = [
    `${paint('bold', visible(status.origin))}`,
    `  fork      ${status.fork} of vault ${status.vault}, on ${counted(status.layers, 'layer')}`,
    `  pending   ${status.changes.length === 0 ? 'nothing' : `${counted(status.changes.length, 'change')}: ctx diff, ctx apply, ctx drop`}`,
    ...status.clashes.map((path) => paint('red', `  clash     both you and the fork changed ${visible(path)}`)),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return 0;
};
