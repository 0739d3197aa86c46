/**
 * From an Authority to what its jail shows. The surface and the mounts decide, and nothing beside them: so the jail
 * agrees with the process that asks the Authority. What the jail makes of its own (private home, /tmp, /dev, /proc,
 * parts of /etc) is only where the Authority says nothing; docs/agreement.md lists the differences that follow.
 */
import { lstatSync } from 'node:fs';
import { posix } from 'node:path';
import { contains, rebase } from '../../authority/absolute-path.js';
import type { Person } from '../../authority/system-profile.js';
import type { View, ViewEntry } from '../../authority/view.js';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import type { CacheRoot, JailIdentity, JailLayer, RepeatedPath, SharedPath } from '../../jail/plan.js';
import { proxyEnvironment } from '../../network/environment.js';
import { agentHomeDirectory, keptPlaces, ownHomePlace, prepareAgentHome } from '../grants/agent-home.js';
import type { ResolvedAuthority } from '../grants/authority-of.js';
import type { EnforcedView } from '../grants/enforced-plan.js';
import { commandEnvironment } from '../grants/environment.js';
import { jailIdentity } from '../grants/jail-identity.js';
import { linkedWorktrees } from '../grants/linked-worktrees.js';
import { hasMountsInside } from '../grants/mounts-inside.js';
import { objectMounts } from '../grants/object-mounts.js';
import { certificatesOf, noCertificates } from '../grants/trusted-certificates.js';
import type { Host, Place } from '../host.js';
import type { ForkMounts } from './fork-mounts.js';

const jailHostName = 'ctx';

/** Of the jail's own loopback; the usual one of proxies. */
const proxyPort = 3128;

export interface ViewRequest {
  readonly host: Host;
  readonly place: Place;
  readonly resolved: ResolvedAuthority;
  readonly mounts: ForkMounts;
  readonly argv: readonly string[];
  readonly environmentAdditions: readonly string[];
  readonly weakened: readonly JailLayer[];
  /** HOME of the agent, as a link of its view. */
  readonly agentHome?: string | undefined;
  /** Another home was asked for than the fork's, or the agent's: it stays. */
  readonly isHomeGiven?: boolean | undefined;
}

function refuse(entry: ViewEntry, reason: string): never {
  throw new ErrnoError('ENOTSUP', { operation: 'view', path: entry.target, reason: `${reason} is not supported yet` });
}

interface Parts {
  readonly shared: readonly SharedPath[];
  readonly repeated: readonly RepeatedPath[];
  readonly readOnly: readonly string[];
}

/**
 * What was granted by name is that thing, not whatever is at its path shortly after. The system and tools' own files
 * are written anew by updates, at any time and rightly.
 */
function identityOf({ source, origin }: ViewEntry): { readonly identity?: string } {
  if (origin === 'systemReads' || origin === 'toolingPaths') return {};
  try {
    const about = lstatSync(source, { bigint: true, throwIfNoEntry: false });
    return about === undefined ? {} : { identity: `${about.dev}:${about.ino}` };
  } catch (error) {
    throw fromSystemError(error, 'look at what is granted', source);
  }
}

/** Whether a part of the fork brings this to its other path by itself: what is mounted in it there covers anything else. */
function isShownWith(view: View, outer: ViewEntry, { target, source, access, options }: ViewEntry): boolean {
  const own = view.covering(rebase(target, outer.target, outer.source));
  if (own === undefined || own.source !== source || rebase(own.target, outer.source, outer.target) !== target)
    return false;
  const isNarrow = (each: ViewEntry) => each.options.includes('noexec');
  if (options.includes('noexec') && ![own, outer].some(isNarrow)) return false;
  return access === 'write' || [own, outer].some((each) => each.access === 'read');
}

/** What is in the workspace at its own path is the fork's: it is narrowed there, never shown from the host. */
function partsOf(view: View, roots: readonly string[]): Parts {
  const shared: SharedPath[] = [];
  const repeated: RepeatedPath[] = [];
  const readOnly: string[] = [];
  for (const entry of view.allowedReads()) {
    const { source, target, access } = entry;
    const outer = view.entries.findLast(
      (each) =>
        each.target !== target && contains(each.target, target) && repeated.some((one) => one.target === each.target),
    );
    if (outer !== undefined && !roots.some((each) => contains(each, source))) {
      if (!isShownWith(view, outer, entry))
        refuse(entry, `a mount inside ${outer.target}, which is a part of the workspace,`);
      continue;
    }
    if (entry.of !== 'host') continue; // served
    const root = roots.find((each) => contains(each, target));
    const inFork = root !== undefined;
    const within = inFork ? readOnly.find((path) => contains(path, target)) : undefined;
    if (access === 'write' && within !== undefined) refuse(entry, `writing inside ${within}, which is read-only,`);
    if (inFork && source === target) {
      const above = target === root ? undefined : view.covering(posix.dirname(target));
      if (above !== undefined && above.source !== above.target)
        refuse(entry, `a grant below the mount ${above.target}`);
      if (target !== root && entry.options.includes('noexec')) refuse(entry, 'noexec for a part of the workspace');
      if (access === 'read' && within === undefined) readOnly.push(target);
      continue;
    }
    if (roots.some((each) => contains(each, source))) {
      if (inFork) refuse(entry, `a directory of the fork, or a part of it, at another path of the fork than ${source}`);
      repeated.push({ source, target, access: access === 'write' ? 'read write' : 'read only' });
      continue;
    }
    if (!entry.options.includes('rbind') && hasMountsInside(source)) {
      refuse(entry, `a mount of ${source} without the file systems that are mounted inside it`);
    }
    shared.push({ source, target, access: access === 'write' ? 'read write' : 'read only', ...identityOf(entry) });
  }
  return { shared, repeated, readOnly };
}

