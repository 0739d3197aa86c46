/** `ctx exec`: the proxy's face for people and scripts. stdout is the command's alone. */
import type { Command } from '../../sdk/options.js';
import { execIn, placeAt } from '../../sdk/workspace/command.js';
import { optionsOf } from '../input/asked-options.js';
import { commandForm } from '../input/command-form.js';
import { directoryAsked } from '../input/directory-asked.js';
import { reportText } from '../text/report-text.js';
import type { Arguments, Run } from '../verb.js';
import { showCommand, wantsReport } from './run-command.js';

export function commandOf(call: Arguments): Command {
  const form = commandForm(call, 'exec');
  return 'argv' in form ? form.argv : { shell: form.text };
}

export const run: Run = async (call, host) => {
  const command = commandOf(call);
  const options = optionsOf(call);
  const directory = directoryAsked(call.value('cwd'));
  const shown = showCommand(call, { host, report: wantsReport(call.value('report')), text: reportText });
  try {
    const place = placeAt(await host(), { ...options, onProgress: shown.onProgress, directory });
    return await shown.end(await execIn(place, command, shown.options));
  } catch (error) {
    return shown.refuse(error);
  }
};
