/** What the proxy knows of the machine and the person, gathered once by the composition root. */
import { lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditPlaces } from '../audit/places.js';
import type { Recorder } from '../audit/record.js';
import type { AgentSource } from '../authority/agent.js';
import { realPath } from '../base/canonical-path.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import type { Starter } from '../base/starter.js';
import { identityShift } from '../jail/id-maps.js';
import type { Architecture } from '../jail/system-calls.js';
import { vaultId, vaultPaths } from '../vault/store/layout.js';
import type { Store } from '../vault/store/store.js';
import type { Tree } from '../vault/tree/tree.js';
import type { Owner } from '../vault/vault.js';
import type { ViewSource } from './agent-views.js';
import type { AskedTree, WrittenTree } from './asked-tree.js';
import { refuseForeignLinks } from './canonical-paths.js';
import { isOwnRepository, workspaceOf } from './workspace.js';

export interface SourceInView {
  readonly name: string;
  /** Of its files. */
  readonly directory: string;
  /** In the workspace that it sees, where its cap grants it the fork. */
  readonly cwd: string;
  readonly signal?: AbortSignal | undefined;
}

export interface Host {
  readonly store: Store;
  readonly tree: Tree;
  readonly recorder: Recorder;
  readonly audit: AuditPlaces;
  readonly jailProgram: string;
  /** Of a process that runs one command and ends. */
  readonly starter?: Starter | undefined;
  /** Path of `flock.node`. */
  readonly lockLibrary: string;
  readonly architecture: Architecture;
  /** What a command may have at one time, where no one says otherwise. */
  readonly processes: number;
  readonly uid: number;
  readonly gid: number;
  /** Supplementary groups of this process. */
  readonly groups: readonly number[];
  readonly home: string;
  /** Where agents and tools are kept, seen by agents as `/ctx`. */
  readonly root: string;
  /** Root's own of them, for every user, where there are any. */
  readonly system?: string | undefined;
  readonly agents: AgentSource;
  /**
   * `SPEC=TARGET[:rw][:grants=FILE]`, read; relative paths begin at the directory. EINVAL for what is none. Nothing is opened yet.
   * What grants refuse is recorded for the agent.
   */
  askTrees?(
    trees: readonly (string | WrittenTree)[],
    directory: string,
    agent: string | undefined,
  ): Promise<readonly AskedTree[]>;
  /** What agents see at /ctx while their commands run. */
  readonly views?: ViewSource | undefined;
  /** Starts a tool source once, asks it for its tools, and writes them down beside it. */
  listSource?(asked: SourceInView): Promise<void>;
  /** Where the operator's `agents.toml` is looked for, in order. */
  readonly operatorDirectories: readonly string[];
  /** Canonical paths that no jail ever shows: the store, the objects, the operator's files. */
  readonly hidden: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The MCP server or kept jail that asks for commands, where it is one: what a person grants it is for no other. */
  readonly requester?: string;
  now(): Date;
  /**
   * Lets go of what stays open between uses: descriptors of the record, a program. A process that uses it again opens
   * it again.
   */
  release?(): void;
  /** What a person has to know beside the answer, such as what a power cut cost. */
  warn?(text: string): void;
}

/** Of what is at the path itself, be it a link; undefined where there is nothing that we may see. */
function ownerOf(path: string): number | undefined {
  try {
    return lstatSync(path).uid;
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'EACCES') || hasCode(error, 'ENOTDIR')) return undefined;
    throw fromSystemError(error, 'stat', path);
  }
}

export interface Place {
  /** The canonical directory the command starts in. */
  readonly directory: string;
  /** The workspace it belongs to. */
  readonly origin: string;
  readonly owner: Owner;
}

/** False also where the process is in a directory that was deleted. */
function isHere(path: string): boolean {
  try {
    return path === process.cwd();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** The kernel's name of where a process is has no links in it: one that it has by now was put there meanwhile. */
function refuseOtherThanHere(cwd: string, directory: string, uid: number): void {
  if (!isHere(cwd)) {
    refuseForeignLinks(cwd, uid);
    return;
  }
  throw new ErrnoError('ESTALE', {
    operation: 'open the directory',
    path: cwd,
    reason: `the directory you are in was moved or replaced: its path now leads to ${directory}`,
    remedy: 'go to the project you want to work on again and run the command there',
  });
}

export function placeOf(host: Host, cwd: string): Place {
  let directory: string;
  try {
    directory = realPath(cwd);
  } catch (error) {
    throw fromSystemError(error, 'open the directory', cwd);
  }
  if (directory !== cwd) refuseOtherThanHere(cwd, directory, host.uid);
  const origin = workspaceOf(directory, {
    home: host.home,
    store: host.store.directory,
    hasVault: (path) => ownerOf(vaultPaths(host.store.directory, vaultId(path)).meta) !== undefined,
    isRepository: (path) => {
      const git = ownerOf(join(path, '.git'));
      return git !== undefined && isOwnRepository({ git, directory: ownerOf(path) ?? git }, host.uid);
    },
  });
  const about = statSync(origin);
  if (!about.isDirectory()) {
    throw new ErrnoError('ENOTDIR', { operation: 'open the directory', path: origin, reason: 'expected a directory' });
  }
  // Root works as the directory's owner, shifted; anybody else as themselves.
  const owner =
    host.uid === 0
      ? { uid: about.uid, gid: about.gid, shift: identityShift }
      : { uid: host.uid, gid: host.gid, shift: 0 };
  return { directory, origin, owner };
}
