/**
 * A run and its record: that it begins before it does, its limits as they are reached, how it ended and what it was refused.
 * What the run says of itself goes into every envelope, whatever it ran on.
 */
import type { Receipt, RecordEntry } from '../../audit/record.js';
import type { Json } from '../../base/canonical-json.js';
import { ErrnoError } from '../../base/errno.js';
import type { HeldCache } from '../../jail/report.js';
import type { Host } from '../host.js';
import { type ConnectionListener, endedEntry, openedEntry } from '../report/connection-records.js';
import { denialsOf } from '../report/denials.js';
import type { Envelope } from '../report/envelope.js';
import type { LastRun, RunNote } from '../report/last-run.js';
import { type LimitEvent, LimitEvents } from '../report/limit-events.js';
import { refusalsOf } from '../report/refusals.js';
import type { JailRun } from './run.js';

export type Facts = Readonly<Record<string, Json>>;

export interface Recorded {
  /** Its name, in every record of it. */
  readonly run: string;
  readonly note: RunNote;
  readonly whose: Pick<RecordEntry, 'object' | 'agent' | 'parent'>;
  readonly facts: Facts;
  readonly onLimit?: ((event: LimitEvent) => void) | undefined;
  /** Cancels it, until it has begun. */
  readonly signal?: AbortSignal | undefined;
}

export type RunReport = Pick<
  Envelope,
  | 'run'
  | 'exitCode'
  | 'signal'
  | 'timedOut'
  | 'outputError'
  | 'limitError'
  | 'stdout'
  | 'stderr'
  | 'startedAt'
  | 'durationMilliseconds'
  | 'resources'
  | 'refusals'
  | 'connections'
  | 'limitEvents'
  | 'limitsReached'
  | 'record'
>;

export interface EndedRun {
  readonly report: RunReport;
  readonly heldCaches: readonly HeldCache[];
  /** What could not be written of it, in words. */
  readonly unwritten: readonly string[];
}

/**
 * After the command has run, its report is worth more than what is written about it: a full disk, which may be the command's
 * own doing, is said in the report. That it began is in the record already.
 */
export function keepGoing<T>(warnings: string[], what: string, write: () => T): T | undefined {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    warnings.push(`could not write ${what}: ${error.reason} (${error.code})`);
    return undefined;
  }
}

/** Where what a report has no room for was kept; nothing where there is no such file. */
function outputsOf({ stdout, stderr }: Pick<JailRun, 'stdout' | 'stderr'>): Facts {
  const files = Object.entries({ stdout, stderr }).flatMap(([name, stream]): (readonly [string, Json])[] =>
    stream?.file === undefined ? [] : [[name, { ...stream.file }]],
  );
  return files.length === 0 ? {} : { outputs: Object.fromEntries(files) };
}

/** One run in the record, from its beginning to its end. */
export class RecordedRun {
  readonly events: LimitEvents;
  readonly connections: ConnectionListener;
  readonly #host: Host;
  readonly #recorded: Recorded;
  readonly #facts: Facts;
  readonly #last: LastRun;
  readonly #startedAt: Date;
  readonly #unwritten: string[] = [];

  private constructor(host: Host, recorded: Recorded) {
    const { run, whose, facts, onLimit } = recorded;
    this.#host = host;
    this.#recorded = recorded;
    this.#facts = { ...facts, run };
    this.#last = { run, agent: whose.agent ?? null };
    this.#startedAt = host.now();
    this.events = new LimitEvents(host.now, (event) => {
      const status = event.percent === 100 ? 'denied' : 'ok';
      this.#write('a limit', { ...whose, type: 'limit', status, facts: { ...event } });
      onLimit?.(event);
    });
    this.connections = {
      opened: (event) => void this.#write('a connection', openedEntry(whose, { run }, event)),
      ended: (event) => void this.#write('a connection', endedEntry(whose, { run }, event)),
    };
  }

  /** That it begins is written before it does. */
  static begin(host: Host, recorded: Recorded): RecordedRun {
    const begun = new RecordedRun(host, recorded);
    recorded.note.begin(begun.#last);
    try {
      host.recorder.append({ ...recorded.whose, type: 'exec', status: 'begin', facts: begun.#facts });
    } catch (error) {
      recorded.note.end(begun.#last);
      throw error;
    }
    if (recorded.signal?.aborted === true) {
      begun.#fail('ECANCELED');
      throw new ErrnoError('ECANCELED', { operation: 'exec', reason: 'interrupted before the command started' });
    }
    return begun;
  }

  /** The command did not run, or no one knows how it ended. */
  fail(error: unknown): void {
    this.#fail(error instanceof ErrnoError ? error.code : 'EIO');
  }

  #fail(error: string): void {
    const { whose, note } = this.#recorded;
    this.#host.recorder.append({ ...whose, type: 'exec', status: 'failed', facts: { ...this.#facts, error } });
    note.end(this.#last);
  }

  #write(what: string, entry: RecordEntry): Receipt | undefined {
    return keepGoing(this.#unwritten, what, () => this.#host.recorder.append(entry));
  }

  /** `did`: what was seen of it afterwards. */
  end(ran: JailRun, did: Facts): EndedRun {
    const { whose, note, run } = this.#recorded;
    const { timedOut, connections, limitsReached, limitError } = ran;
    const {
      exitCode,
      signal,
      refusedCalls,
      crowded: _crowded,
      outputError,
      heldCaches = [],
      ...resources
    } = ran.outcome;
    const refusals = refusalsOf(refusedCalls, this.#host.architecture);
    const receipt = this.#write('how it ended', {
      ...whose,
      type: 'exec',
      status: exitCode === 0 && limitError === undefined ? 'ok' : 'failed',
      facts: {
        ...this.#facts,
        exitCode,
        signal,
        timedOut,
        ...(outputError === undefined ? {} : { outputError: { ...outputError } }),
        ...did,
        ...outputsOf(ran),
        refusals: refusals.map(({ call, count, firstAt, lastAt }) => ({ call, count, firstAt, lastAt })),
        connections: connections.map(({ verdict, host, port, count }) => `${verdict} ${host}:${port} ${count}`),
        limitsReached,
        ...(limitError === undefined ? {} : { limitError: { ...limitError } }),
      },
    });
    if (receipt !== undefined) keepGoing(this.#unwritten, 'that it ended', () => note.end(this.#last));
    for (const denial of denialsOf(whose, refusals)) this.#write('what it was refused', denial);
    const report: RunReport = {
      run,
      exitCode,
      signal,
      timedOut,
      ...(outputError === undefined ? {} : { outputError }),
      ...(limitError === undefined ? {} : { limitError }),
      stdout: ran.stdout,
      stderr: ran.stderr,
      startedAt: this.#startedAt.toISOString(),
      durationMilliseconds: ran.durationMilliseconds,
      resources,
      refusals,
      connections,
      limitEvents: this.events.all,
      limitsReached,
      record: receipt?.seq === undefined ? null : { chain: receipt.chain, seq: receipt.seq },
    };
    return { report, heldCaches, unwritten: this.#unwritten };
  }
}
