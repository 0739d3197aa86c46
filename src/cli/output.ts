/** How things are printed: JSON for machines, colour on terminals only. */
import { ErrnoError, ExitCode, exitCodeFor, fromSystemError } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import { decisionOf } from '../sdk/report.js';
import type { Caller, Shown } from './caller.js';

export function printJson(value: unknown, to: Pick<Shown, 'write'> = process.stdout): void {
  to.write(`${JSON.stringify(value)}\n`);
}

type Colour = 'red' | 'green' | 'yellow' | 'blue' | 'dim' | 'bold';
const codes: Readonly<Record<Colour, string>> = {
  red: '31',
  green: '32',
  yellow: '33',
  blue: '34',
  dim: '2',
  bold: '1',
};

export type Paint = (colour: Colour, text: string) => string;

type Environment = Readonly<Record<string, string | undefined>>;

export function hasColour(stream: Pick<Shown, 'isTTY'>, environment: Environment = process.env): boolean {
  if (environment['NO_COLOR'] !== undefined && environment['NO_COLOR'] !== '') return false;
  if (environment['FORCE_COLOR'] !== undefined && environment['FORCE_COLOR'] !== '0') return true;
  return stream.isTTY === true && environment['TERM'] !== 'dumb';
}

export function painter(stream: Pick<Shown, 'isTTY'>, environment: Environment = process.env): Paint {
  return hasColour(stream, environment)
    ? (colour, text) => `\u001b[${codes[colour]}m${text}\u001b[0m`
    : (_colour, text) => text;
}

/** An error as people read it: what failed, why, and what to do. */
export function errorText(error: ErrnoError, paint: Paint): string {
  const where = error.path === undefined ? '' : ` ${visible(error.path)}`;
  const remedy = error.remedy === undefined ? '' : `\n${paint('dim', '  try:')} ${visible(error.remedy)}`;
  return `${paint('red', 'ctx:')} ${error.operation}${where}: ${visible(error.reason)} ${paint('dim', `(${error.code})`)}${remedy}\n`;
}

export function errorJson(error: ErrnoError): unknown {
  return {
    version: 1,
    decision: decisionOf(error),
    error: {
      code: error.code,
      operation: error.operation,
      path: error.path,
      reason: error.reason,
      remedy: error.remedy,
      exitCode: exitCodeFor(error),
    },
  };
}

/** What we say can end in a file on a full disk: no defect, other than what fails with a path. */
function isUnprinted(error: unknown): boolean {
  const { syscall, path } = error as Partial<NodeJS.ErrnoException>;
  return error instanceof Error && syscall === 'write' && path === undefined;
}

/** Whatever went wrong, as one clear message; the exit code. */
export function complain(thrown: unknown, json: boolean, { stdout, stderr, environment }: Caller): number {
  const error = isUnprinted(thrown) ? fromSystemError(thrown, 'print') : thrown;
  if (!(error instanceof ErrnoError)) {
    const what = error instanceof Error ? error.stack : error;
    stderr.write(`ctx: this is a defect of ctx, please report it\n${what}\n`);
    return ExitCode.internal;
  }
  if (json) printJson(errorJson(error), stdout);
  else stderr.write(errorText(error, painter(stderr, environment)));
  return exitCodeFor(error);
}