interface AgentHome {
  readonly directory: string;
}

interface ShownHome {
  readonly home: string;
  readonly shared: readonly SharedPath[];
  readonly readOnly: readonly string[];
}

/** The home a command may write: the private one, unless the Authority shows the host's own. */
function homeOf(view: View, home: string, own: string | AgentHome): ShownHome {
  if (ownHomePlace(view, home) === undefined) {
    return { home: view.accessTo(home) === 'write' ? home : '/tmp', shared: [], readOnly: [] };
  }
  const kind = { target: home, access: 'read write' } as const;
  if (typeof own === 'string') return { home, shared: [{ source: own, ...kind, ofFork: true }], readOnly: [] };
  return { home, shared: [{ source: own.directory, ...kind }], readOnly: keptPlaces(view, home) };
}

/** The agent's own, for commands of its that have a view, unless another was asked for. */
function ownHome({ host, resolved, mounts, agentHome, isHomeGiven }: ViewRequest, identity: JailIdentity) {
  const { agent, authority } = resolved;
  if (agent === undefined || agentHome === undefined || isHomeGiven === true) return mounts.home;
  const directory = agentHomeDirectory(host.root, authority.identity.uid, agent.name);
  return { directory: prepareAgentHome(directory, identity) };
}

/** The fork's own `/tmp`, unless the Authority shows something there. */
function temporaryOf(view: View, source: string | undefined): SharedPath[] {
  if (source === undefined || view.covering('/tmp') !== undefined) return [];
  return [{ source, target: '/tmp', access: 'read write', ofFork: true }];
}

/** Where nothing else is, and nothing is hidden on purpose. */
function worktreesOf(view: View, roots: readonly string[]): readonly SharedPath[] {
  const hidden = [...view.hidden, ...view.maskedTargets()];
  return linkedWorktrees(roots).filter(
    ({ target }) =>
      view.covering(target) === undefined &&
      !roots.some((root) => contains(root, target)) &&
      !hidden.some((path) => contains(path, target)),
  );
}

interface Cached {
  readonly shared: readonly SharedPath[];
  readonly caches: readonly CacheRoot[];
}

/** Caches that the Authority shows read-only, at their own path, can be written in the fork: the person's own stay as they are. */
function cachesOf(shared: readonly SharedPath[], caches: readonly string[], { cache }: ForkMounts): Cached {
  if (cache === undefined || caches.length === 0) return { shared, caches: [] };
  const isCache = ({ source, target, access }: SharedPath) =>
    source === target && access === 'read only' && caches.includes(source);
  return {
    shared: shared.filter((path) => !isCache(path)),
    caches: shared.filter(isCache).map(({ source, target }) => ({ source, target, ...cache(source) })),
  };
}

export function viewOf(request: ViewRequest): EnforcedView {
  const { host, place, mounts, resolved } = request;
  const { authority, agent, links, search } = resolved;
  const { view } = authority;
  const roots = mounts.overlays.map((overlay) => overlay.target);
  const { shared, repeated, readOnly } = partsOf(view, roots);
  const identity = jailIdentity(place.owner, resolved);
  const own = homeOf(view, host.home, ownHome(request, identity));
  const line = resolved.line.map(({ name: each }) => each);
  const objects = objectMounts(
    { roots: [host.root, ...(host.system === undefined ? [] : [host.system])], line },
    view.entries,
  );
  const { uid, gid } = identity;
  // An agent with a uid of its own would need owners exchanged in the person's directory, too: it reads.
  const isOther = identity.kind === 'shifted' && identity.owner !== undefined;
  const cached = cachesOf(shared, isOther ? [] : resolved.caches, mounts);
  const name = uid === 0 ? 'root' : 'user';
  const isOffline = authority.network.kind === 'none';
  const certificates = isOffline ? noCertificates : certificatesOf(host.environment, host.store.directory);
  const person: Person = { uid, gid, name, group: name, home: own.home };
  return {
    jail: {
      identity,
      person,
      hostName: jailHostName,
      base: mounts.base,
      overlays: mounts.overlays,
      shared: [
        ...cached.shared,
        ...own.shared,
        ...objects.shared,
        ...temporaryOf(view, mounts.temporary),
        ...worktreesOf(view, roots),
        ...certificates.shared,
      ],
      repeated,
      caches: cached.caches,
      // Inside a mounted tree its own links count.
      links: [...links.filter(({ path }) => view.covering(path) === undefined), ...objects.links],
      files: resolved.git.made,
      weakened: request.weakened,
      architecture: host.architecture,
      // Held by a control group, too, where this user may make one; its limit is reached first, and counted.
      processes: authority.quota.pids ?? host.processes,
      // One write fills a disk sooner than anybody can look: no file alone is larger than all may be.
      fileBytes: authority.quota.disk,
      proxyPort: isOffline ? undefined : proxyPort,
      hidden: authority.surface.hidden,
      directory: agent?.cwd ?? place.directory,
      environment: commandEnvironment({
        inherited: host.environment,
        search,
        person,
        agent:
          agent === undefined
            ? undefined
            : {
                uid: agent.identity.uid,
                home: request.agentHome,
                toolPath: authority.toolPath,
                variables: agent.environment,
              },
        network: isOffline ? {} : { ...proxyEnvironment(proxyPort, authority.network), ...certificates.environment },
        git: resolved.git.environment,
        additions: request.environmentAdditions,
      }),
      argv: request.argv,
    },
    readOnly: [...readOnly, ...own.readOnly, ...objects.readOnly],
    masked: view.maskedTargets(),
    noExecution: view.entries.filter(({ options }) => options.includes('noexec')).map(({ target }) => target),
    certificates: certificates.trusted,
  };
}
