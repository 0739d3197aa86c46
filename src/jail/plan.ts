/**
 * From what a jail shall show to the operations that make it. Pure and deterministic: the same view gives the same plan, so
 * plans are tested without a kernel.
 *
 * The order is the safety argument. Mount points are made parent first, so that the most specific entry decides. What must
 * stay hidden is masked after everything that could show it. The old root is left before anything of the agent's runs. The
 * identity is taken last, and with it the right to undo any of this is gone.
 */
import { contains } from '../authority/absolute-path.js';
import {
  madeConfiguration,
  protectedKernelPaths,
  systemDevices,
  systemDirectories,
  systemFacts,
} from '../authority/system-profile.js';
import { openFiles } from '../base/limits/commands.js';
import { exchangedIds, numberedIds, shiftedCount } from './id-maps.js';
import type { JailView, Link, SharedPath } from './jail-view.js';
import { landlockOperations, ownProcessesAlone } from './landlock.js';
import type { Attribute, Namespace, Operation, Plan } from './operation.js';
import { seccompProgram } from './seccomp.js';

export type * from './jail-view.js';

const namespaces: readonly Namespace[] = ['mount', 'pid', 'network', 'ipc', 'hostname', 'cgroup'];
const contained: readonly Attribute[] = ['no setuid', 'no devices'];
const rootBytes = 16 * 1024 * 1024;

function byPath(a: { readonly at: string }, b: { readonly at: string }): number {
  return a.at < b.at ? -1 : a.at > b.at ? 1 : 0;
}

/**
 * Root's command is nobody on the host. What is shown to it read-only is shown as to root, or a `~/.gitconfig` of mode 600 would
 * end every git command; what it may write is not: it could leave setuid files of root there. The system's own directories
 * are everybody's to read.
 */
function attributesOf(view: JailView, { source, access, ofFork, asOwner }: SharedPath): readonly Attribute[] {
  if (access === 'read write') {
    if (ofFork === true) return ofForkAttributes(view);
    return asOwner === true && view.identity.kind === 'shifted' ? [...contained, 'shifted owners'] : contained;
  }
  const ofSystem = [...systemDirectories, ...systemFacts, '/etc'].some((directory) => contains(directory, source));
  const shifted = view.identity.kind === 'shifted' && !ofSystem;
  return [...contained, 'read only', ...(shifted ? (['shifted owners'] as const) : [])];
}

function ofForkAttributes({ identity }: JailView): readonly Attribute[] {
  const exchanged = identity.kind === 'shifted' && identity.owner !== undefined;
  return [...contained, ...(exchanged ? (['exchanged owners'] as const) : [])];
}

interface Placed {
  readonly at: string;
  readonly operation: Operation;
}

function overlayMounts(view: JailView): Placed[] {
  return view.overlays.map((overlay) => ({
    at: overlay.target,
    operation: { do: 'overlay', ...overlay, attributes: ofForkAttributes(view) },
  }));
}

function cacheMounts({ caches = [], identity }: JailView): Placed[] {
  const shifted = identity.kind === 'shifted' ? (['shifted owners'] as const) : [];
  return caches.map((cache) => ({
    at: cache.target,
    operation: { do: 'cache', ...cache, attributes: [...contained, ...shifted] },
  }));
}

function servedMounts({ served = [] }: JailView): Placed[] {
  return served.map(({ target, writable }, channel) => ({
    at: target,
    operation: { do: 'fuse', path: target, channel, attributes: writable ? contained : [...contained, 'read only'] },
  }));
}

/** For when everything is there that is shown twice: what is read-only or masked in it is so there, too. */
export function repeatedMounts({ repeated = [] }: JailView): readonly Operation[] {
  const placed = repeated.map(({ source, target, access }): Placed => {
    const attributes: readonly Attribute[] = access === 'read write' ? contained : [...contained, 'read only'];
    return { at: target, operation: { do: 'again', source, target, attributes } };
  });
  return placed.sort(byPath).map(({ operation }) => operation);
}

/** Of memory, and gone with the jail: `/tmp` unless something is shown there, and what the view names. */
function temporaryPlaces({ temporary = [], shared }: JailView): readonly string[] {
  const hasTemporary = shared.some(({ target }) => target === '/tmp');
  return [...new Set([...(hasTemporary ? [] : ['/tmp']), ...temporary])];
}

