/**
 * A call that came as a line: answered as every call is. A process that sends lines has no client of ours that would
 * reach its files, so what needs one is run as the object itself, in a jail beside the caller's, and is decided and
 * recorded there.
 */
import { isObjectName } from '../authority/name.js';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { lineInputBytes } from '../base/limits/objects.js';
import { toolHit, verdictOnTool } from '../objects/projection/visible.js';
import { type Answering, answerCall } from './answer-call.js';
import { fileTools } from './built-in/file-tools.js';
import type { LineCall, LineEnd } from './line-calls.js';

const errnos: Readonly<Record<number, string>> = {
  [ExitCode.badInput]: 'EINVAL',
  [ExitCode.denied]: 'EACCES',
  [ExitCode.unavailable]: 'ENOTSUP',
};

async function runBeside(
  { run, noted }: Answering,
  path: string,
  asked: LineCall,
  directory: string,
): Promise<LineEnd> {
  if (Buffer.byteLength(asked.input) > lineInputBytes) {
    const reason = `expected an input of at most ${lineInputBytes} bytes for ${asked.tool} over the socket`;
    throw new ErrnoError('EINVAL', { operation: asked.tool, reason, remedy: `execute ${path}, which takes 1 MiB` });
  }
  let said = '';
  noted?.(asked.tool, 'begin');
  const { exitCode } = await run({
    text: `${path} '${asked.input.replaceAll("'", "'\\''")}'`,
    directory,
    signal: asked.signal,
    onOutput: (stream, chunk) => {
      if (stream === 'stderr') said = (said + chunk.toString()).slice(-1_024);
      return asked.print(stream, chunk);
    },
  });
  const code = exitCode ?? ExitCode.failed;
  noted?.(asked.tool, code === ExitCode.ok ? 'ok' : code === ExitCode.denied ? 'denied' : 'failed');
  return { exitCode: code, error: errnos[code], reason: said.trim().split('\n')[0] };
}

/** `directory` is where calls are made that do not say where. */
export async function callByLine(answering: Answering, asked: LineCall, directory: string): Promise<LineEnd> {
  const { tool, signal } = asked;
  if (!isObjectName(tool)) throw new ErrnoError('EINVAL', { operation: 'call', reason: 'expected the name of a tool' });
  const viewer = answering.viewer();
  const hit = toolHit(answering.catalogue, viewer, tool);
  const path = `/ctx/${hit?.place ?? 'tool'}/${tool}`;
  const from = asked.directory ?? directory;
  const needsFiles = hit?.builtIn === true && Object.hasOwn(fileTools, tool);
  if (needsFiles && verdictOnTool(viewer, tool, hit).allowed) return runBeside(answering, path, asked, from);
  let failure: ErrnoError | undefined;
  const exitCode = await answerCall(answering, {
    call: { path, directory: from, input: asked.input },
    print: (bytes) => asked.print('stdout', bytes),
    printError: (bytes) => asked.print('stderr', bytes),
    reach: () =>
      Promise.reject(
        new ErrnoError('ENOTSUP', {
          operation: tool,
          reason: 'a call over the socket cannot read or write files of its caller',
        }),
      ),
    fails: (error) => {
      failure = error;
    },
    signal,
  });
  return { exitCode, error: failure?.code ?? errnos[exitCode], reason: failure?.reason };
}
