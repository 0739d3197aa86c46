/** What a jail shall show, and to whom: all that a plan is made of. */
import type { Person } from '../authority/system-profile.js';
import type { Architecture } from './system-calls.js';

/** How the command's user relates to the host's. */
export type Identity =
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
    };

/** Layers of a jail that some hosts lack, and that an operator may give up. */
export type Layer = 'landlock' | 'seccomp';

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
}

export interface JailView {
  readonly identity: Identity;
  readonly person: Person;
  readonly hostName: string;
  /** The directory that overlay layers are named relative to. */
  readonly base: string;
  readonly overlays: readonly OverlayRoot[];
  readonly shared: readonly SharedPath[];
  readonly links: readonly Link[];
  /** Empty directories that end with the jail. */
  readonly temporary?: readonly string[];
  /** Layers the operator gave up in so many words. */
  readonly weakened: readonly Layer[];
  readonly architecture: Architecture;
  readonly processors: number;
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
