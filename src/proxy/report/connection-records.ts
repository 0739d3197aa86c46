/**
 * Connections in the record, as they happen: that one was opened, that one has ended with so many bytes, that one was
 * refused. A process that is killed meanwhile has lost the last second's at most (networkRepeatMilliseconds).
 */
import type { RecordEntry } from '../../audit/record.js';
import type { ConnectionEvent } from '../../network/events.js';

/** Whose chain they belong to. */
export type Whose = Pick<RecordEntry, 'object' | 'agent' | 'parent'>;

export interface ConnectionListener {
  opened(event: ConnectionEvent): void;
  ended(event: ConnectionEvent): void;
}

const endings = { allowed: 'ok', refused: 'denied', failed: 'failed' } as const;

/** What opened it: a run, or a kept jail while none of its commands ran, or several did. */
export type Opener = { readonly run: string } | { readonly run: null; readonly keptJail: string };

export function openedEntry(whose: Whose, by: Opener, event: ConnectionEvent): RecordEntry {
  const { host, port, address, protocol, count } = event;
  return { ...whose, type: 'connect', status: 'begin', count, facts: { ...by, host, port, address, protocol } };
}

export function endedEntry(whose: Whose, by: Opener, event: ConnectionEvent): RecordEntry {
  const { verdict, count, ...facts } = event;
  const layer = verdict === 'refused' ? ({ layer: 'network' } as const) : {};
  return { ...whose, type: 'connect', status: endings[verdict], ...layer, count, facts: { ...by, ...facts } };
}

/** Told of each connection: the one command that runs, or the kept jail where none does, or several. */
export class ConnectionRouter implements ConnectionListener {
  readonly #keptJail: ConnectionListener;
  readonly #commands = new Set<ConnectionListener>();

  constructor(keptJail: ConnectionListener) {
    this.#keptJail = keptJail;
  }

  /** The command's, until what is returned is called. */
  attribute(command: ConnectionListener): () => void {
    this.#commands.add(command);
    return () => void this.#commands.delete(command);
  }

  opened(event: ConnectionEvent): void {
    this.#listener().opened(event);
  }

  ended(event: ConnectionEvent): void {
    this.#listener().ended(event);
  }

  #listener(): ConnectionListener {
    const [only, ...others] = this.#commands;
    return only === undefined || others.length > 0 ? this.#keptJail : only;
  }
}