/** Everything that is at a path, parents before children. */
function mounts(view: JailView): Operation[] {
  const placed: Placed[] = [
    ...temporaryPlaces(view).map(
      (path): Placed => ({ at: path, operation: { do: 'tmpfs', path, mode: 0o1777, attributes: contained } }),
    ),
    ...servedMounts(view),
    ...view.shared.map((path) => ({
      at: path.target,
      operation: {
        do: 'bind' as const,
        source: path.source,
        target: path.target,
        attributes: attributesOf(view, path),
        ...(path.identity === undefined ? {} : { identity: path.identity }),
      },
    })),
    ...overlayMounts(view),
    ...cacheMounts(view),
  ];
  return placed.sort(byPath).map(({ operation }) => operation);
}

function devices(): Operation[] {
  return [
    { do: 'directory', path: '/dev', mode: 0o755 },
    ...systemDevices.map(
      (path): Operation => ({ do: 'bind', source: path, target: path, attributes: ['no setuid', 'no execution'] }),
    ),
    { do: 'tmpfs', path: '/dev/shm', mode: 0o1777, attributes: contained },
    { do: 'devpts', path: '/dev/pts' },
    { do: 'symlink', path: '/dev/ptmx', target: 'pts/ptmx' },
    { do: 'symlink', path: '/dev/fd', target: '/proc/self/fd' },
    { do: 'symlink', path: '/dev/stdin', target: '/proc/self/fd/0' },
    { do: 'symlink', path: '/dev/stdout', target: '/proc/self/fd/1' },
    { do: 'symlink', path: '/dev/stderr', target: '/proc/self/fd/2' },
  ];
}

function kernelFiles(): Operation[] {
  return [
    { do: 'proc', path: '/proc' },
    ...protectedKernelPaths.readOnly.map((path): Operation => ({ do: 'make read only', path })),
    ...protectedKernelPaths.hidden.map((path): Operation => ({ do: 'mask', path })),
  ];
}

/** Links of the root are made before what is mounted next to them; those in the private home, or in another mount, once it is there. */
function links(view: JailView): { readonly ofRoot: readonly Operation[]; readonly ofMounts: readonly Operation[] } {
  const written = view.shared.filter(({ access }) => access === 'read write').map(({ target }) => target);
  const isMounted = (path: string) => [...temporaryPlaces(view), ...written].some((place) => contains(place, path));
  const made = (some: readonly Link[]) => some.map(({ path, target }): Operation => ({ do: 'symlink', path, target }));
  return {
    ofRoot: made(view.links.filter(({ path }) => !isMounted(path))),
    ofMounts: made(view.links.filter(({ path }) => isMounted(path))),
  };
}

function configuration(view: JailView): Operation[] {
  return [...madeConfiguration(view.person, view.hostName), ...(view.files ?? [])].map(
    ([path, content]): Operation => ({ do: 'file', path, content, mode: 0o644 }),
  );
}

function hidden(view: JailView): Operation[] {
  // Only where the host's own tree is shown at its own path can the host's path be reached.
  const shown = [...view.shared, ...(view.caches ?? [])]
    .filter(({ source, target }) => source === target)
    .map(({ target }) => target);
  return view.hidden
    .filter((path) => shown.some((target) => contains(target, path) || contains(path, target)))
    .map((path): Operation => ({ do: 'mask', path }));
}

/** Resource numbers of setrlimit, the same on both architectures. */
const resource = { fileBytes: 1, core: 4, processes: 6, openFiles: 7, realTime: 14 } as const;

/** The owner and init of a jail are counted with the command's. */
const ownProcesses = 2;

function limits(view: JailView): Operation[] {
  return [
    // Counted in the jail's own user namespace: the person's other processes do not matter.
    { do: 'limit', resource: resource.processes, value: BigInt(view.processes + ownProcesses) },
    // 1, not 0: the kernel takes 0 for "pipe it to the host's crash handler all the same".
    { do: 'limit', resource: resource.core, value: 1n },
    { do: 'limit', resource: resource.openFiles, value: BigInt(openFiles) },
    // A person who makes music may have the right: the process that uses it without end stops the machine, whatever its control group says.
    { do: 'limit', resource: resource.realTime, value: 0n },
    ...(view.fileBytes === undefined
      ? []
      : [{ do: 'limit', resource: resource.fileBytes, value: BigInt(view.fileBytes) } as const]),
  ];
}

function restrictions(view: JailView, scopes: number): readonly Operation[] {
  const writable = [
    ...temporaryPlaces(view),
    '/dev/shm',
    ...[...view.overlays, ...(view.caches ?? [])].map(({ target }) => target),
    ...view.shared.filter(({ access }) => access === 'read write').map(({ target }) => target),
    ...(view.served ?? []).filter(({ writable }) => writable).map(({ target }) => target),
    ...(view.repeated ?? []).filter(({ access }) => access === 'read write').map(({ target }) => target),
  ];
  return [
    ...(view.weakened.includes('landlock') ? [] : landlockOperations(writable, scopes)),
    ...(view.weakened.includes('seccomp')
      ? []
      : [
          {
            do: 'seccomp',
            filter: seccompProgram({
              architecture: view.architecture,
              overlays: view.overlays.length > 0,
              renumbers: view.overlays.length > 0 && view.identity.kind !== 'shifted',
              nesting: view.weakened.includes('nested-namespaces'),
            }),
          } as const,
        ]),
  ];
}

