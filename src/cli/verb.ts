/**
 * The verbs as data. Parsing, help and shell completion all come from this table's shape; what a verb does is loaded only
 * when it is called, so that starting costs what is used.
 */

import type { HookHost } from '../sdk/hook.js';
import type { Host } from '../sdk/host.js';
import type { Caller } from './caller.js';

export interface Option {
  readonly name: string;
  readonly summary: string;
  /** What the value is, for example `DURATION`; absent for a switch. */
  readonly value?: string;
  /** The values it takes, where they are a closed set. */
  readonly choices?: readonly string[];
  readonly repeated?: boolean;
  /** Its value may be what no text can be (`path-bytes`): a path that is only compared with changes, a value that a command gets. */
  readonly bytes?: boolean;
}

export interface Arguments {
  /** As written; for a verb that takes a command, everything from the first word that is no option on. */
  readonly words: readonly string[];
  /** What follows `--`, for a verb that takes words and a command. */
  readonly command: readonly string[];
  flag(name: string): boolean;
  value(name: string): string | undefined;
  values(name: string): readonly string[];
}

/** For whom a host is made: this process, unless it is said. */
export interface HostWish {
  readonly environment?: Host['environment'] | undefined;
  readonly warn?: ((text: string) => void) | undefined;
  /** Nothing is made where there is no store. */
  readonly looks?: boolean | undefined;
}

export type HostOf = (wish?: HostWish) => Promise<Host>;

/**
 * Hosts are made when they are asked for: help needs no store. The number is the exit code. Verbs that a kept jail's process runs
 * for its clients look at `caller` for whatever else is the client's; all others have a process of their own.
 */
export type Run = (call: Arguments, host: HostOf, hookHost: () => Promise<HookHost>, caller: Caller) => Promise<number>;

export interface Verb {
  readonly name: string;
  readonly summary: string;
  /** What follows the verb, for example `-- COMMAND [ARGUMENT...]`. */
  readonly operands?: string;
  /** How many words it takes; a verb with a command takes any number. */
  readonly words:
    | 'none'
    | 'command'
    | {
        readonly least: number;
        readonly most: number;
        /** A command may follow `--`. */
        readonly command?: boolean;
        /** As an option's. */
        readonly bytes?: boolean;
      };
  readonly options: readonly Option[];
  readonly details?: readonly string[];
  readonly examples: readonly string[];
  /** What does it; of a verb that has several forms, the one of this call. */
  load(call: Arguments): Promise<Run>;
}
