/** What the hook knows of the machine and the person: a small part of the proxy's Host, since it starts for every tool call. */
import type { Recorder } from '../audit/record.js';

export interface HookHost {
  /** Canonical; hidden from every task. */
  readonly store: string;
  readonly recorder: Recorder;
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Absolute path of `ctx`. */
  readonly program: string;
}
