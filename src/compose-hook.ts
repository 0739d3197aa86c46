/** The composition root of the hook: what `composeHost` makes, without what starts programs. It runs for every tool call. */
import { composePlaces } from './compose-places.js';
import type { HookHost, Task } from './hook/hook-host.js';

/** A file of the checkout that the bundle and the compiled files are in. */
function inCheckout(path: string): string {
  const here = import.meta.filename;
  return `${here.slice(0, here.lastIndexOf('/dist/'))}/${path}`;
}

export function composeHookHost(): HookHost {
  const { store, recorder, home, hidden, operatorDirectories } = composePlaces(process.env, process.geteuid?.() ?? 0);
  return Object.freeze({
    store: store.directory,
    recorder,
    release: () => recorder.close(),
    home,
    hidden,
    operatorDirectories,
    program: inCheckout('bin/ctx'),
    authorityOf: async (task: Task) => (await import('./compose-authority.js')).authorityOf(task),
    now: () => new Date(),
  });
}
