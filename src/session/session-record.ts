/** What a session has in the record of its own: that it began and ended, and what happened while no command of it ran. */
import type { RecordEntry } from '../audit/record.js';
import { ErrnoError } from '../base/errno.js';
import type { ResolvedAuthority } from '../proxy/grants/authority-of.js';
import type { Host } from '../proxy/host.js';
import { type ConnectionListener, endedEntry, openedEntry, type Whose } from '../proxy/report/connection-records.js';

export interface RecordedSession {
  readonly id: string;
  readonly origin: string;
  readonly vault: string;
  readonly fork: string;
  readonly resolved: ResolvedAuthority;
}

export class SessionRecord {
  readonly #recorder: Host['recorder'];
  readonly #session: RecordedSession;
  readonly #whose: Whose;
  /** For the report of the next command. */
  #unsaid: readonly string[] = [];

  constructor({ recorder }: Pick<Host, 'recorder'>, session: RecordedSession) {
    const { id, vault, fork, resolved } = session;
    this.#recorder = recorder;
    this.#session = session;
    this.#whose = { object: `fork/${vault}/${fork}`, agent: resolved.agent?.name, session: id };
  }

  write(status: 'begin' | 'ok'): void {
    const { origin, resolved } = this.#session;
    const facts = { origin, authority: resolved.digest };
    this.#recorder.append({ ...this.#whose, type: 'session', status, facts });
  }

  /** What an earlier command left went on until this limit. */
  limitReached(reason: string): void {
    const facts = { reason: `${reason}; the session was ended` };
    this.#recorder.append({ ...this.#whose, type: 'limit', status: 'failed', facts });
  }

  /** Where no command runs, or several do, a connection is the session's. */
  get connections(): ConnectionListener {
    return {
      opened: (event) => this.#connection(openedEntry(this.#whose, null, event)),
      ended: (event) => this.#connection(endedEntry(this.#whose, null, event)),
    };
  }

  /** The next command's report says what could not be written. */
  #connection(entry: RecordEntry): void {
    try {
      this.#recorder.append(entry);
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
      this.sayLater([`could not write a connection between commands: ${error.reason} (${error.code})`]);
    }
  }

  sayLater(texts: readonly string[]): void {
    this.#unsaid = [...new Set([...this.#unsaid, ...texts])];
  }

  takeUnsaid(): readonly string[] {
    const unsaid = this.#unsaid;
    this.#unsaid = [];
    return unsaid;
  }
}
