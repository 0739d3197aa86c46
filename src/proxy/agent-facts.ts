/**
 * What a command has to know of the agent it runs for. The control files they come from are `objects/`' business; the
 * composition root joins the two.
 */
import type { Identity } from '../authority/authority.js';
import type { Lineage } from '../authority/lineage.js';
import type { Mount } from '../authority/mount.js';
import type { Network } from '../authority/network.js';
import type { Policy } from '../authority/policy.js';
import type { Lifetime, Quota } from '../authority/quota.js';
import type { Scope } from '../authority/scope.js';

export interface AgentFacts {
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
  readonly policy: Policy;
  /** Undefined: what the policy says, any public host or none. */
  readonly network: Network | undefined;
  readonly quota: Quota;
  readonly lifetime: Lifetime;
  readonly scope: Scope;
}

/** ENOENT where there is no such agent, EINVAL where one of its files is wrong. */
export type AgentSource = (name: string) => Promise<AgentFacts>;
