/** `ctx tool call NAME [JSON]`: the tool's own output and exit code. */
import { constants } from 'node:os';
import { currentDirectory } from '../../sdk/current-directory.js';
import { exitCodeOfCommand } from '../../sdk/report.js';
import { execIn, placeAt } from '../../sdk/workspace/command.js';
import { printJson } from '../text/output.js';
import type { Run } from '../verb.js';

export const callTool: Run = async (call, hostOf) => {
  const [name = '', input] = call.words;
  const agent = call.value('agent');
  const { calledPath } = await import('../../sdk/workspace/tool-calls.js');
  const host = await hostOf();
  const path = calledPath(host, agent, name);
  const place = placeAt(host, { agent, fork: call.value('fork'), directory: currentDirectory() });
  const isJson = call.flag('json');
  const command = input === undefined ? [path] : [path, input];
  const envelope = await execIn(place, command, {
    streams: isJson ? 'capture' : 'inherit',
    ...(agent === undefined ? { calledTool: name } : {}),
  });
  if (isJson) printJson(envelope);
  return exitCodeOfCommand(envelope, constants.signals);
};
