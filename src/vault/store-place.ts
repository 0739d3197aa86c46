/** Where the files of ctx itself stand: the store, the objects, the operator's configuration. Pure but for `canonicalPlace`. */
import { realpathSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';

/** The path without links; as it is where nothing stands there yet. */
export function canonicalPlace(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return path;
    throw fromSystemError(error, 'open', path);
  }
}

/** The variables that decide where these are: where all are the same, so are the places. */
export const placeVariables = ['HOME', 'CTX_DATA', 'CTX_ROOT', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME'] as const;

type Variables = Readonly<Record<string, string | undefined>>;

/** `$CTX_DATA`, else `$XDG_DATA_HOME/ctxfs`, else `~/.local/share/ctxfs`. */
export function storeDirectory(environment: Variables, home: string): string {
  const named = environment['CTX_DATA'];
  if (named !== undefined && !isAbsolute(named)) {
    throw new ErrnoError('EINVAL', { operation: 'CTX_DATA', path: named, reason: 'expected an absolute path' });
  }
  const data = environment['XDG_DATA_HOME'];
  return named ?? join(data !== undefined && isAbsolute(data) ? data : join(home, '.local', 'share'), 'ctxfs');
}

/** Where agents and tools are kept: `$CTX_ROOT`, else in the store. */
export function objectRoot(environment: Variables, store: string): string {
  const named = environment['CTX_ROOT'];
  if (named !== undefined && !isAbsolute(named)) {
    throw new ErrnoError('EINVAL', { operation: 'CTX_ROOT', path: named, reason: 'expected an absolute path' });
  }
  return named ?? join(store, 'ctx');
}

/** By the base directory specification a relative one is as good as none. */
export function configurationDirectory(environment: Variables, home: string): string {
  const named = environment['XDG_CONFIG_HOME'];
  return join(named !== undefined && isAbsolute(named) ? named : join(home, '.config'), 'ctxfs');
}
