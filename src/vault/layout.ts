/**
 * Where things stand in the store. Pure functions of names: nothing else in the code joins store paths.
 *
 *   STORE/meta.json                      format and overlay profile; another one is refused
 *   STORE/record/                        the record's chains (src/audit/layout.ts)
 *   STORE/vault/ID/meta.json             origin, roots, the trunk
 *   STORE/vault/ID/lock                  held (flock) while the trunk or the set of forks changes
 *   STORE/vault/ID/scan/ROOT             signatures of a root when it was last looked at
 *   STORE/vault/ID/edits/N.json          the paths that entered the trunk at its position N
 *   STORE/vault/ID/layer/NAME/ROOT/      a layer's tree of one root; ROOT.work/ beside it is the kernel's, while it is live
 *   STORE/vault/ID/layer/NAME/of-...     an empty file: who made it
 *   STORE/vault/ID/layer/NAME/digest     of what it holds, once nobody writes it any more
 *   STORE/vault/ID/fork/NAME/state-N.json  the fork's stack of layers and its checkpoints; the newest whole one counts
 *   STORE/vault/ID/fork/NAME/lock        held by whoever uses the fork
 *   STORE/vault/ID/fork/NAME/home/       the private home
 *   STORE/vault/ID/fork/NAME/run/        output of commands that a report had no room for
 *   STORE/vault/ID/fork/NAME/last-run.json  the last run, and whether it has ended
 *   STORE/run/                           as a fork's, of commands without one
 *   STORE/home/PROFILE/UID/              the home of `ctx run PROFILE`, whatever the directory
 *   STORE/session/KEY/FORK.socket        of a live session, with FORK.json: who keeps it
 *   STORE/approval/ID/                   a command that waits for a person's answer, and the answer
 *   STORE/trash/                         renamed here, then deleted
 */
import { join } from 'node:path';
import { sha256 } from '../base/sha256.js';

/** A process asks for the same few, once a command for each directory above it. */
const knownIds = new Map<string, string>();
const mostKnownIds = 1_000;

/** A directory's vault is found by its path alone, so that no index has to be kept true. */
export function vaultId(origin: string): string {
  const known = knownIds.get(origin);
  if (known !== undefined) return known;
  const id = sha256(origin).slice(0, 16);
  if (knownIds.size < mostKnownIds) knownIds.set(origin, id);
  return id;
}

/** The workspace's own root; every other is named by its path. */
export const workspaceRoot = 'workspace';

export function rootKey(path: string): string {
  return sha256(path).slice(0, 12);
}

/** Where a command works that names no other. */
export const mainFork = 'main';

export interface ForkPaths {
  readonly directory: string;
  readonly lock: string;
  readonly home: string;
  readonly runs: string;
  readonly lastRun: string;
  /** A newer scan of a root that has not been acted on yet. */
  scanned(root: string): string;
}

export interface VaultPaths {
  readonly directory: string;
  readonly meta: string;
  readonly lock: string;
  readonly scans: string;
  scan(root: string): string;
  readonly allEdits: string;
  edits(position: number): string;
  readonly layers: string;
  layer(name: string): string;
  tree(layer: string, root: string): string;
  work(layer: string, root: string): string;
  readonly forks: string;
  fork(name: string): ForkPaths;
}

export function storePaths(store: string) {
  return {
    meta: join(store, 'meta.json'),
    record: join(store, 'record'),
    vaults: join(store, 'vault'),
    sessions: join(store, 'session'),
    homes: join(store, 'home'),
    trash: join(store, 'trash'),
    runs: join(store, 'run'),
    liveRuns: join(store, 'live'),
    approvals: join(store, 'approval'),
  } as const;
}

function forkPaths(directory: string): ForkPaths {
  return {
    directory,
    lock: join(directory, 'lock'),
    home: join(directory, 'home'),
    runs: join(directory, 'run'),
    lastRun: join(directory, 'last-run.json'),
    scanned: (root) => join(directory, `scan-${root}`),
  };
}

export function vaultPaths(store: string, id: string): VaultPaths {
  const directory = join(store, 'vault', id);
  // Joined by hand: asked for every layer of a stack, several times a command.
  const layer = (name: string) => `${directory}/layer/${name}`;
  return {
    directory,
    meta: join(directory, 'meta.json'),
    lock: join(directory, 'lock'),
    scans: join(directory, 'scan'),
    scan: (root) => join(directory, 'scan', root),
    allEdits: join(directory, 'edits'),
    edits: (position) => join(directory, 'edits', `${position}.json`),
    layers: join(directory, 'layer'),
    layer,
    tree: (name, root) => `${layer(name)}/${root}`,
    work: (name, root) => `${layer(name)}/${root}.work`,
    forks: join(directory, 'fork'),
    fork: (name) => forkPaths(join(directory, 'fork', name)),
  };
}
