/** The composition root of the hook: what `composeHost` makes, without what starts programs. It runs for every tool call. */
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { fileRecorder } from './audit/record.js';
import type { HookHost } from './hook/hook-host.js';
import { storePaths } from './vault/layout.js';
import { openStore } from './vault/store.js';
import { canonicalPlace, storeDirectory } from './vault/store-place.js';

/** `bin/ctx`, of the checkout that the bundle and the compiled files stand in. */
function ctxProgram(): string {
  const here = import.meta.filename;
  return `${here.slice(0, here.lastIndexOf('/dist/'))}/bin/ctx`;
}

export function composeHookHost(): HookHost {
  const home = canonicalPlace(homedir());
  const store = realpathSync(openStore(canonicalPlace(storeDirectory(process.env, home))).directory);
  return Object.freeze({
    store,
    recorder: fileRecorder(storePaths(store).record, () => new Date()),
    home,
    environment: process.env,
    program: ctxProgram(),
  });
}
