/** How things are printed: JSON for machines, colour on terminals only. */
import { fstatSync, type Stats } from 'node:fs';
import { ErrnoError, ExitCode, exitCodeFor, fromSystemError, orSystemError } from '../../base/errno.js';
import { harmlessJson, harmlessOutput, pastable, visible } from '../../base/visible-text.js';
import { writeWhole } from '../../base/write-whole.js';
import { decisionOf } from '../../sdk/report.js';
import type { Caller, Shows } from '../caller.js';

const descriptors = { stdout: 1, stderr: 2 } as const;
type OwnStream = keyof typeof descriptors;

/** /dev/null and its like: the kernel's memory devices. */
const memoryDevices = 1;

function mayBeTerminal(about: Stats): boolean {
  return about.isCharacterDevice() && about.rdev >> 8 !== memoryDevices;
}

/**
 * To one of our streams, whole or an error. What Node has for a file takes a write of a part for all of it: what did not go onto a full
 * disk would be missing, and nobody would know. And to make a stream costs milliseconds: for a file, and for nothing, none is made.
 */
function put(name: OwnStream, text: string | Buffer): void {
  if (text.length === 0) return;
  const about = fstatSync(descriptors[name]);
  if (mayBeTerminal(about) || about.isFIFO() || about.isSocket()) process[name].write(text);
  else writeWhole(descriptors[name], Buffer.from(text));
}

/**
 * Our stream where it is a terminal. Found without touching the stream: that costs milliseconds, and a pipe that the command has
 * too would be made one that does not wait.
 */
export function terminal(name: OwnStream): NodeJS.WriteStream | undefined {
  if (!mayBeTerminal(fstatSync(descriptors[name]))) return undefined;
  const stream = process[name];
  return stream.isTTY === true ? stream : undefined;
}

/**
 * The way to a person: whatever a verb prints goes out here, and what an agent made of it is harmless by then. A test holds
 * the other files of this folder to it.
 */
export function print(text: string): void {
  put('stdout', harmlessOutput(text));
}

export function printError(text: string): void {
  put('stderr', harmlessOutput(text));
}

/** Exactly these bytes, for a program that reads them: to a terminal they go as everything does. */
export function printExact(text: string | Buffer): void {
  if (terminal('stdout') !== undefined) print(text.toString());
  else put('stdout', text);
}

const ownStdout: Pick<Shows, 'write'> = { write: (text) => put('stdout', text) };

export function printJson(value: unknown, to: Pick<Shows, 'write'> = ownStdout): void {
  to.write(`${harmlessJson(JSON.stringify(value))}\n`);
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

export function hasColour(stream: Pick<Shows, 'isTTY'>, environment: Environment = process.env): boolean {
  if (environment['NO_COLOR'] !== undefined && environment['NO_COLOR'] !== '') return false;
  if (environment['FORCE_COLOR'] !== undefined && environment['FORCE_COLOR'] !== '0') return true;
  return stream.isTTY === true && environment['TERM'] !== 'dumb';
}

export function painter(stream: Pick<Shows, 'isTTY'>, environment: Environment = process.env): Paint {
  return hasColour(stream, environment)
    ? (colour, text) => `\u001b[${codes[colour]}m${text}\u001b[0m`
    : (_colour, text) => text;
}

/** In quotes where it ends in a colon, which would run into ours. */
function shownPath(path: string): string {
  return path.endsWith(':') ? `'${visible(path)}'` : visible(path);
}

/** An error as people read it: what failed, why, and what to do. */
export function errorText(error: ErrnoError, paint: Paint): string {
  const where = error.path === undefined ? '' : ` ${shownPath(error.path)}`;
  const remedy = error.remedy === undefined ? '' : `\n${paint('dim', '  try:')} ${pastable(error.remedy)}`;
  // Of a verb the name begins with ours, which is said once.
  const operation = error.operation.replace(/^ctx /, '');
  return `${paint('red', 'ctx:')} ${operation}${where}: ${visible(error.reason)} ${paint('dim', `(${error.code})`)}${remedy}\n`;
}

export function errorJson(error: ErrnoError, exitCode: number = exitCodeFor(error)): unknown {
  return {
    version: 1,
    decision: decisionOf(error),
    error: {
      code: error.code,
      operation: error.operation,
      path: error.path,
      reason: error.reason,
      remedy: error.remedy,
      exitCode,
    },
  };
}

/** What we say can end in a file on a full disk: no defect, other than what fails with a path. */
function isUnprinted(error: unknown): boolean {
  const { syscall, path } = error as Partial<NodeJS.ErrnoException>;
  return error instanceof Error && syscall === 'write' && path === undefined;
}

/** Whatever went wrong, as one clear message; the exit code. */
export function complain(
  thrown: unknown,
  json: boolean,
  { stdout, stderr, environment }: Pick<Caller, 'stdout' | 'stderr' | 'environment'>,
): number {
  const unprinted = isUnprinted(thrown);
  const error = unprinted ? fromSystemError(thrown, 'print') : orSystemError(thrown);
  if (!(error instanceof ErrnoError)) {
    const what = error instanceof Error ? error.stack : error;
    stderr.write(`ctx: this is a bug in ctx, please report it\n${what}\n`);
    return ExitCode.internal;
  }
  try {
    if (json && !unprinted) printJson(errorJson(error), stdout);
    else stderr.write(errorText(error, painter(stderr, environment)));
  } catch (failed) {
    // Where nothing can be said the exit code has to.
    if (!isUnprinted(failed)) throw failed;
  }
  return exitCodeFor(error);
}
