/**
 * The one error type. Callers match `code`, never text: the text is for people and may change.
 *
 * `reason` says what was expected, `remedy` what to do about it. Code that throws one has already made sure that
 * nothing is half done.
 */

export type ErrnoCode =
  | 'E2BIG'
  | 'EACCES'
  | 'EAGAIN'
  | 'EBADF'
  | 'EBUSY'
  | 'ECANCELED'
  | 'EDQUOT'
  | 'EEXIST'
  | 'EFBIG'
  | 'EINTR'
  | 'EINVAL'
  | 'EIO'
  | 'EISDIR'
  | 'ELOOP'
  | 'EMFILE'
  | 'EMLINK'
  | 'ENAMETOOLONG'
  | 'ENODATA'
  | 'ENFILE'
  | 'ENODEV'
  | 'ENOENT'
  | 'ENOEXEC'
  | 'ENOLCK'
  | 'ENOMEM'
  | 'ENOSPC'
  | 'ENOSYS'
  | 'ENOTCONN'
  | 'ENOTDIR'
  | 'ENOTEMPTY'
  | 'ENOTSUP'
  | 'ENXIO'
  | 'EPERM'
  | 'EPIPE'
  | 'ERANGE'
  | 'EROFS'
  | 'ESRCH'
  | 'ESTALE'
  | 'ETIMEDOUT'
  | 'EXDEV';

export interface ErrnoDetails {
  readonly operation: string;
  readonly path?: string | undefined;
  readonly reason: string;
  readonly remedy?: string | undefined;
  readonly cause?: unknown;
}

export class ErrnoError extends Error {
  override readonly name = 'ErrnoError';
  readonly code: ErrnoCode;
  readonly operation: string;
  readonly path: string | undefined;
  readonly reason: string;
  readonly remedy: string | undefined;

  /** Those of another bundle are ours, too: the parts of the command line that are read when needed have this class of their own. */
  static override [Symbol.hasInstance](value: unknown): value is ErrnoError {
    return value instanceof Error && value.name === 'ErrnoError';
  }

  constructor(code: ErrnoCode, details: ErrnoDetails) {
    super(`${code}: ${details.operation}${details.path === undefined ? '' : ` '${details.path}'`}: ${details.reason}`, {
      cause: details.cause,
    });
    this.code = code;
    this.operation = details.operation;
    this.path = details.path;
    this.reason = details.reason;
    this.remedy = details.remedy;
  }
}

/** Exit codes of every verb and object; a run command's own exit code passes through untouched. */
export const ExitCode = {
  ok: 0,
  failed: 1,
  badInput: 2,
  /** Done, but not all of it: `ctx apply` held something back. */
  partly: 3,
  denied: 13,
  unavailable: 69,
  /** As of a command that Ctrl-C ends. */
  interrupted: 130,
  internal: 70,
} as const;

const exitCodeOf: Partial<Record<ErrnoCode, number>> = {
  ECANCELED: ExitCode.interrupted,
  E2BIG: ExitCode.badInput,
  EINVAL: ExitCode.badInput,
  ENAMETOOLONG: ExitCode.badInput,
  EACCES: ExitCode.denied,
  EDQUOT: ExitCode.denied,
  EPERM: ExitCode.denied,
  EAGAIN: ExitCode.unavailable,
  EBUSY: ExitCode.unavailable,
  ENOSYS: ExitCode.unavailable,
  ENOTCONN: ExitCode.unavailable,
  ENOTSUP: ExitCode.unavailable,
};

/** The exit code a process ends with because of `error`; what is not an ErrnoError is a defect of ours. */
export function exitCodeFor(error: unknown): number {
  if (!(error instanceof ErrnoError)) return ExitCode.internal;
  return exitCodeOf[error.code] ?? ExitCode.failed;
}

interface SystemError {
  readonly code: string;
  readonly syscall?: string;
  readonly path?: string;
  readonly dest?: string;
}

function isSystemError(error: unknown): error is Error & SystemError {
  return error instanceof Error && typeof (error as Partial<SystemError>).code === 'string';
}

/** True for an error of ours or of Node's with this errno. */
export function hasCode(error: unknown, code: ErrnoCode): boolean {
  return isSystemError(error) && error.code === code;
}

/** No room: of the filesystem, or of what a user may have of it. Something removed makes some, in both cases. */
export function isFull(error: unknown): boolean {
  return hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT');
}

/** Names of descriptors of ours, which say nothing to anybody else. */
const descriptorPath = /^\/proc\/self\/fd\/\d+/;

/** Node's text without the code and the path, where those are in the error already. */
function saidOf({ message, code, syscall, path, dest }: Error & SystemError, shown: string | undefined): string {
  if (!message.startsWith(`${code}: `)) return message;
  const whole = message.slice(`${code}: `.length);
  if (dest !== undefined) return whole;
  const said = whole.split(`, ${syscall}`)[0] ?? whole;
  const isKnown = path === undefined || path === shown || descriptorPath.test(path);
  return isKnown ? said : `${said}: '${path}'`;
}

export const fullDiskRemedy = 'make room on the filesystem of that path';

const systemRemedies: Readonly<Record<string, string>> = {
  ENOSPC: fullDiskRemedy,
  EDQUOT: 'remove files of yours on the filesystem of that path: the most that you may have there is reached (quota)',
  EFBIG: 'raise the limit of file sizes (ulimit -f)',
  EMFILE: 'raise the limit of open files (ulimit -n)',
  ENFILE: 'end other programs: this machine has too many files open',
  ENOMEM: 'end other processes: this machine has no memory left',
};

/** Wraps what the operating system said, so that a caller sees one error type only. */
export function fromSystemError(error: unknown, operation: string, path?: string): ErrnoError {
  if (error instanceof ErrnoError) return error;
  if (!isSystemError(error) || !/^E[A-Z0-9]+$/.test(error.code)) throw error;
  const shown = path ?? error.path;
  return new ErrnoError(error.code as ErrnoCode, {
    operation,
    path: shown,
    reason: `${error.syscall ?? operation} failed: ${saidOf(error, shown)}`,
    remedy: systemRemedies[error.code],
    cause: error,
  });
}

/** What a disk may answer to any write, wherever it happens; the last two where somebody closed a directory of ours. */
const diskCodes: ReadonlySet<string> = new Set<ErrnoCode>([
  'EDQUOT',
  'EFBIG',
  'EIO',
  'ENOSPC',
  'EROFS',
  'EACCES',
  'EPERM',
]);

/** What this process, or this machine, may have no more of, whatever it is asked for. */
const usedUpCodes: ReadonlySet<string> = new Set<ErrnoCode>(['EMFILE', 'ENFILE', 'ENOMEM']);

/**
 * A full, failing or closed disk is not a defect of ours, also where the code that wrote did not foresee it; nor are too many open files,
 * or no memory left. Other errors stay what they are.
 */
export function orSystemError(error: unknown): unknown {
  if (!isSystemError(error)) return error;
  if (diskCodes.has(error.code)) return fromSystemError(error, 'write');
  return usedUpCodes.has(error.code) ? fromSystemError(error, 'open') : error;
}