/** One private place for temporary files, unless something is shown below the other name: a mount crosses no link. */
function temporaryLink(view: JailView): Operation[] {
  const targets = [...view.overlays, ...view.shared].map(({ target }) => target);
  if (targets.some((target) => contains('/var/tmp', target)))
    return [{ do: 'directory', path: '/var/tmp', mode: 0o755 }];
  return [{ do: 'symlink', path: '/var/tmp', target: '/tmp' }];
}

function owners({ identity }: JailView): readonly Operation[] {
  if (identity.kind === 'self' || identity.owner === undefined) return [];
  const { uid, gid, shift, owner } = identity;
  return [{ do: 'owners', users: exchangedIds(owner.uid, uid, shift), groups: exchangedIds(owner.gid, gid, shift) }];
}

function numbers({ identity }: JailView): readonly Operation[] {
  if (identity.kind === 'self' || identity.outside === undefined) return [];
  const { uid, gid, shift, outside } = identity;
  const users = numberedIds(uid, outside.uid, shift);
  return [{ do: 'numbers', users, groups: numberedIds(gid, outside.gid, shift), ...outside }];
}

function groups({ identity }: JailView): readonly Operation[] {
  const given = identity.kind === 'shifted' ? (identity.groups ?? []) : [];
  return given.length === 0 ? [] : [{ do: 'groups', of: given }];
}

/** The jail without anybody in it. */
function foundation(view: JailView): readonly Operation[] {
  const { identity } = view;
  const self = identity.kind === 'self';
  return [
    { do: 'base', directory: view.base },
    ...owners(view),
    ...numbers(view),
    ...(view.controlGroups ?? []).map((directory): Operation => ({ do: 'control group', directory })),
    { do: 'namespaces', of: self ? ['user', ...namespaces] : namespaces },
    ...(self ? [{ do: 'map self', uid: identity.uid, gid: identity.gid } as const] : []),
    { do: 'hostname', name: view.hostName },
    { do: 'loopback' },
    ...(view.proxyPort === undefined ? [] : [{ do: 'listen', port: view.proxyPort } as const]),
    { do: 'root', bytes: rootBytes },
    ...links(view).ofRoot,
    { do: 'directory', path: '/var', mode: 0o755 },
    ...temporaryLink(view),
    { do: 'directory', path: '/run', mode: 0o755 },
    ...configuration(view),
    ...devices(),
    ...mounts(view),
    ...links(view).ofMounts,
    ...kernelFiles(),
    ...hidden(view),
    { do: 'pivot' },
    ...(self ? [] : [{ do: 'shift', by: identity.shift, count: shiftedCount } as const]),
  ];
}

function heldFiles({ countsHeld = false, overlays, shared }: JailView): readonly Operation[] {
  const ofFork = [...overlays, ...shared.filter(({ ofFork }) => ofFork === true)].map(({ target }) => target);
  return countsHeld ? [{ do: 'report held files', paths: ofFork }] : [];
}

function ofCommand(view: JailView, scopes: number): readonly Operation[] {
  return [
    ...limits(view),
    ...heldFiles(view),
    ...groups(view),
    { do: 'user', uid: view.identity.uid, gid: view.identity.gid },
    ...restrictions(view, scopes),
    { do: 'command directory', path: view.directory },
    { do: 'environment', variables: view.environment },
    { do: 'command', argv: view.argv },
  ];
}

/** A jail for one command. */
export function jailPlan(view: JailView): Plan {
  return [...foundation(view), ...ofCommand(view, ownProcessesAlone)];
}

/** The same, where others may be asked for beside it: they are each other's as those of a kept jail are. */
export function openPlan(view: JailView): Plan {
  return [...foundation(view), ...ofCommand(view, 0)];
}

/** A jail that is kept for many commands. */
export function keptPlan(view: JailView): Plan {
  return foundation(view);
}

/**
 * One command in a jail that was made of a view with the same identity and mounts. It may signal and speak to what earlier
 * commands left running: the pid and network namespaces are the jail's own, so there is nobody else.
 */
export function commandPlan(view: JailView): Plan {
  return ofCommand(view, 0);
}

/** The overlays alone, to be mounted in a kept jail where others were released. */
export function overlayPlan(view: JailView): Plan {
  return overlayMounts(view)
    .sort(byPath)
    .map(({ operation }) => operation);
}
