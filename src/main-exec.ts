/**
 * `ctx exec`: a bundle of its own, since to read every verb costs a tenth of a cold command. What makes it more than one command
 * on a fork is left to `main-verbs`, which parses the call anew: nothing has happened before.
 */
import { callVerb, endOnDefects } from './cli/call-verb.js';
import { run as runExec } from './cli/exec/exec.js';
import { execShape, otherForms } from './cli/exec/exec-shape.js';
import type { Verb } from './cli/verb.js';
import { composeHost } from './compose.js';
import { onMigratedStore } from './compose-store.js';
import type { Host } from './proxy/host.js';

/** `onHost` is for a process that goes on after the call: what the host holds is its own to release. */
export function run(given: readonly string[], onHost?: (host: Host) => void): Promise<number> {
  endOnDefects();
  const otherForm = async () => (await import('./main-verbs.js')).run(given);
  const verb: Verb = {
    ...execShape,
    load: async (call) => (otherForms.some((name) => call.flag(name)) ? otherForm : runExec),
  };
  const noHook = () => Promise.reject(new Error('ctx exec asks no hook'));
  // To hear its programs takes a thread of Node's pool for each of their pipes; the process that set its size may have set it to one.
  const alone = process.env['UV_THREADPOOL_SIZE'] === undefined;
  const compose = async () => {
    const host = await onMigratedStore(() => composeHost(process.env, alone));
    onHost?.(host);
    return host;
  };
  return callVerb(verb, given.slice(1), compose, noHook);
}
