/** The objects as a tree at a directory of this machine, as `ctx view mount` has it: everything, or what one agent sees. */
import { nativeProgram } from '../../base/native-program.js';
import { serveView } from '../../fuse/served-view.js';
import { catalogueOf } from '../../objects/projection/disk-catalogue.js';
import { objectView } from '../../objects/projection/object-view.js';
import { spacesOnHost } from '../../objects/projection/shown-spaces.js';
import type { Host } from '../../proxy/host.js';

export { mountPoint } from '../../fuse/mount.js';

export interface ViewMounting {
  readonly directory: string;
  /** Undefined: everything. */
  readonly agent?: string | undefined;
  readonly signal: AbortSignal;
  mounted(directory: string): void;
}

/** What is bound in the agent's jails is shown by links to where it is on this machine. */
function viewAs({ root, uid, gid, system, now }: Host, agent: string | undefined) {
  const roots = { root, uid, system };
  const client = nativeProgram('object');
  const catalogue = catalogueOf(roots);
  return objectView({
    ...{ roots, agent, client, owner: { uid, gid } },
    spaces: agent === undefined ? undefined : () => spacesOnHost(roots, agent, catalogue),
    now: () => now().getTime(),
  });
}

/** ENOENT where there is no such agent, EINVAL where its files are wrong. */
export function checkView(host: Host, agent: string | undefined): void {
  viewAs(host, agent);
}

/** Serves it in this process, until it is unmounted or the signal aborts. */
export function mountView(host: Host, { agent, ...mounting }: ViewMounting): Promise<void> {
  const { filesystem } = viewAs(host, agent);
  return serveView({ ...mounting, filesystem, library: nativeProgram('fuse.node') });
}
