/** The composition root: the only place where defaults are wired. */
import { realpathSync } from 'node:fs';
import { availableParallelism, homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fileRecorder } from './audit/record.js';
import { ErrnoError, hasCode } from './base/errno.js';
import type { Host } from './proxy/host.js';
import { storePaths } from './vault/layout.js';
import { openStore } from './vault/store.js';
import { Tree } from './vault/tree.js';

/** `dist/native`, beside the bundle and beside the compiled files alike. */
function nativeProgram(name: string): string {
  const here = fileURLToPath(import.meta.url);
  return join(here.slice(0, here.lastIndexOf('/dist/')), 'dist', 'native', name);
}

function canonical(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return path;
    throw error;
  }
}

function storeDirectory(environment: NodeJS.ProcessEnv, home: string): string {
  const named = environment['CTX_DATA'];
  if (named !== undefined && !isAbsolute(named)) {
    throw new ErrnoError('EINVAL', { operation: 'CTX_DATA', path: named, reason: 'expected an absolute path' });
  }
  const data = environment['XDG_DATA_HOME'];
  return named ?? join(data !== undefined && isAbsolute(data) ? data : join(home, '.local', 'share'), 'ctxfs');
}

export function composeHost(): Host {
  const { geteuid, getegid, env } = process;
  if (process.platform !== 'linux' || geteuid === undefined || getegid === undefined) {
    throw new ErrnoError('ENOSYS', { operation: 'ctx', reason: 'expected Linux: the jail is made of its namespaces' });
  }
  const { arch } = process;
  if (arch !== 'x64' && arch !== 'arm64') {
    throw new ErrnoError('ENOSYS', { operation: 'ctx', reason: `expected x86_64 or arm64, got ${arch}` });
  }
  const home = canonical(homedir());
  const store = openStore(canonical(storeDirectory(env, home)));
  return Object.freeze({
    store,
    tree: new Tree({ program: nativeProgram('tree') }),
    recorder: fileRecorder(storePaths(store.directory).record, () => new Date()),
    jailProgram: nativeProgram('jail'),
    architecture: arch,
    processors: availableParallelism(),
    uid: geteuid(),
    gid: getegid(),
    home,
    environment: env,
    now: () => new Date(),
  });
}
