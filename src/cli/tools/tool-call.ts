/** `ctx tool call NAME [JSON]`: the tool's own output and exit code. */
import { currentDirectory } from '../../sdk/current-directory.js';
import type { Envelope } from '../../sdk/report.js';
import { execIn, placeAt } from '../../sdk/workspace/command.js';
import { showCommand, wantsReport } from '../exec/run-command.js';
import type { Run } from '../verb.js';

export const callTool: Run = async (call, hostOf) => {
  const [name = '', input] = call.words;
  const agent = call.value('agent');
  const { calledTool } = await import('../../sdk/workspace/tool-calls.js');
  const host = await hostOf();
  const { path, cap } = calledTool(host, agent, name);
  // Of a tool there is no report; a CTX_REPORT that is wrong is refused before it runs.
  wantsReport(undefined);
  const shown = showCommand<Envelope>(call, { host: hostOf, report: false, text: () => '' });
  try {
    const fork = call.value('fork');
    const place = placeAt(host, { agent, fork, onProgress: shown.onProgress, directory: currentDirectory() });
    const command = input === undefined ? [path] : [path, input];
    const seen = agent === undefined ? { calledTool: name } : {};
    return await shown.end(await execIn(place, command, { ...shown.options, ...seen, toolCall: { name, cap } }));
  } catch (error) {
    return shown.refuse(error);
  }
};
