/** An error with what Node's `fs` says of one, too: `errno`, `syscall`, `path`, `dest`. */
import { constants } from 'node:os';
import { ErrnoError } from '../../base/errno.js';

/** ENOTSUP is EOPNOTSUPP to the kernel. */
/** Of an open file: Node names no path then, and what an engine calls its tree may be a path of this machine. */
export function handleError(error: unknown, syscall: string): unknown {
  if (!(error instanceof ErrnoError)) return error;
  const { code, reason, remedy } = error;
  return nodeError(new ErrnoError(code, { operation: syscall, reason, remedy }), syscall);
}

export function nodeError(error: unknown, syscall: string, path?: string, dest?: string): unknown {
  if (!(error instanceof ErrnoError)) return error;
  const { code, reason, remedy } = error;
  const made = new ErrnoError(code, { operation: syscall, path: path ?? error.path, reason, remedy, cause: error });
  const errno = (constants.errno as Readonly<Record<string, number>>)[code];
  return Object.assign(made, {
    syscall,
    ...(errno === undefined ? {} : { errno: -errno }),
    ...(dest === undefined ? {} : { dest }),
  });
}
