/** The composition root of the hook: what `composeHost` makes, without what starts programs. It runs for every tool call. */
import { homedir } from 'node:os';
import { auditPlaces } from './audit/places.js';
import { nativeProgram } from './base/native-program.js';
import { keepOwnRights } from './base/own-umask.js';
import { composeRecorder } from './compose-recorder.js';
import type { HookHost, Task } from './hook/hook-host.js';
import { storePaths } from './vault/store/layout.js';
import { openStore } from './vault/store/store.js';
import {
  absoluteHome,
  canonicalPlace,
  configurationDirectory,
  objectRoot,
  ownPlace,
  storeDirectory,
  systemObjectsBeside,
} from './vault/store/store-place.js';

/** A file of the checkout that the bundle and the compiled files are in. */
function inCheckout(path: string): string {
  const here = import.meta.filename;
  return `${here.slice(0, here.lastIndexOf('/dist/'))}/${path}`;
}

export function composeHookHost(): HookHost {
  const { env } = process;
  keepOwnRights();
  const home = canonicalPlace(absoluteHome(homedir()));
  const uid = process.geteuid?.() ?? 0;
  const library = nativeProgram('flock.node');
  const store = canonicalPlace(openStore(ownPlace(storeDirectory(env, home), uid), library).directory);
  const root = ownPlace(objectRoot(env, store), uid);
  const configuration = ownPlace(configurationDirectory(env, home), uid);
  const audit = auditPlaces(storePaths(store).record, configuration, library);
  const system = systemObjectsBeside(root);
  const recorder = composeRecorder(audit, { root, uid, system });
  return Object.freeze({
    store,
    recorder,
    release: () => recorder.close(),
    home,
    hidden: Object.freeze([store, root, configuration, ...(system === undefined ? [] : [system])]),
    operatorDirectories: Object.freeze([root, configuration]),
    program: inCheckout('bin/ctx'),
    authorityOf: async (task: Task) => (await import('./compose-authority.js')).authorityOf(task),
    now: () => new Date(),
  });
}
