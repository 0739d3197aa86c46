/**
 * An agent as one value: what its control files say that decides anything. `objects/` reads the files and makes it;
 * code that decides takes it. What is for people alone (`meta.json`), and what the process that runs it writes, is not
 * in it.
 */
import type { Identity, SupervisorGrant } from './authority.js';
import type { Lineage } from './lineage.js';
import type { Mount } from './mount.js';
import type { Network } from './network.js';
import type { Policy } from './policy.js';
import type { Lifetime, Quota } from './quota.js';
import type { Scope } from './scope.js';

/** Which of the other repositories of the workspace are shown: those its own file lists, or none. */
export const siblingChoices = Object.freeze(['none', 'all'] as const);
export type SiblingChoice = (typeof siblingChoices)[number];

export interface Agent {
  readonly name: string;
  /** Of its control files, on the host; no jail shows it. */
  readonly directory: string;
  readonly identity: Identity;
  /** Undefined where a person made it. A child's authority is derived from its parent's, each time it is asked for. */
  readonly parent: Lineage | undefined;
  readonly root: string;
  /** Where a command starts, as a path of the view; undefined: where the caller is. */
  readonly cwd: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly toolPath: readonly string[];
  /** Of a child, sources are paths of its parent's view; else host paths. */
  readonly mounts: readonly Mount[];
  readonly models: readonly string[];
  readonly policy: Policy;
  /** Undefined: what the policy says, any public host or none. */
  readonly network: Network | undefined;
  readonly quota: Quota;
  readonly lifetime: Lifetime;
  readonly scope: Scope;
  readonly siblingReads: SiblingChoice;
  /** Templates of paths that it reads besides, as for tooling. */
  readonly additionalReads: readonly string[];
  /** What a supervisor granted it beyond its parent. */
  readonly supervised: readonly SupervisorGrant[];
}

/** ENOENT where there is no such agent, EINVAL where one of its files is wrong. */
export type AgentSource = (name: string) => Promise<Agent>;
