/** `ctx jail run`: as `ctx exec`, on the directory itself. */
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { ErrnoError } from '../base/errno.js';
import type { Host } from '../sdk/host.js';
import type { Command } from '../sdk/options.js';
import { exitCodeOfCommand } from '../sdk/report.js';
import { currentDirectory } from './current-directory.js';
import { approvalsFor, commandOf, exitCodeOfRefusal, Interrupts, streamOf, wantsReport } from './exec.js';
import { limitText } from './limit-text.js';
import { errorJson, errorText, painter, printJson } from './output.js';
import { parseDuration } from './parse-arguments.js';
import { liveReportText } from './report-text.js';
import type { Arguments, Run } from './verb.js';
import { optionsOf, workspaceHere } from './workspace-here.js';

/** What only a fork can do. */
const ofForks = ['fork', 'wait', 'keep', 'readonly'];

/** `ctx exec --live`: for hooks, whose commands are to work where the harness does. */
export const execLive: Run = (call, host) => {
  const asked = ofForks.find((name) => call.flag(name));
  if (asked !== undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx exec',
      reason: `--live and --${asked} do not go together: there is no fork`,
      remedy: 'without --live the command runs on a fork',
    });
  }
  const directory = resolve(currentDirectory(), call.value('cwd') ?? '.');
  return runLive(call, host, commandOf(call), directory);
};

export const run: Run = (call, host) => runLive(call, host, call.words, call.value('dir') ?? currentDirectory());

async function runLive(
  call: Arguments,
  host: () => Promise<Host>,
  command: Command,
  directory: string,
): Promise<number> {
  const told = streamOf(call, printJson);
  const json = call.flag('json');
  const report = wantsReport(call.value('report'));
  const timeout = call.value('timeout');
  const timeoutMilliseconds = timeout === undefined ? undefined : parseDuration(timeout);
  const options = optionsOf(call);
  const interrupts = new Interrupts();
  try {
    const workspace = await workspaceHere(host, options, directory);
    const envelope = await workspace.execLive(command, {
      timeoutMilliseconds,
      streams: json ? 'capture' : 'inherit',
      ...approvalsFor(call, () => undefined),
      onStarted: (started) => interrupts.started(started),
      onLimit: (event) => {
        told?.onLimit?.(event);
        if (report) process.stderr.write(`\r${limitText(event)}\r\n`);
      },
      onOutput: told?.onOutput,
      signal: interrupts.signal,
    });
    await told?.end();
    if (json) printJson(envelope);
    else if (report) process.stderr.write(liveReportText(envelope, painter(process.stderr)));
    return exitCodeOfCommand(envelope, constants.signals);
  } catch (error) {
    const exitCode = exitCodeOfRefusal(error);
    if (exitCode === undefined || !(error instanceof ErrnoError)) throw error;
    if (json) printJson(errorJson(error));
    else process.stderr.write(errorText(error, painter(process.stderr)));
    return exitCode;
  }
}
