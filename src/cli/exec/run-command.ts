/** A command of the command line, from its start to its exit code: signals, output as it comes, the report, a refusal. */
import { constants } from 'node:os';
import { type ErrnoCode, ErrnoError } from '../../base/errno.js';
import { terminationGraceMilliseconds } from '../../base/limits/commands.js';
import type { Host } from '../../sdk/host.js';
import type { JailOptions, Started, WorkspaceOptions } from '../../sdk/options.js';
import { type Envelope, exitCodeOfCommand } from '../../sdk/report.js';
import { parseDuration } from '../input/parse-arguments.js';
import { limitText } from '../text/limit-text.js';
import { errorJson, errorText, type Paint, painter, printError, printJson, terminal } from '../text/output.js';
import { progressLine } from '../text/progress.js';
import { untoldText } from '../text/report-text.js';
import { StreamEvents } from '../text/stream-events.js';
import type { Arguments } from '../verb.js';

/** As shells have it, so that scripts can tell "not found" from "failed". */
const commandNotFound = 127;
const commandNotExecutable = 126;
/** What the kernel says of a program that is there, or of a name that leads nowhere. */
const notExecutable: ReadonlySet<ErrnoCode> = new Set(['EACCES', 'ENOEXEC', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']);

/**
 * Ctrl-C asks the command to stop; asked again it is told, and the third time everything inside is killed. Where the
 * terminal is gone no one can ask again: a command that does not end by itself is killed after a grace, since others
 * wait for the fork. SIGUSR1 and SIGUSR2 are the command's, each time; for the first Node would open a debugger, to
 * every user of the machine.
 */
class Interrupts {
  readonly #beforeCommand = new AbortController();
  #command: Started | undefined;
  #count = 0;

  constructor() {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(name, () => this.#arrive(name));
    for (const name of ['SIGUSR1', 'SIGUSR2'] as const) process.on(name, () => this.#command?.signal(name));
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
    if (name === 'SIGHUP') setTimeout(() => this.#command?.kill(), terminationGraceMilliseconds).unref();
  }
}

export function exitCodeOfRefusal(error: unknown): number | undefined {
  if (!(error instanceof ErrnoError)) return undefined;
  if (error.operation === 'exec' && error.code === 'ENOENT') return commandNotFound;
  if (error.operation === 'exec' && notExecutable.has(error.code)) return commandNotExecutable;
  return error.code === 'ECANCELED' ? 128 + constants.signals.SIGINT : undefined;
}

function lostOutputText({ stream, code }: NonNullable<Envelope['outputError']>): string {
  return `ctx: ${stream} of the command could not be written, the rest is lost (${code})\n`;
}

const reportChoices = ['auto', 'always', 'never'];

export function wantsReport(
  chosen: string | undefined,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  toTerminal = terminal('stderr') !== undefined,
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

/** How long to wait for an approval, and how it is asked for. */
export function approvalsFor(
  call: Arguments,
  host: () => Promise<Host>,
  clear: () => void,
): Pick<WorkspaceOptions, 'approvalMilliseconds' | 'onApproval'> {
  const wait = call.value('approval-wait');
  return {
    approvalMilliseconds: wait === undefined ? undefined : parseDuration(wait),
    onApproval: async (asked, signal) => {
      clear();
      return (await import('../input/ask-approval.js')).askApproval(host, asked, signal, painter(process.stderr));
    },
  };
}

interface Told extends Pick<JailOptions, 'onOutput' | 'onLimit'> {
  /** What was held back at the end of the output. */
  end(): void | Promise<void>;
}

/** Output and limits as lines of JSON while the command runs, for `--stream`; undefined without it. */
export function streamOf(call: Arguments, print: (line: unknown) => void | Promise<void>): Told | undefined {
  if (!call.flag('stream')) return undefined;
  if (!call.flag('json')) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx exec',
      reason: '--stream needs --json',
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

type RunEnd = Pick<
  Envelope,
  'exitCode' | 'signal' | 'outputError' | 'limitError' | 'limitsReached' | 'timedOut' | 'warnings' | 'connections'
>;

/** How a command is shown. */
export interface CommandTexts<Ended> {
  host(): Promise<Host>;
  /** Where nothing is printed as JSON: whether the report is. */
  readonly report: boolean;
  text(envelope: Ended, paint: Paint): string;
}

/** A command of the command line, from before its start. What the call grants is to be read before: a call that is refused leaves nothing behind. */
export interface ShownCommand<Ended> {
  /** What it is to be run with: its output, limits, questions and signals are this process's. */
  readonly options: JailOptions;
  readonly onProgress: WorkspaceOptions['onProgress'];
  /** Prints its report. The exit code. */
  end(envelope: Ended): Promise<number>;
  /** Prints why it did not run. The exit code; throws what is for every verb alike. */
  refuse(error: unknown): number;
}

export function showCommand<Ended extends RunEnd>(
  call: Arguments,
  { host, report, text }: CommandTexts<Ended>,
): ShownCommand<Ended> {
  const json = call.flag('json');
  const told = streamOf(call, printJson);
  const timeout = call.value('timeout');
  const timeoutMilliseconds = timeout === undefined ? undefined : parseDuration(timeout);
  const interrupts = new Interrupts();
  const progress = progressLine(terminal('stderr'), 'ctx: first use here, importing this directory');
  const options: JailOptions = {
    timeoutMilliseconds,
    streams: json ? 'capture' : 'inherit',
    onReady: progress.clear,
    ...approvalsFor(call, host, progress.clear),
    onStarted: (started) => interrupts.started(started),
    // The terminal may be raw while the command has it.
    onLimit: (event) => {
      told?.onLimit?.(event);
      if (report) printError(`\r${limitText(event)}\r\n`);
    },
    onOutput: told?.onOutput,
    signal: interrupts.signal,
  };
  return {
    options,
    onProgress: progress.update,
    async end(envelope) {
      await told?.end();
      if (json) printJson(envelope);
      else if (report) printError(text(envelope, painter(process.stderr)));
      else if (wantsReport(call.value('report'), process.env, true)) printError(untoldText(envelope));
      if (envelope.outputError !== undefined) printError(lostOutputText(envelope.outputError));
      return exitCodeOfCommand(envelope, constants.signals);
    },
    refuse(error) {
      progress.clear();
      const exitCode = exitCodeOfRefusal(error);
      if (exitCode === undefined || !(error instanceof ErrnoError)) throw error;
      if (json) printJson(errorJson(error, exitCode));
      else printError(errorText(error, painter(process.stderr)));
      return exitCode;
    },
  };
}
