/** Debian 12 and others bring a Node that is too old, and npm only warns of it: nothing of ours may run far enough to fail in its own words. */
import { ErrnoError } from './errno.js';

/** What 20.16 and 22.3 brought, and all that is loaded next takes for granted. */
const needed = 'getBuiltinModule';

export function refuseOldNode(node: { readonly version: string; readonly [needed]?: unknown } = process): void {
  if (typeof node[needed] === 'function') return;
  throw new ErrnoError('ENOTSUP', {
    operation: 'start ctx',
    reason: `expected Node 20.19 or newer, of 22 at least 22.3 and not 21, got ${node.version}`,
    remedy: 'install a newer Node, such as https://nodejs.org/en/download has, or put it first on your PATH',
  });
}
