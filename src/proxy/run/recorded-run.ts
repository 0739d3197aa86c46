/**
 * A run and its record: that it begins before it does, its limits as they are reached, how it ended and what it was refused.
 * What the run says of itself goes into every envelope, whatever it ran on.
 */
import type { RecordEntry } from '../../audit/record.js';
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
  readonly whose: Pick<RecordEntry, 'object' | 'agent' | 'parent' | 'session'>;
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

export interface RunAndSeen<Seen> {
  readonly report: RunReport;
  readonly seen: Seen;
  readonly heldCaches: readonly HeldCache[];
  /** What could not be written of it, in words. */
  readonly unwritten: readonly string[];
}

/**
 * After the command has run, its report is worth more than what is written about it: a full disk, which may be the command's
 * own doing, is said in the report. That it began is in the record already.
 */
function keepGoing<T>(warnings: string[], what: string, write: () => T): T | undefined {
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

/** `look` is asked after the run what it did, for the record and for the envelope. */
export async function recordedRun<Seen>(
  host: Host,
  { run: name, note, whose, facts: given, onLimit, signal: cancelled }: Recorded,
  run: (events: LimitEvents, onConnection: ConnectionListener) => Promise<JailRun>,
  look: () => Promise<{ readonly seen: Seen; readonly facts: Facts }>,
): Promise<RunAndSeen<Seen>> {
  const { recorder } = host;
  const startedAt = host.now();
  const facts: Facts = { ...given, run: name };
  const last: LastRun = { run: name, agent: whose.agent ?? null };
  const fail = (error: string) => {
    recorder.append({ ...whose, type: 'exec', status: 'failed', facts: { ...facts, error } });
    note.end(last);
  };
  note.begin(last);
  recorder.append({ ...whose, type: 'exec', status: 'begin', facts });
  if (cancelled?.aborted === true) {
    fail('ECANCELED');
    throw new ErrnoError('ECANCELED', { operation: 'exec', reason: 'interrupted before the command started' });
  }
  const unwritten: string[] = [];
  const events = new LimitEvents(host.now, (event) => {
    const status = event.percent === 100 ? 'denied' : 'ok';
    keepGoing(unwritten, 'a limit', () => recorder.append({ ...whose, type: 'limit', status, facts: { ...event } }));
    onLimit?.(event);
  });
  const connected = (entry: RecordEntry) => void keepGoing(unwritten, 'a connection', () => recorder.append(entry));
  const onConnection: ConnectionListener = {
    opened: (event) => connected(openedEntry(whose, name, event)),
    ended: (event) => connected(endedEntry(whose, name, event)),
  };
  const ran = await run(events, onConnection).catch((error: unknown) => {
    fail(error instanceof ErrnoError ? error.code : 'EIO');
    throw error;
  });
  const { seen, facts: did } = await look();
  const { timedOut, connections, limitsReached } = ran;
  const { exitCode, signal, refusedCalls, crowded: _crowded, outputError, heldCaches = [], ...resources } = ran.outcome;
  const refusals = refusalsOf(refusedCalls, host.architecture);
  const ended: RecordEntry = {
    ...whose,
    type: 'exec',
    status: exitCode === 0 ? 'ok' : 'failed',
    facts: {
      ...facts,
      exitCode,
      signal,
      timedOut,
      ...(outputError === undefined ? {} : { outputError: { ...outputError } }),
      ...did,
      ...outputsOf(ran),
      refusals: refusals.map(({ call, count, firstAt, lastAt }) => ({ call, count, firstAt, lastAt })),
      connections: connections.map(({ verdict, host: name, port, count }) => `${verdict} ${name}:${port} ${count}`),
      limitsReached,
    },
  };
  const receipt = keepGoing(unwritten, 'how it ended', () => recorder.append(ended));
  if (receipt !== undefined) keepGoing(unwritten, 'that it ended', () => note.end(last));
  for (const denial of denialsOf(whose, refusals)) {
    keepGoing(unwritten, 'what it was refused', () => recorder.append(denial));
  }
  const report: RunReport = {
    run: name,
    exitCode,
    signal,
    timedOut,
    ...(outputError === undefined ? {} : { outputError }),
    stdout: ran.stdout,
    stderr: ran.stderr,
    startedAt: startedAt.toISOString(),
    durationMilliseconds: ran.durationMilliseconds,
    resources,
    refusals,
    connections,
    limitEvents: events.all,
    limitsReached,
    record: receipt?.seq === undefined ? null : { chain: receipt.chain, seq: receipt.seq },
  };
  return { report, seen, heldCaches, unwritten };
}
