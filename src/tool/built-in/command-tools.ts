/** `shell.exec` and `fork.diff`. */
import { posix } from 'node:path';
import { ExitCode } from '../../base/errno.js';
import { encodePath } from '../../base/path-bytes.js';
import { beneath, numberOf, type ToolRun, textOf } from '../tool-run.js';

/** What the command says is said as it comes; how it ended is said where it did not end well. */
const shell: ToolRun = async (call) => {
  const command = textOf(call, 'cmd');
  const seconds = numberOf(call, 'timeout');
  const { exitCode, signal, timedOut } = await call.run({
    text: command,
    directory: call.directory,
    timeoutMilliseconds: seconds === undefined ? undefined : Math.ceil(seconds * 1000),
    signal: call.signal,
    onOutput: (stream, chunk) => (stream === 'stdout' ? call.print(chunk) : call.printError(chunk)),
  });
  if (exitCode === 0) return ExitCode.ok;
  call.complain(
    timedOut ? `timed out after ${seconds} s` : signal === null ? `exit code ${exitCode}` : `ended by ${signal}`,
  );
  return ExitCode.failed;
};

const diff: ToolRun = async (call) => {
  const path = textOf(call, 'path');
  const at = path === '' ? undefined : beneath(call, path);
  await call.diff(at && posix.join(at.source, at.path), (text) => call.print(encodePath(text)));
  return ExitCode.ok;
};

export const commandTools: Readonly<Record<string, ToolRun>> = { 'shell.exec': shell, 'fork.diff': diff };
