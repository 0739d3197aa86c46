/** `ctx exec`: the proxy's face for people and scripts. stdout is the command's alone. */
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { ErrnoError } from '../base/errno.js';
import type { Command, JailOptions, Started, WorkspaceOptions } from '../sdk/options.js';
import { exitCodeOfCommand } from '../sdk/report.js';
import { commandForm } from './command-form.js';
import { currentDirectory } from './current-directory.js';
import { limitText } from './limit-text.js';
import { errorJson, errorText, painter, printJson } from './output.js';
import { parseDuration } from './parse-arguments.js';
import { progressLine } from './progress.js';
import { reportText } from './report-text.js';
import { StreamEvents } from './stream-events.js';
import type { Arguments, Run } from './verb.js';
import { optionsOf, workspaceHere } from './workspace-here.js';

/** As shells have it, so that scripts can tell "not found" from "failed". */
const commandNotFound = 127;
const commandNotExecutable = 126;

/** Ctrl-C asks the command to stop; asked again it is told, and the third time everything inside is killed. */
export class Interrupts {
  readonly #beforeCommand = new AbortController();
  #command: Started | undefined;
  #count = 0;

  constructor() {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(name, () => this.#arrive(name));
  }

  get signal(): AbortSignal {
    return this.#beforeCommand.signal;
  }

  started(command: Started): void {
    this.#command = command;
  }

  #arrive(name: NodeJS.Signals): void {
    this.#count += 1;
    if (this.#command === undefined) this.#beforeCommand.abort();
    else if (this.#count === 1) this.#command.signal(name);
    else if (this.#count === 2) this.#command.signal('SIGTERM');
    else this.#command.kill();
  }
}

export function exitCodeOfRefusal(error: unknown): number | undefined {
  if (!(error instanceof ErrnoError)) return undefined;
  if (error.operation === 'exec' && error.code === 'ENOENT') return commandNotFound;
  if (error.operation === 'exec' && (error.code === 'EACCES' || error.code === 'ENOEXEC')) return commandNotExecutable;
  return error.code === 'ECANCELED' ? 128 + constants.signals.SIGINT : undefined;
}

const reportChoices = ['auto', 'always', 'never'];

export function wantsReport(
  chosen: string | undefined,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  toTerminal = process.stderr.isTTY === true,
): boolean {
  const when = chosen ?? environment['CTX_REPORT'] ?? 'auto';
  if (!reportChoices.includes(when)) {
    throw new ErrnoError('EINVAL', {
      operation: 'CTX_REPORT',
      reason: `expected ${reportChoices.join(', ')}; got '${when}'`,
    });
  }
  return when === 'always' || (when === 'auto' && toTerminal);
}

export function commandOf(call: Arguments): Command {
  const form = commandForm(call, 'exec');
  return 'argv' in form ? form.argv : { shell: form.text };
}

/** How long to wait for an approval, and how it is asked for. */
export function approvalsFor(
  call: Arguments,
  clear: () => void,
): Pick<WorkspaceOptions, 'approvalMilliseconds' | 'onApproval'> {
  const wait = call.value('approval-wait');
  return {
    approvalMilliseconds: wait === undefined ? undefined : parseDuration(wait),
    onApproval: async (asked, signal) => {
      clear();
      return (await import('./ask-approval.js')).askApproval(asked, signal, painter(process.stderr));
    },
  };
}

export interface Told extends Pick<JailOptions, 'onOutput' | 'onLimit'> {
  /** What was held back at the end of the output. */
  end(): void | Promise<void>;
}

/** Output and limits as lines of JSON while the command runs, for `--stream`; undefined without it. */
export function streamOf(call: Arguments, print: (line: unknown) => void | Promise<void>): Told | undefined {
  if (!call.flag('stream')) return undefined;
  if (!call.flag('json')) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx exec',
      reason: 'expected --json with --stream',
      remedy: 'without either, output is passed on as it comes',
    });
  }
  const events = new StreamEvents();
  const printAll = async (lines: readonly unknown[]) => {
    for (const line of lines) await print(line);
  };
  return {
    onOutput: (stream, chunk) => printAll(events.take(stream, chunk)),
    onLimit: (event) => void print({ version: 1, event: 'limit', ...event }),
    end: () => printAll(events.end()),
  };
}

export const run: Run = async (call, host) => {
  const json = call.flag('json');
  const told = streamOf(call, printJson);
  const report = wantsReport(call.value('report'));
  const timeout = call.value('timeout');
  // Before anything is made: a call that is refused leaves nothing behind.
  const timeoutMilliseconds = timeout === undefined ? undefined : parseDuration(timeout);
  const command = commandOf(call);
  const options = optionsOf(call);
  const directory = resolve(currentDirectory(), call.value('cwd') ?? '.');
  const interrupts = new Interrupts();
  const progress = progressLine(process.stderr, 'ctx: first use here, importing this directory');
  try {
    const workspace = await workspaceHere(host, { ...options, onProgress: progress.update }, directory);
    const envelope = await workspace.exec(command, {
      timeoutMilliseconds,
      streams: json ? 'capture' : 'inherit',
      onReady: progress.clear,
      ...approvalsFor(call, progress.clear),
      onStarted: (started) => interrupts.started(started),
      // The terminal may be raw while the command has it.
      onLimit: (event) => {
        told?.onLimit?.(event);
        if (report) process.stderr.write(`\r${limitText(event)}\r\n`);
      },
      onOutput: told?.onOutput,
      signal: interrupts.signal,
    });
    await told?.end();
    if (json) printJson(envelope);
    else if (report) process.stderr.write(reportText(envelope, painter(process.stderr)));
    return exitCodeOfCommand(envelope, constants.signals);
  } catch (error) {
    progress.clear();
    const exitCode = exitCodeOfRefusal(error);
    if (exitCode === undefined || !(error instanceof ErrnoError)) throw error;
    if (json) printJson(errorJson(error));
    else process.stderr.write(errorText(error, painter(process.stderr)));
    return exitCode;
  }
};
