/**
 * An agent's view while its command runs: the objects it is granted, as files at `/ctx`, and the socket by which they are called. Which
 * objects there are and how they are called is others' business; the composition root joins the two.
 */
import type { Authority } from '../authority/authority.js';
import type { OutputListener } from '../jail/command-streams.js';
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

export interface BesideEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
}

export interface AgentViewRequest {
  readonly agent: string;
  readonly authority: Authority;
  /** Directories whose files its tools may read and write, as commands see them; the first is the workspace. */
  readonly roots: readonly string[];
  /** In the workspace, for what looks at the fork. */
  readonly directory: string;
  run(command: BesideCommand): Promise<BesideEnd>;
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
  /** HOME, as a link of the view. */
  readonly home: string;
  /** Serves both; what is returned is the jail's end of the channel by which the kernel's is handed over. */
  start(place: ViewPlace): Promise<number>;
  /** Ends what it serves, calls that run too, and takes the socket away; also where nothing was started. */
  end(): Promise<void>;
}

export type ViewSource = (asked: AgentViewRequest) => Promise<AgentView>;
