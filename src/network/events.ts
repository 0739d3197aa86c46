/**
 * Connections as the report has them. Each attempt is told once: the first of its kind at once, repeats within a second
 * as one event with a count, so that a loop of refusals is a line and not a flood. Different kinds are bounded too:
 * beyond that they are counted together, under the host `*`.
 */
import { networkConnectionsTold, networkRepeatMilliseconds } from '../base/limits/network.js';

/** `https`: plain HTTP from the jail that the proxy sent on over TLS, with a secret added. */
export type NetworkProtocol = 'connect' | 'http' | 'https' | 'socks5' | 'unknown';

export interface ConnectionEvent {
  /** Canonical; empty where none could be read, `*` where several are counted together. */
  readonly host: string;
  readonly port: number;
  /** What was connected to, or what was refused after resolution. */
  readonly address: string | null;
  readonly protocol: NetworkProtocol;
  readonly verdict: 'allowed' | 'refused' | 'failed';
  readonly reason: string | null;
  /** Received from the host; summed over `count`, as are the next two. */
  readonly bytesIn: number;
  /** Sent to the host. */
  readonly bytesOut: number;
  readonly milliseconds: number;
  readonly count: number;
}

function keyOf({ host, port, address, protocol, verdict, reason }: ConnectionEvent): string {
  return JSON.stringify([host, port, address, protocol, verdict, reason]);
}

function sum(a: ConnectionEvent | undefined, b: ConnectionEvent): ConnectionEvent {
  if (a === undefined) return Object.freeze({ ...b });
  return Object.freeze({
    ...a,
    bytesIn: a.bytesIn + b.bytesIn,
    bytesOut: a.bytesOut + b.bytesOut,
    milliseconds: a.milliseconds + b.milliseconds,
    count: a.count + b.count,
  });
}

export class ConnectionLog {
  readonly #totals = new Map<string, ConnectionEvent>();
  readonly #repeats = new Map<string, ConnectionEvent>();
  readonly #onEvent: (event: ConnectionEvent) => void;
  readonly #kinds: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(onEvent: (event: ConnectionEvent) => void, kinds: number = networkConnectionsTold) {
    this.#onEvent = onEvent;
    this.#kinds = kinds;
  }

  add(event: ConnectionEvent): void {
    let told = event;
    let key = keyOf(event);
    if (!this.#totals.has(key) && this.#totals.size >= this.#kinds) {
      told = { ...event, host: '*', port: 0, address: null, protocol: 'unknown', reason: null };
      key = keyOf(told);
    }
    const isNew = !this.#totals.has(key);
    this.#totals.set(key, sum(this.#totals.get(key), told));
    if (isNew) {
      this.#onEvent(Object.freeze({ ...told }));
      return;
    }
    this.#repeats.set(key, sum(this.#repeats.get(key), told));
    this.#timer ??= setTimeout(() => this.flush(), networkRepeatMilliseconds).unref();
  }

  /** Tells the repeats that are due. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const repeats = [...this.#repeats.values()];
    this.#repeats.clear();
    for (const event of repeats) this.#onEvent(event);
  }

  /** Everything so far, repeats summed, in the order of first sight. */
  totals(): readonly ConnectionEvent[] {
    return Object.freeze([...this.#totals.values()]);
  }
}

/** One connection's facts as they become known: told when it is open, and once when it has ended. */
export class Attempt {
  host = '';
  port = 0;
  address: string | null = null;
  protocol: NetworkProtocol = 'unknown';
  verdict: ConnectionEvent['verdict'] = 'allowed';
  reason: string | null = null;
  /** Counts at the end; a socket keeps them after it is closed. */
  counted: { readonly bytesRead: number; readonly bytesWritten: number } | undefined;
  readonly #started = performance.now();
  readonly #log: ConnectionLog;
  readonly #openings: ConnectionLog;
  #told = false;

  constructor(log: ConnectionLog, openings: ConnectionLog) {
    this.#log = log;
    this.#openings = openings;
  }

  /** It is open: what is told at its end alone would be lost where no one lives to see the end. */
  tellOpen(): void {
    this.#openings.add(this.#event());
  }

  tell(): void {
    if (this.#told) return;
    this.#told = true;
    this.#log.add(this.#event());
  }

  #event(): ConnectionEvent {
    return {
      host: this.host,
      port: this.port,
      address: this.address,
      protocol: this.protocol,
      verdict: this.verdict,
      reason: this.reason,
      bytesIn: this.counted?.bytesRead ?? 0,
      bytesOut: this.counted?.bytesWritten ?? 0,
      milliseconds: Math.round(performance.now() - this.#started),
      count: 1,
    };
  }
}
