/**
 * What an agent's jail has beside its surface and mounts, for `ctx why`: the objects at /ctx, the agent's home, and what its mount file
 * shows of both elsewhere. The view itself is asked, and the directories that the jail would bind: nothing is mounted or made.
 */
import { posix } from 'node:path';
import { contains, rebase } from '../../authority/absolute-path.js';
import { lifetimeFault } from '../../authority/quota.js';
import { refusedFor, type Verdict } from '../../authority/refusal.js';
import { nativeProgram } from '../../base/native-program.js';
import { objectView } from '../../objects/projection/object-view.js';
import { spacesIn } from '../../objects/projection/shown-spaces.js';
import { agentHomeDirectory, keptPlaces, ownHomePlace } from '../../proxy/grants/agent-home.js';
import { socketTarget, viewObstacle, viewTarget, writesObjects } from '../../proxy/grants/agent-view.js';
import { type Beside, type FoundEntry, type FoundInView, onHost } from '../../proxy/grants/found-in-view.js';
import { ownerOfFiles } from '../../proxy/grants/jail-identity.js';
import { boundPath } from '../../proxy/grants/object-mounts.js';
import type { PathAccess } from '../../proxy/grants/path-verdict.js';
import { nameFromText, textFromName } from '../../vfs/names.js';
import {
  isNothingThere,
  type PlaceAsker,
  type ShownDirectory,
  verdictInDirectory,
  verdictInView,
} from './agent-place-verdict.js';

export interface PlaceVerdict {
  readonly verdict: Verdict;
  /** What shows it. */
  readonly source: string;
  /** Behind it on the host; null for what the view makes up. */
  readonly host: string | null;
}

export interface AgentPlaces {
  readonly beside: Beside;
  /** Undefined for a path that the surface and the mounts alone decide about. */
  verdict(access: PathAccess, found: FoundInView): PlaceVerdict | undefined;
}

type Shown =
  | { readonly kind: 'view' }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'directory'; readonly directory: ShownDirectory };

const socketPath = posix.join(socketTarget, 'agent.sock');
/** The home is made by the first command, and the jail makes the directory of the socket. */
const made: FoundEntry = { type: 'directory', mode: 0o755, uid: 0, gid: 0, target: '', inFork: true };

function viewLook({ host, place, resolved }: PlaceAsker, home: string): (path: string) => FoundEntry | undefined {
  const { agent, authority } = resolved;
  const owner = ownerOfFiles(place.owner, resolved);
  const name = agent?.name ?? '';
  const { filesystem } = objectView({
    roots: host,
    agent: name,
    client: nativeProgram('object'),
    owner,
    home: { agent: name, target: home, socket: socketPath },
    // What may be written is asked; nothing is.
    writes: writesObjects(authority) ? () => Promise.resolve() : undefined,
    spaces: () => spacesIn(authority.mounts),
    now: () => host.now().getTime(),
  });
  return (path) => {
    // An engine in memory answers at once.
    let about: ReturnType<typeof filesystem.lookup> = filesystem.getattr(filesystem.root);
    for (const part of path.split('/').slice(viewTarget.split('/').length)) {
      if (about === undefined || about instanceof Promise || about.kind !== 'directory') return undefined;
      about = filesystem.lookup(about.inode, nameFromText(part));
    }
    if (about === undefined || about instanceof Promise) return undefined;
    const { kind, mode, inode } = about;
    const target = kind === 'symlink' ? filesystem.readlink(inode) : '';
    const type = kind === 'file' || kind === 'directory' || kind === 'symlink' ? kind : 'other';
    return { type, mode, ...owner, target: typeof target === 'string' ? textFromName(target) : '', inFork: true };
  };
}

function shownBy({ host, resolved }: PlaceAsker, home: string | undefined, agent: string) {
  const { authority, line } = resolved;
  const { view } = authority;
  const places = {
    roots: [host.root, ...(host.system === undefined ? [] : [host.system])] as [string, ...string[]],
    line: line.map(({ name }) => name),
  };
  const homeDirectory = agentHomeDirectory(host.root, authority.identity.uid, agent);
  const kept = home === undefined ? [] : keptPlaces(view, home);
  return (path: string): Shown | undefined => {
    if (contains(viewTarget, path) || contains(socketTarget, path)) return { kind: 'view' };
    const located = view.locate(path);
    if (located?.entry.of === 'objects') {
      const { target, source } = located.entry;
      const bound = boundPath(places, located.host);
      if (bound !== undefined) return { kind: 'directory', directory: { ...bound, target } };
      return path === target ? { kind: 'link', target: source } : undefined;
    }
    if (home === undefined || located !== undefined || !contains(home, path)) return undefined;
    const isKept = kept.some((each) => contains(each, path));
    const directory = { kind: 'home', path: rebase(path, home, homeDirectory), isKept, target: home } as const;
    return { kind: 'directory', directory };
  };
}

/** Undefined where a command has no view: it runs for no agent, or something stands in the way of one. */
export function agentPlaces(asker: PlaceAsker): AgentPlaces | undefined {
  const { host, resolved, now, used } = asker;
  const { agent, authority } = resolved;
  if (agent === undefined || viewObstacle(authority) !== undefined) return undefined;
  const { view, lifetime } = authority;
  const home = ownHomePlace(view, host.home);
  const look = viewLook(asker, home ?? '/tmp');
  const shownAt = shownBy(asker, home, agent.name);
  const inSocketDirectory = (path: string) => {
    if (path === socketTarget) return made;
    return path === socketPath ? { ...made, type: 'other' as const, mode: 0o666 } : undefined;
  };
  const entryAt = (path: string, shown: Shown): FoundEntry | undefined => {
    if (shown.kind === 'link') return { ...made, type: 'symlink', mode: 0o777, target: shown.target };
    if (shown.kind === 'directory') return onHost(shown.directory.path, true) ?? (path === home ? made : undefined);
    return contains(socketTarget, path) ? inSocketDirectory(path) : look(path);
  };
  return {
    beside: (path) => {
      const shown = shownAt(path);
      return shown === undefined ? undefined : { entry: entryAt(path, shown) };
    },
    verdict: (access, found) => {
      const shown = shownAt(found.path);
      if (shown === undefined || shown.kind === 'link') return undefined;
      const fault = lifetimeFault(lifetime, now, used);
      const late = fault === undefined ? undefined : refusedFor('EACCES', { kind: fault });
      if (shown.kind === 'view') {
        const source = `view of agent ${agent.name}`;
        return { verdict: late ?? verdictInView(asker, access, found), source, host: null };
      }
      const { directory } = shown;
      const entry = view.covering(found.path);
      // Where the home has nothing at a path the person's own is meant: what would show that is said.
      if (entry === undefined && isNothingThere(access, found)) return undefined;
      const how = entry?.access === 'write' ? 'rw' : 'ro';
      const source = entry === undefined ? `home of agent ${agent.name}` : `${entry.origin} ${entry.target} (${how})`;
      return { verdict: late ?? verdictInDirectory(asker, directory, access, found), source, host: directory.path };
    },
  };
}
