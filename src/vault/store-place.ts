/** Where the store stands: `$CTX_DATA`, else `$XDG_DATA_HOME/ctxfs`, else `~/.local/share/ctxfs`. */
import { realpathSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { ErrnoError, hasCode } from '../base/errno.js';

/** The path without links; as it is where nothing stands there yet. */
export function canonicalPlace(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return path;
    throw error;
  }
}

export function storeDirectory(environment: Readonly<Record<string, string | undefined>>, home: string): string {
  const named = environment['CTX_DATA'];
  if (named !== undefined && !isAbsolute(named)) {
    throw new ErrnoError('EINVAL', { operation: 'CTX_DATA', path: named, reason: 'expected an absolute path' });
  }
  const data = environment['XDG_DATA_HOME'];
  return named ?? join(data !== undefined && isAbsolute(data) ? data : join(home, '.local', 'share'), 'ctxfs');
}
