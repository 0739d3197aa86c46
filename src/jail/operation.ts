/**
 * The operations a jail is made of: a closed set, mirrored by `enum code` in native/jail/plan.h. A plan is a list of them
 * and nothing else; the program that executes it has no policy of its own.
 */

export type Attribute =
  | 'read only'
  | 'no setuid'
  | 'no devices'
  | 'no execution'
  /** To a command that runs shifted, its owners are as they are to root. Never for what root owns and it may write. */
  | 'shifted owners'
  /** What the workspace's owner owns is the agent's own, whichever uid it has: read and written through 'owners'. */
  | 'exchanged owners';

export type Namespace = 'user' | 'mount' | 'pid' | 'network' | 'ipc' | 'hostname' | 'cgroup';

export type Operation =
  | { readonly do: 'base'; readonly directory: string }
  | { readonly do: 'namespaces'; readonly of: readonly Namespace[] }
  | { readonly do: 'map self'; readonly uid: number; readonly gid: number }
  | { readonly do: 'hostname'; readonly name: string }
  | { readonly do: 'loopback' }
  | { readonly do: 'root'; readonly bytes: number }
  | { readonly do: 'directory'; readonly path: string; readonly mode: number }
  | { readonly do: 'file'; readonly path: string; readonly content: string; readonly mode: number }
  | { readonly do: 'symlink'; readonly path: string; readonly target: string }
  | { readonly do: 'tmpfs'; readonly path: string; readonly mode: number; readonly attributes: readonly Attribute[] }
  | {
      readonly do: 'bind';
      readonly source: string;
      readonly target: string;
      readonly attributes: readonly Attribute[];
      /** What the source has to be, `device:inode`: something else at its path was put there since. */
      readonly identity?: string;
    }
  | {
      readonly do: 'overlay';
      readonly target: string;
      /** Topmost first; these, `upper` and `work` are relative to the base directory. */
      readonly lower: readonly string[];
      readonly upper: string;
      readonly work: string;
      /** Owners of jails that have it mounted: theirs is cloned. */
      readonly holders?: readonly number[] | undefined;
      readonly attributes: readonly Attribute[];
    }
  /** A cache of the person's: `source` as it is now below, and what is written in `upper`, which is relative to the base, as `work` is. */
  | {
      readonly do: 'cache';
      readonly target: string;
      readonly source: string;
      readonly upper: string;
      readonly work: string;
      /** Owners of jails that may have it mounted: then theirs is cloned. */
      readonly holders?: readonly number[] | undefined;
      readonly attributes: readonly Attribute[];
    }
  /** A tree that a process outside serves: it is given the kernel's end by the channel of this number. */
  | { readonly do: 'fuse'; readonly path: string; readonly channel: number; readonly attributes: readonly Attribute[] }
  | { readonly do: 'proc'; readonly path: string }
  | { readonly do: 'devpts'; readonly path: string }
  | { readonly do: 'mask'; readonly path: string }
  | { readonly do: 'make read only'; readonly path: string }
  /** What is at a path by now, with all that is mounted in it, at another one, too. */
  | {
      readonly do: 'again';
      readonly source: string;
      readonly target: string;
      readonly attributes: readonly Attribute[];
    }
  | { readonly do: 'pivot' }
  | { readonly do: 'shift'; readonly by: number; readonly count: number }
  | { readonly do: 'user'; readonly uid: number; readonly gid: number }
  | { readonly do: 'limit'; readonly resource: number; readonly value: bigint }
  | { readonly do: 'command directory'; readonly path: string }
  | { readonly do: 'environment'; readonly variables: Readonly<Record<string, string>> }
  | { readonly do: 'command'; readonly argv: readonly string[] }
  | { readonly do: 'landlock'; readonly rights: bigint; readonly scopes: number }
  | { readonly do: 'landlock rule'; readonly path: string; readonly rights: bigint }
  | { readonly do: 'seccomp'; readonly filter: Buffer }
  | { readonly do: 'listen'; readonly port: number }
  | { readonly do: 'control group'; readonly directory: string }
  /** Maps as user_namespaces(7) writes them, for mounts with 'exchanged owners'. */
  | { readonly do: 'owners'; readonly users: string; readonly groups: string }
  /** Maps of the command's user namespace instead of those of 'shift', and who its user is outside, before the shift. */
  | {
      readonly do: 'numbers';
      readonly users: string;
      readonly groups: string;
      readonly uid: number;
      readonly gid: number;
    }
  | { readonly do: 'groups'; readonly of: readonly number[] }
  /** What the command's processes hold of deleted files, on the filesystems of these paths, is reported. */
  | { readonly do: 'report held files'; readonly paths: readonly string[] };

export type Plan = readonly Operation[];
