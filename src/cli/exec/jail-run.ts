/** `ctx jail run`: as `ctx exec`, on the directory itself. */
import { ErrnoError } from '../../base/errno.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import type { Host } from '../../sdk/host.js';
import type { Command } from '../../sdk/options.js';
import { optionsOf } from '../input/asked-options.js';
import { directoryAsked } from '../input/directory-asked.js';
import { workspaceHere } from '../input/workspace-here.js';
import { liveReportText } from '../text/report-text.js';
import type { Arguments, Run } from '../verb.js';
import { commandOf } from './exec.js';
import { showCommand, wantsReport } from './run-command.js';

/** What only a fork can do. */
const ofForks = ['fork', 'alone', 'wait', 'keep', 'readonly'];

/** `ctx exec --live`: for hooks, whose commands are to work where the harness does. */
export const execLive: Run = async (call, host) => {
  const asked = ofForks.find((name) => call.flag(name));
  if (asked !== undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx exec',
      reason: `--live and --${asked} cannot be used together: there is no fork`,
      remedy: 'leave out --live to run it on a fork',
    });
  }
  const directory = directoryAsked(call.value('cwd'));
  return runLive(call, host, commandOf(call), directory);
};

export const run: Run = async (call, host) => runLive(call, host, call.words, call.value('dir') ?? currentDirectory());

async function runLive(call: Arguments, host: () => Promise<Host>, command: Command, directory: string) {
  const options = optionsOf(call);
  const shown = showCommand(call, { host, report: wantsReport(call.value('report')), text: liveReportText });
  try {
    const workspace = await workspaceHere(host, options, directory);
    return await shown.end(await workspace.execLive(command, shown.options));
  } catch (error) {
    return shown.refuse(error);
  }
}
