/**
 * Where things are in the store. Pure functions of names: nothing else in the code joins store paths. Joined by hand,
 * since every command asks for most of them, several times; the store's own directory is in its plain form.
 *
 *   STORE/meta.json                      format and overlay profile; another one is refused
 *   STORE/record/                        the record's chains (src/audit/layout.ts)
 *   STORE/vault/ID/meta.json             origin, roots, the trunk
 *   STORE/vault/ID/lock                  held (flock) while the trunk or the set of forks changes
 *   STORE/vault/ID/scan/ROOT             signatures of a root when it was last looked at
 *   STORE/vault/ID/edits/N.json          the paths that entered the trunk at its position N
 *   STORE/vault/ID/layer/NAME/ROOT/      a layer's tree of one root; ROOT.work/ beside it is the kernel's, while it is live
 *   STORE/vault/ID/layer/NAME/of-...     an empty file: who made it
 *   STORE/vault/ID/layer/NAME/digest     of what it holds, once no one writes it any more
 *   STORE/vault/ID/fork/NAME/state-N.json  the fork's stack of layers and its checkpoints; the newest whole one counts
 *   STORE/vault/ID/fork/NAME/lock        held by the process that uses the fork
 *   STORE/vault/ID/fork/NAME/home/       the private home
 *   STORE/vault/ID/fork/NAME/tmp/        its /tmp
 *   STORE/vault/ID/fork/NAME/cache/KEY/  what it wrote into a cache of the person's; KEY.work/ beside it is the kernel's
 *   STORE/vault/ID/fork/NAME/run/        output of commands that a report had no room for
 *   STORE/vault/ID/fork/NAME/last-run.json  the last run, and whether it has ended
 *   STORE/run/                           as a fork's, of commands without one
 *   STORE/home/PROFILE/UID/              the home of `ctx run PROFILE`, whatever the directory
 *   STORE/tool/NAME/UID/                 the home of a tool's server, whatever the directory
 *   STORE/nowhere/                       empty: where a server is that has no workspace
 *   STORE/cache/UID/KEY/                 as a fork's cache/KEY, of commands with --cache share
 *   STORE/jail/KEY/FORK.socket           of a live kept jail, with FORK.json: who keeps it
 *   STORE/authority/DIGEST.pem           certificates of a person's own certificates, for commands that have a network
 *   STORE/approval/ID/                   a command that waits for a person's answer, and the answer
 *   STORE/secret/NAME.json               a secret, or the command that prints it; mode 0600
 *   STORE/trust/ID.json                  the defaults of a project that a person has confirmed
 *   STORE/trash/                         renamed here, then deleted
 *   STORE/migration/                     how the store came from an older format, while that can be taken back
 */
import { join } from 'node:path';
import { sha256 } from '../../base/sha256.js';

/** Of the store, and of each vault and fork in it. Another number needs a step in `vault/migration`. */
export const storeFormat = 2;

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
  readonly temporary: string;
  readonly caches: string;
  readonly runs: string;
  /** Who is at work on it, and in which order they came. */
  readonly group: string;
  readonly joined: string;
  /** Locked by the first of those who wait for room in the group. */
  readonly queue: string;
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
    meta: `${store}/meta.json`,
    record: `${store}/record`,
    vaults: `${store}/vault`,
    vaultNames: `${store}/names`,
    keptJails: `${store}/jail`,
    views: `${store}/view`,
    certificates: `${store}/authority`,
    homes: `${store}/home`,
    caches: `${store}/cache`,
    trash: `${store}/trash`,
    migration: `${store}/migration`,
    runs: `${store}/run`,
    toolHomes: `${store}/tool`,
    nowhere: `${store}/nowhere`,
    liveRuns: `${store}/live`,
    approvals: `${store}/approval`,
    secrets: `${store}/secret`,
    trusted: `${store}/trust`,
  } as const;
}

function forkPaths(directory: string): ForkPaths {
  return {
    directory,
    lock: `${directory}/lock`,
    home: `${directory}/home`,
    temporary: `${directory}/tmp`,
    caches: `${directory}/cache`,
    runs: `${directory}/run`,
    group: `${directory}/group`,
    joined: `${directory}/joined`,
    queue: `${directory}/queue`,
    scanned: (root) => `${directory}/scan-${root}`,
  };
}

export function vaultPaths(store: string, id: string): VaultPaths {
  const directory = join(store, 'vault', id);
  const layer = (name: string) => `${directory}/layer/${name}`;
  return {
    directory,
    meta: `${directory}/meta.json`,
    lock: `${directory}/lock`,
    scans: `${directory}/scan`,
    scan: (root) => `${directory}/scan/${root}`,
    allEdits: `${directory}/edits`,
    edits: (position) => `${directory}/edits/${position}.json`,
    layers: `${directory}/layer`,
    layer,
    tree: (name, root) => `${layer(name)}/${root}`,
    work: (name, root) => `${layer(name)}/${root}.work`,
    forks: `${directory}/fork`,
    fork: (name) => forkPaths(`${directory}/fork/${name}`),
  };
}
