/** What a kept jail has in the record of its own: that it began and ended, and what happened while none of its commands ran. */
import type { RecordEntry } from '../audit/record.js';
import { ErrnoError } from '../base/errno.js';
import type { ResolvedAuthority } from '../proxy/grants/authority-of.js';
import type { Host, Place } from '../proxy/host.js';
import {
  type ConnectionListener,
  endedEntry,
  type Opener,
  openedEntry,
  type Whose,
} from '../proxy/report/connection-records.js';

export interface RecordedJail {
  readonly id: string;
  readonly origin: string;
  readonly vault: string;
  readonly fork: string;
  readonly resolved: ResolvedAuthority;
}

export class KeptJailRecord {
  readonly #recorder: Host['recorder'];
  readonly #jail: RecordedJail;
  readonly #whose: Whose;
  readonly #opener: Opener;
  /** For the report of the next command. */
  #unsaid: readonly string[] = [];

  constructor({ recorder }: Pick<Host, 'recorder'>, jail: RecordedJail) {
    const { id, vault, fork, resolved } = jail;
    this.#opener = { run: null, keptJail: id };
    this.#recorder = recorder;
    this.#jail = jail;
    this.#whose = { object: `fork/${vault}/${fork}`, agent: resolved.agent?.name };
  }

  write(status: 'begin' | 'ok'): void {
    this.#recorder.append({ ...this.#whose, type: 'jail', status, facts: this.#facts });
  }

  /** It could not be made ready, after it began. */
  fail(error: unknown): void {
    const code = error instanceof ErrnoError ? error.code : 'EIO';
    this.#recorder.append({ ...this.#whose, type: 'jail', status: 'failed', facts: { ...this.#facts, error: code } });
  }

  get #facts() {
    const { id, origin, resolved } = this.#jail;
    return { keptJail: id, origin, authority: resolved.digest };
  }

  /** What an earlier command left went on until this limit. */
  limitReached(reason: string): void {
    const facts = { keptJail: this.#jail.id, reason: `${reason}; the kept jail was ended` };
    this.#recorder.append({ ...this.#whose, type: 'limit', status: 'failed', facts });
  }

  /** Where no command runs, or several do, a connection is the kept jail's. */
  get connections(): ConnectionListener {
    return {
      opened: (event) => this.#connection(openedEntry(this.#whose, this.#opener, event)),
      ended: (event) => this.#connection(endedEntry(this.#whose, this.#opener, event)),
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

/** What this host cannot do, a limit of memory for one, refuses a kept jail before it begins: that is in the record. */
export async function recordedLack<T>(
  { recorder }: Pick<Host, 'recorder'>,
  { origin }: Pick<Place, 'origin'>,
  { agent, digest }: Pick<ResolvedAuthority, 'agent' | 'digest'>,
  make: () => Promise<T>,
): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof ErrnoError && error.code === 'ENOTSUP') {
      const facts = { origin, authority: digest, error: error.code, reason: error.reason };
      const whose = { object: `workspace/${origin}`, agent: agent?.name };
      recorder.append({ ...whose, type: 'jail', status: 'denied', layer: 'proxy', facts });
    }
    throw error;
  }
}
