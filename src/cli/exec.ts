/** `ctx exec`: the proxy's face for people and scripts. stdout is the command's alone. */
import { resolve } from 'node:path';
import { currentDirectory } from '../sdk/current-directory.js';
import type { Command } from '../sdk/options.js';
import { commandForm } from './command-form.js';
import { reportText } from './report-text.js';
import { runCommand, wantsReport } from './run-command.js';
import type { Arguments, Run } from './verb.js';
import { optionsOf, workspaceHere } from './workspace-here.js';

export function commandOf(call: Arguments): Command {
  const form = commandForm(call, 'exec');
  return 'argv' in form ? form.argv : { shell: form.text };
}

export const run: Run = async (call, host) => {
  const command = commandOf(call);
  const options = optionsOf(call);
  const directory = resolve(currentDirectory(), call.value('cwd') ?? '.');
  return runCommand(call, {
    report: wantsReport(call.value('report')),
    text: reportText,
    perform: async (asked, onProgress) => {
      const workspace = await workspaceHere(host, { ...options, onProgress }, directory);
      return workspace.exec(command, asked);
    },
  });
};
