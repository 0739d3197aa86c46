/** The composition root: the only place where defaults are wired. */
import { availableParallelism, homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { auditPlaces } from './audit/places.js';
import { ErrnoError } from './base/errno.js';
import { composeRecorder } from './compose-recorder.js';
import type { Host } from './proxy/host.js';
import { storePaths } from './vault/layout.js';
import { openStore } from './vault/store.js';
import { canonicalPlace, configurationDirectory, objectRoot, ownPlace, storeDirectory } from './vault/store-place.js';
import { Tree } from './vault/tree.js';

/** `dist/native`, beside the bundle and beside the compiled files alike. */
function nativeProgram(name: string): string {
  const here = fileURLToPath(import.meta.url);
  return join(here.slice(0, here.lastIndexOf('/dist/')), 'dist', 'native', name);
}

export function composeHost(env: Host['environment'] = process.env): Host {
  const { geteuid, getegid, getgroups } = process;
  if (process.platform !== 'linux' || !geteuid || !getegid || !getgroups) {
    throw new ErrnoError('ENOSYS', { operation: 'ctx', reason: 'expected Linux: the jail is made of its namespaces' });
  }
  const { arch } = process;
  if (arch !== 'x64' && arch !== 'arm64') {
    throw new ErrnoError('ENOSYS', { operation: 'ctx', reason: `expected x86_64 or arm64, got ${arch}` });
  }
  const home = canonicalPlace(homedir());
  const uid = geteuid();
  const store = openStore(ownPlace(storeDirectory(env, home), uid));
  const root = ownPlace(objectRoot(env, store.directory), uid);
  const configuration = ownPlace(configurationDirectory(env, home), uid);
  const audit = auditPlaces(storePaths(store.directory).record, configuration, nativeProgram('flock.node'));
  return Object.freeze({
    store,
    tree: new Tree({ program: nativeProgram('tree'), lockLibrary: nativeProgram('flock.node') }),
    recorder: composeRecorder(audit, { root, uid }),
    audit,
    jailProgram: nativeProgram('jail'),
    lockLibrary: nativeProgram('flock.node'),
    architecture: arch,
    processors: availableParallelism(),
    uid,
    gid: getegid(),
    groups: getgroups(),
    home,
    root,
    agents: async (name: string) => (await import('./objects/agent.js')).agentNamed({ root, uid }, name),
    operatorDirectories: Object.freeze([root, configuration]),
    hidden: Object.freeze([store.directory, root, configuration]),
    environment: env,
    now: () => new Date(),
  });
}
