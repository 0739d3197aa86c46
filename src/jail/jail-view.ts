/** What a jail shall show, and to whom: all that a plan is made of. */
import type { Person } from '../authority/system-profile.js';
import type { Architecture } from './system-calls.js';

/** How the command's user relates to the host's. */
export type JailIdentity =
  /** The caller is not root: outside the command is the caller, inside it is called `uid`. */
  | { readonly kind: 'self'; readonly uid: number; readonly gid: number }
  /** The caller is root: uid n inside is n + shift outside, which is nobody on the host. */
  | {
      readonly kind: 'shifted';
      readonly uid: number;
      readonly gid: number;
      readonly shift: number;
      /** Supplementary groups, shifted as well. */
      readonly groups?: readonly number[];
      /** Whose the fork is on disk, where the command runs as somebody else: it is shown as the command's own. */
      readonly owner?: { readonly uid: number; readonly gid: number };
      /** Who it is outside, before the shift, where inside it has other numbers. */
      readonly outside?: { readonly uid: number; readonly gid: number };
    };

/** What an operator may give up: layers of a jail that some hosts lack, and the ban on namespaces inside, which browsers need. */
export type JailLayer = 'landlock' | 'seccomp' | 'nested-namespaces';

export interface SharedPath {
  readonly source: string;
  readonly target: string;
  readonly access: 'read only' | 'read write';
  /** `device:inode` of the source when it was looked up. */
  readonly identity?: string;
  /** In the store, owned like the fork. */
  readonly ofFork?: boolean;
  /** Written as its owner, who is not root: a shifted command could otherwise only write what everybody may. */
  readonly asOwner?: boolean;
}

export interface Link {
  readonly path: string;
  readonly target: string;
}

export interface OverlayRoot {
  readonly target: string;
  readonly lower: readonly string[];
  readonly upper: string;
  readonly work: string;
  /** Process numbers of the owners of jails that have it mounted already: an upper directory is never mounted twice. */
  readonly holders?: readonly number[] | undefined;
}

/** A cache of the person's that the command may write, beside them. */
export interface CacheRoot {
  readonly source: string;
  readonly target: string;
  readonly upper: string;
  readonly work: string;
  /** Process numbers of the owners of jails that may have it mounted already. */
  readonly holders?: readonly number[] | undefined;
}

/** A tree of the VFS that a process outside serves. */
export interface ServedTree {
  readonly target: string;
  readonly writable: boolean;
}

/** A part of the fork that is at another path, too. */
export interface RepeatedPath {
  /** Inside. */
  readonly source: string;
  readonly target: string;
  readonly access: 'read only' | 'read write';
}

export interface JailView {
  readonly identity: JailIdentity;
  readonly person: Person;
  readonly hostName: string;
  /** The directory that overlay layers are named relative to. */
  readonly base: string;
  readonly overlays: readonly OverlayRoot[];
  readonly shared: readonly SharedPath[];
  readonly caches?: readonly CacheRoot[];
  /** In the order of the channels to their servers. */
  readonly served?: readonly ServedTree[];
  readonly repeated?: readonly RepeatedPath[];
  readonly links: readonly Link[];
  /** Files of `/etc` that are made for it, beside those that name its person. */
  readonly files?: ReadonlyMap<string, string>;
  /** Empty directories that end with the jail. */
  readonly temporary?: readonly string[];
  /** Layers the operator gave up in so many words. */
  readonly weakened: readonly JailLayer[];
  readonly architecture: Architecture;
  /** The most processes and threads at one time. */
  readonly processes: number;
  /** Control groups the whole jail enters. */
  readonly controlGroups?: readonly string[];
  /** The most that one file may hold; undefined where disk is not limited. */
  readonly fileBytes?: number | undefined;
  /** Whether deleted files of the fork that are still held count for somebody: then they are reported. */
  readonly countsHeld?: boolean;
  /** A port of the jail's loopback whose connections the owner serves; undefined where no network is granted. */
  readonly proxyPort?: number | undefined;
  /** Host paths that must not be seen even under a shared ancestor. */
  readonly hidden: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
}
