/**
 * The caller of a verb. Mostly the person of this process; a kept jail's process runs some verbs for its clients, too,
 * each with the client's directory, environment and streams.
 */
import type { HookStreams } from '../sdk/hook-streams.js';

/** Where text goes, and whether a person looks at it. */
export interface Shows {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export interface Caller {
  /** Where they are; throws where that is gone. */
  directory(): string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Shows;
  readonly stderr: Shows;
  /** For the hook, which reads its stdin and cannot wait for it for ever. */
  readonly hook: HookStreams;
}
