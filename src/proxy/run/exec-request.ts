/** The request to run a command, as every face makes it: command line, kept jail, MCP, SDK. */
import type { ProjectRead } from '../../authority/project-file.js';
import type { Quota } from '../../authority/quota.js';
import { ErrnoError } from '../../base/errno.js';
import type { OutputListener } from '../../jail/command-streams.js';
import type { RunningJail } from '../../jail/launch.js';
import type { JailLayer } from '../../jail/plan.js';
import type { CacheKeeping } from '../../vault/fork-trees.js';
import type { Progress } from '../../vault/tree/tree.js';
import type { AgentView, ForkWork } from '../agent-views.js';
import type { ToolCall } from '../approval/approval-binding.js';
import type { ApprovalRequest } from '../approval/await-approval.js';
import type { AskedTree } from '../asked-tree.js';
import type { ApartTool } from '../grants/apart-view.js';
import type { AskedSecret } from '../grants/asked-secret.js';
import type { AskedUser } from '../grants/asked-user.js';
import type { LimitEvent } from '../report/limit-events.js';

export interface RequestedDefaults {
  /** Of the file whose defaults count; null where none do. */
  readonly digest: string | null;
  /** What was left out. */
  readonly warnings: readonly string[];
  /** Apart from the other reads: what a caller writes is looked up when it is granted, and these are granted as they were confirmed. */
  readonly reads: readonly ProjectRead[];
}

export interface ExecRequest extends Pick<ApprovalRequest, 'approvalMilliseconds' | 'onApproval' | 'live' | 'input'> {
  readonly argv: readonly string[];
  /** The text that `argv` runs, where it was asked for as one. */
  readonly shell?: string | undefined;
  readonly cwd: string;
  /** The fork it works on; without one, the one in use. */
  readonly fork?: string | undefined;
  /** The agent it runs for; without one, for no one: this directory and nothing more. */
  readonly agent?: string | undefined;
  /** Paths to show beyond that, as written; directories to write are part of the fork. */
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
  /** As `writes`, but directly and not undoable, also where the fork could hold them. */
  readonly liveWrites?: readonly string[];
  /** Trees of the VFS to show, as written: `SPEC=TARGET[:rw][:grants=FILE]`. */
  readonly mounts?: readonly string[];
  /** The same, read: `withMounts`. Each is served by a process of its own. */
  readonly trees?: readonly AskedTree[] | undefined;
  /** Of the run that it is part of: what tools asked of the fork, for that one's end. */
  readonly pending?: ForkWork[] | undefined;
  /** It was called by a command that has the trees of its agent. */
  readonly isBeside?: boolean | undefined;
  /** A tool that the command calls for a person, who has no agent: all that it sees at /ctx. */
  readonly calledTool?: string | undefined;
  /** The command is nothing but a person's call of this tool, which runs with what its cap says: one question covers both. */
  readonly toolCall?: ToolCall | undefined;
  /** The approval of the call that it is run for. */
  readonly approvedCall?: string | undefined;
  /** What its agent sees at /ctx. */
  readonly view?: AgentView | undefined;
  /** What it reads: this process's stdin, unless it is to read nothing. */
  readonly stdin?: 'inherit' | 'nothing' | number | undefined;
  /** It is a tool that shares nothing with others at work on the fork. */
  readonly apart?: ApartTool | undefined;
  readonly siblings?: boolean;
  /** Where it writes tools' caches: in the fork, or in one place for all forks of its user. */
  readonly cache?: CacheKeeping | undefined;
  /** Show it the workspace read-only. */
  readonly readonly?: boolean;
  /** What a command without an agent may connect to: `any`, or `host:port`. */
  readonly network?: readonly string[];
  /** `host:port` that may be reached although they are private or loopback, named by the operator. */
  readonly privateHosts?: readonly string[];
  /** Headers that the network proxy adds for a host, so that the command uses a token without holding it. */
  readonly secrets?: readonly AskedSecret[];
  readonly quota?: Quota;
  /** Of the project: it is in this request already, but for its reads. */
  readonly projectDefaults?: RequestedDefaults | undefined;
  /**
   * Who it is inside; without one, the workspace's owner. What it makes is the owner's outside, no matter who it is
   * inside.
   */
  readonly user?: AskedUser | undefined;
  readonly environmentAdditions: readonly string[];
  /** A directory that stands for the person's home; without it the fork has one of its own. */
  readonly home?: string | undefined;
  /** Layers of the jail to do without, named by the operator; in the record and in the report. */
  readonly weakened: readonly JailLayer[];
  readonly timeoutMilliseconds?: number | undefined;
  readonly streams: 'inherit' | 'capture';
  /** What it says is for `onOutput` alone: nothing of it is kept for the report. */
  readonly keepsNoOutput?: boolean | undefined;
  /** Told of output as it comes, where it is captured. */
  readonly onOutput?: OutputListener | undefined;
  /** Until no one else is at work on the fork. */
  readonly wait: boolean;
  /** EBUSY where somebody is, instead of joining them. */
  readonly alone?: boolean | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The workspace is ready; whatever is drawn of its making can go. */
  readonly onReady?: (() => void) | undefined;
  /** The command is starting: its signals can be passed on from here. */
  readonly onStarted?: ((jail: RunningJail) => void) | undefined;
  /** A threshold of a limit was reached: called while the command runs, and once for each. */
  readonly onLimit?: ((event: LimitEvent) => void) | undefined;
  /** Cancels what comes before the command. */
  readonly signal?: AbortSignal | undefined;
}

export function refuseNoCommand({ argv }: Pick<ExecRequest, 'argv'>, verb: string): void {
  if (argv.length > 0 && argv[0] !== '') return;
  throw new ErrnoError('EINVAL', {
    operation: verb,
    reason: 'expected a command',
    remedy: `for example: ctx ${verb} -- npm test`,
  });
}

export function shortest(...times: readonly (number | undefined)[]): number | undefined {
  const given = times.filter((time) => time !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}
