/** `ctx jail run`: as `ctx exec`, on the directory itself. */
import { constants } from 'node:os';
import { ErrnoError } from '../base/errno.js';
import { exitCodeOfCommand } from '../proxy/envelope.js';
import { executeLive } from '../proxy/execute-live.js';
import { grantsOf } from './asked-grants.js';
import { currentDirectory } from './current-directory.js';
import { approvalsFor, exitCodeOfRefusal, Interrupts, wantsReport } from './exec.js';
import { limitText } from './limit-text.js';
import { errorJson, errorText, painter, printJson } from './output.js';
import { parseDuration } from './parse-arguments.js';
import { liveReportText } from './report-text.js';
import type { Run } from './verb.js';

export const run: Run = async (call, host) => {
  const json = call.flag('json');
  const report = wantsReport(call.value('report'));
  const timeout = call.value('timeout');
  const timeoutMilliseconds = timeout === undefined ? undefined : parseDuration(timeout);
  const grants = grantsOf(call);
  const interrupts = new Interrupts();
  try {
    const envelope = await executeLive(await host(), {
      argv: call.words,
      cwd: call.value('dir') ?? currentDirectory(),
      ...grants,
      environmentAdditions: call.values('env'),
      timeoutMilliseconds,
      streams: json ? 'capture' : 'inherit',
      ...approvalsFor(call, () => undefined),
      onStarted: (jail) => interrupts.started(jail),
      onLimit: (event) => void (report && process.stderr.write(`\r${limitText(event)}\r\n`)),
      signal: interrupts.signal,
    });
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
};
