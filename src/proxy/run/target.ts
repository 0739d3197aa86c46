/**
 * What a command works on: a fork, the directory itself, or nothing of a person's. A kind is chosen by the face that was asked; all of
 * them go through `execute`, and differ by what is here.
 */
import type { LookAhead } from '../../vault/store/look-ahead.js';
import type { AgentView } from '../agent-views.js';
import type { Host, Place } from '../host.js';
import type { LiveEnvelope } from '../report/envelope.js';
import type { RunNote } from '../report/last-run.js';
import type { Permitted } from './authority-for.js';
import type { ExecRequest } from './exec-request.js';
import type { Facts } from './recorded-run.js';
import type { RunRequest } from './run.js';

/** A request, and all that was decided about it before anything is made for it. */
export interface Decided {
  readonly request: ExecRequest;
  readonly place: Place;
  readonly resolved: Permitted;
  /** Of this run, beyond what the authority and the target say. */
  readonly warnings: readonly string[];
  /** The look at the person's directory that began while all that was decided. */
  readonly ahead?: LookAhead | undefined;
}

/** One command, as the jail of its target is asked to run it. */
export interface TargetCommand extends Pick<RunRequest, 'view' | 'events' | 'onConnection' | 'outputs' | 'onOutput'> {
  readonly timeoutMilliseconds: number | undefined;
  /** Its name in the record. */
  readonly run: string;
}

/** What every envelope says, whatever the command ran on; its warnings are those of the command. */
export type TargetReport = Omit<LiveEnvelope, 'workspace' | 'live'>;

/** What a command was seen to have done, for the record and for its envelope. */
export interface Seen<Report> {
  readonly facts: Facts;
  envelope(report: TargetReport): Promise<Report>;
}

/** Ready for one command. */
export interface CommandTarget {
  readonly place: Place;
  readonly resolved: Permitted;
  readonly view: TargetCommand['view'];
  /** Nothing that is done to it can be undone. */
  readonly isLive: boolean;
  /** What the record says of it: its name there, and its facts. */
  readonly object: string;
  readonly facts: Facts;
  readonly note: RunNote;
  /** Where the output of a run is kept that its report has no room for. */
  outputsOf(run: string): string;
}

/** The jail of a command, for as long as it runs, as what another command works on. */
export interface CallersJail extends Omit<CommandTarget, 'note'> {
  readonly commands: AgentView['commands'];
  /** Of its own for each command. */
  note(): RunNote;
}

/** The same for a command that has a jail of its own. In order: `jail`, the run, `ended`, `look`; `close` whatever happens. */
export interface OpenTarget<Report> extends CommandTarget {
  /** The fork, where there is one. */
  readonly fork?: string | undefined;
  jail(command: TargetCommand): RunRequest;
  /** The jail, for commands that tools of its agent run there; undefined before `jail`, and where it takes none. */
  callers(): CallersJail | undefined;
  ended(): Promise<void>;
  look(): Promise<Seen<Report>>;
  close(): void;
}

export interface TargetKind<Report> {
  /** What runs a command on it, as messages name it. */
  readonly verb: string;
  readonly isLive: boolean;
  /** Throws where the request asks for what this kind has not. */
  placeOf(host: Host, request: ExecRequest): Place;
  /** Begins what opening it will need, whatever is decided. */
  lookAhead?(host: Host, place: Place): LookAhead | undefined;
  open(host: Host, command: Decided): Promise<OpenTarget<Report>>;
}
