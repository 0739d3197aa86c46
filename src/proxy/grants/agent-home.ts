/**
 * The home of an agent: one directory for all its commands, whatever they work on, kept with the agent's other files and bound where the
 * person's home is. What the owner of a run writes in it (`session/`, `log/`, `root/`) the agent only reads.
 */
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import { objectsPath } from '../../authority/mount.js';
import type { View } from '../../authority/view.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { makeDirectory } from '../../base/make-directory.js';
import { uniqueName } from '../../base/unique-name.js';
import type { JailIdentity, JailView } from '../../jail/plan.js';
import { throwAway } from '../../vault/store/trash.js';
import type { Host } from '../host.js';

/** In every home: what the agent writes, and what it only reads. */
const ownParts = ['data', 'cache'] as const;
export const keptParts = ['session', 'log', 'root'] as const;

/** Of a path in the home. */
export const isKeptPart = (path: string): boolean =>
  keptParts.some((part) => path === part || path.startsWith(`${part}/`));

/** As mount lines name it. */
export const agentHomeSource = (uid: number, agent: string): string =>
  posix.join(objectsPath, 'home', String(uid), 'agent', agent);

export function agentHomeDirectory(root: string, uid: number, agent: string): string {
  return join(root, 'home', String(uid), 'agent', agent);
}

/**
 * Where a home of the jail's own is shown; undefined where the Authority shows the host's there. In a container or a service without a
 * user the home is `/`: a private one there would cover all that the jail has.
 */
export function ownHomePlace(view: View, home: string): string | undefined {
  return home === '/' || view.covering(home) !== undefined ? undefined : home;
}

/** What of an agent's home at `home` it only reads: not where the view has something of its own, nor above what it may write. */
export function keptPlaces(view: View, home: string): readonly string[] {
  return keptParts
    .map((part) => join(home, part))
    .filter((path) => view.covering(path) === undefined && view.beneath(path).every(({ access }) => access === 'read'));
}

/** Who a command is outside; undefined where that is this process's own user. */
function outsideOf(identity: JailIdentity): { readonly uid: number; readonly gid: number } | undefined {
  if (identity.kind === 'self') return undefined;
  const { uid, gid } = identity.outside ?? identity;
  return { uid: uid + identity.shift, gid: gid + identity.shift };
}

/** What of a view is a home below `root`, for code that counts what is written. */
export function homesIn(root: string, { shared }: Pick<JailView, 'shared'>): readonly string[] {
  return shared.map(({ source }) => source).filter((source) => contains(join(root, 'home'), source));
}

/** Away with its agent: the next one of this name begins anew. Commands of the agent may still be at work in it. */
export function removeAgentHome({ store, tree }: Pick<Host, 'store' | 'tree'>, directory: string): void {
  const there = lstatSync(directory, { throwIfNoEntry: false });
  if (there === undefined) return;
  try {
    throwAway(store, directory);
  } catch (error) {
    // Of objects on another disk than the store. Not by paths: a directory that is a link by the next call would be emptied, too.
    if (!hasCode(error, 'EXDEV')) throw error;
    if (there.isDirectory()) tree.removeAtOnce(directory);
    else rmSync(directory, { force: true });
  }
}

function fill(directory: string, owner: ReturnType<typeof outsideOf>): void {
  for (const part of [...ownParts, ...keptParts]) {
    makeDirectory(join(directory, part), 0o755);
    // The agent reads what the owner of a run keeps there, and is another user where that is root; no one else gets into the home.
    chmodSync(join(directory, part), 0o755);
  }
  if (owner === undefined) return;
  for (const part of [...ownParts, '.']) chownSync(join(directory, part), owner.uid, owner.gid);
}

/** Commands in two workspaces may be the first at the same time: each makes a whole one, and the first to name it has made it. */
function makeWhole(directory: string, owner: ReturnType<typeof outsideOf>): void {
  // Where it is left, `objects` finds it by its end.
  const draft = join(dirname(directory), `.${basename(directory)}.${uniqueName()}.new`);
  makeDirectory(dirname(directory), 0o755);
  mkdirSync(draft, { mode: 0o700 });
  try {
    fill(draft, owner);
    renameSync(draft, directory);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!hasCode(error, 'ENOTEMPTY') && !hasCode(error, 'EEXIST')) throw error;
  }
}

/** Made when it is missing. EPERM where it is another user's by now: its `iso` or uid was changed. */
export function prepareAgentHome(directory: string, identity: JailIdentity): string {
  const owner = outsideOf(identity);
  try {
    if (!existsSync(directory)) makeWhole(directory, owner);
    // The record may have made it, for the events of a session: then no command has been in it, and it is ours to give.
    if (lstatSync(directory).uid === process.geteuid?.() && !existsSync(join(directory, keptParts[1])))
      fill(directory, owner);
    const { uid } = lstatSync(directory);
    if (owner === undefined || owner.uid === uid) return directory;
    throw new ErrnoError('EPERM', {
      operation: 'home of the agent',
      path: directory,
      reason: `the home belongs to uid ${uid}, but the agent's commands now run as uid ${owner.uid}`,
      remedy: `chown -R ${owner.uid}:${owner.gid} the agent's files in it, or move it away`,
    });
  } catch (error) {
    throw error instanceof ErrnoError ? error : fromSystemError(error, 'make the home of the agent', directory);
  }
}
