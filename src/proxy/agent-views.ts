/**
 * An agent's view while its command runs: the objects it is granted, as files at `/ctx`, and the socket by which they are called. Which
 * objects there are and how they are called is others' business; the composition root joins the two.
 */
import type { Authority } from '../authority/authority.js';
import type { Quota } from '../authority/quota.js';
import type { RunningCommand, ServedCommand } from '../jail/asked-commands.js';
import type { OutputListener } from '../jail/command-streams.js';
import type { BesideAsker } from '../jail/launch-request.js';
import type { JailIdentity } from '../jail/plan.js';

/** A command that a tool runs for its caller: with the same agent and grants, on the same fork, beside the one that called. */
export interface BesideCommand {
  /** For a shell. */
  readonly text: string;
  /** Where the caller says it is, inside. It is part of what is run, and never says which workspace is meant. */
  readonly directory: string;
  readonly timeoutMilliseconds?: number | undefined;
  readonly onOutput: OutputListener;
  readonly signal: AbortSignal;
}

/** What a tool of the operator's has, by its `cap`. */
export interface ToolGrants {
  /** How it sees its caller's fork; undefined: not at all. */
  readonly fork: 'ro' | 'rw' | undefined;
  readonly reads: readonly string[];
  /** Written directly. */
  readonly writes: readonly string[];
  /** `host:port`. */
  readonly network: readonly string[];
  /** The same, of hosts that may be at a loopback or private address. */
  readonly privateHosts: readonly string[];
  readonly secrets: readonly {
    readonly host: string;
    readonly port: number;
    readonly header: string;
    /** Names a stored secret: `Bearer $TOKEN`. */
    readonly template: string;
  }[];
  readonly quota: Quota;
}

/** A tool of the operator's, in a jail of its own: with nothing of its caller's but what is granted here. */
export interface ToolCommand extends Omit<BesideCommand, 'text' | 'directory'> {
  readonly name: string;
  /** Its executable file on the host, as it was decided about. */
  readonly program: { readonly path: string; readonly identity: string };
  /** What it reads from stdin. */
  readonly input: Buffer;
  readonly grants: ToolGrants;
}

/** A tool that goes on between calls and is talked to by its stdin and stdout. */
export interface ServerCommand extends Omit<ToolCommand, 'input' | 'timeoutMilliseconds'> {
  /** A descriptor that it reads; it is closed here, whatever happens. */
  readonly input: number;
}

export interface BesideEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
}

/** What a tool asks of the fork, for when its command has ended: until then it is mounted. */
export type ForkWork =
  | { readonly kind: 'checkpoint'; readonly name: string | undefined }
  | { readonly kind: 'rollback'; readonly checkpoint: string | undefined };

export interface ToolRoot {
  readonly path: string;
  /** The directory of the fork that it is: itself, unless a mount shows that there, too. */
  readonly source: string;
}

export interface AgentViewRequest {
  /** Whose view it is; undefined: of a person who calls `tool`. */
  readonly agent: string | undefined;
  readonly tool: string | undefined;
  readonly authority: Authority;
  /** Directories whose files its tools may read and write, as commands see them; the first is the workspace. */
  readonly roots: readonly ToolRoot[];
  /** In the workspace, for what looks at the fork. */
  readonly directory: string;
  /** Filled by its tools; undefined where there is no fork. The run that made it sees to it at its end. */
  readonly pending: ForkWork[] | undefined;
  run(command: BesideCommand): Promise<BesideEnd>;
  runTool(command: ToolCommand): Promise<BesideEnd>;
  runServer(command: ServerCommand): Promise<BesideEnd>;
}

/** Known once the jail's view is made. */
export interface ViewPlace {
  readonly identity: JailIdentity;
  /** Where the link that is HOME leads. */
  readonly home: string;
  /** What the command works on. */
  readonly fork: string | undefined;
}

/** For one command, and gone with it. */
export interface AgentView {
  /** A directory of the host that holds the socket. */
  readonly socketDirectory: string;
  /** HOME of an agent, as a link of the view. */
  readonly home: string | undefined;
  /** Asks the jail that has it for commands beside the one that it was made for. */
  readonly commands: BesideAsker & { start(command: ServedCommand): Promise<RunningCommand> };
  /** Some of its files may be written. */
  readonly isWritten: boolean;
  /**
   * Serves both; what is returned is the jail's end of the channel by which the kernel's is handed over, and the directory of the socket,
   * opened: both are the caller's to close.
   */
  start(place: ViewPlace): Promise<{ readonly channel: number; readonly sockets: number }>;
  /** Does what is pending, and says what became of it. The command has ended, and its fork is closed. */
  settle(): Promise<readonly string[]>;
  /** Ends what it serves, calls that run too, and takes the socket away; also where nothing was started. */
  end(): Promise<void>;
}

export type ViewSource = (asked: AgentViewRequest) => Promise<AgentView>;
