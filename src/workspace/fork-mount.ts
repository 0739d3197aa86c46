/**
 * A fork at a directory of the host, for a person and their editor. Nothing is copied: a jail in which nothing runs has the fork
 * mounted, as that of a command has, and a FUSE server shows that mount at the directory. So it is in the fork's group like a command:
 * others join it, what freezes the fork is told of it, and there is a checkpoint before it. Decision 0071 says why not another way.
 */
import { contains } from '../authority/absolute-path.js';
import { ErrnoError } from '../base/errno.js';
import { mountPoint } from '../fuse/mount.js';
import { serveAt } from '../fuse/served-mount.js';
import type { RunningJail } from '../jail/launch.js';
import { type Host, type Place, placeOf } from '../proxy/host.js';
import type { Envelope } from '../proxy/report/envelope.js';
import { authorityToPrepare } from '../proxy/run/authority-for.js';
import type { ExecRequest } from '../proxy/run/exec-request.js';
import { openForkTarget } from '../proxy/run/open-fork-target.js';
import { type JailRun, type RunRequest, runInJail } from '../proxy/run/run.js';
import { runOnTarget } from '../proxy/run/run-on-target.js';
import { untilJoined } from '../proxy/run/settled-fork.js';
import type { Progress } from '../vault/tree/tree.js';
import { hostFileSystem } from '../vfs/engines/host/host.js';

export interface ForkMount {
  readonly cwd: string;
  readonly fork: string;
  /** Empty, and outside of the workspace. */
  readonly directory: string;
  readonly writable: boolean;
  /** Path of `fuse.node`. */
  readonly library: string;
  /** Unmounts it. */
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** It can be used from now on. */
  mounted(directory: string): void;
}

/** Keeps the jail, and ends well when it is asked to. */
const holding = ['/bin/sh', '-c', "trap 'exit 0' TERM; while :; do sleep 2147483647 & wait; done"];

/**
 * A walk through the workspace or the store must not come through the mount: the process that serves it would wait for
 * itself.
 */
function refuseInside({ origin }: Place, host: Host, directory: string): void {
  const above = [origin, host.store.directory].find((path) => contains(path, directory) || contains(directory, path));
  if (above === undefined) return;
  throw new ErrnoError('EINVAL', {
    operation: 'ctx fork mount',
    path: directory,
    reason: `the mount point and ${above} are inside each other`,
    remedy: 'mount it on an empty directory elsewhere',
  });
}

async function serveJail(jail: RunningJail, place: Place, mount: ForkMount, directory: string): Promise<void> {
  const ended = new AbortController();
  const stop = () => ended.abort();
  mount.signal.addEventListener('abort', stop, { once: true });
  if (mount.signal.aborted) stop();
  jail.done.then(stop, stop);
  try {
    await serveAt({
      directory,
      writable: mount.writable,
      library: mount.library,
      signal: ended.signal,
      // Commands that join it write, too.
      shared: true,
      // Owners are shifted in the store.
      shift: -place.owner.shift,
      noExecution: true,
      open: () =>
        hostFileSystem({ path: `/proc/${jail.pid}/root${place.origin}`, writable: mount.writable, copiesUp: true }),
      mounted: mount.mounted,
    });
  } finally {
    mount.signal.removeEventListener('abort', stop);
  }
}

/** The jail in which nothing runs, for as long as the mount is served. */
async function serveFork(asked: RunRequest, place: Place, mount: ForkMount, directory: string): Promise<JailRun> {
  let served: Promise<void> | undefined;
  const onStarted = (jail: RunningJail) => {
    asked.onStarted?.(jail);
    served = jail.started.then(() => serveJail(jail, place, mount, directory)).finally(() => jail.signal('SIGTERM'));
    // A process that awaits it comes later.
    served.catch(() => undefined);
  };
  const jail = { ...asked.view.jail, argv: holding };
  const ran = await runInJail({
    ...asked,
    view: { ...asked.view, jail },
    counted: [],
    vault: undefined,
    onStarted,
  });
  await served;
  return ran;
}

/** Resolves when it was unmounted, with what was changed meanwhile. Throws before anything is mounted. */
export async function mountFork(host: Host, mount: ForkMount): Promise<Envelope> {
  const here = placeOf(host, mount.cwd);
  const place = { ...here, directory: here.origin };
  const directory = mountPoint(mount.directory);
  refuseInside(place, host, directory);
  const request: ExecRequest = {
    argv: ['ctx', 'fork', 'mount', mount.fork, directory, ...(mount.writable ? ['--writable'] : [])],
    cwd: place.origin,
    fork: mount.fork,
    environmentAdditions: [],
    weakened: [],
    streams: 'capture',
    wait: false,
    onProgress: mount.onProgress,
    signal: mount.signal,
  };
  const resolved = await authorityToPrepare(host, place, request);
  const own = { request, place, resolved, warnings: [], mount: directory };
  const serving = (asked: RunRequest) => serveFork(asked, place, mount, directory);
  return untilJoined(async () => runOnTarget(host, request, await openForkTarget(host, own), serving));
}
