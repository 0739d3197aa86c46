/** Runs as the record has them: what began and how it ended, put together, and what was denied. Pure over records. */
import type { Body } from '../audit/format.js';
import type { FoundRecord } from '../audit/query.js';
import type { Json } from '../base/canonical-json.js';

interface Position {
  readonly chain: string;
  readonly seq: number;
}

export interface InspectedRun {
  /** Of a command that was denied, which has no name: the place of its record, `CHAIN:NUMBER`. */
  readonly run: string;
  /** `open`: it has no end in the record, so it is under way, or was killed and no one has opened its fork since. */
  readonly state: 'open' | 'ended' | 'failed' | 'interrupted' | 'denied';
  readonly object: string;
  readonly agent: string | null;
  readonly session: string | null;
  readonly begunAt: string;
  readonly endedAt: string | null;
  readonly record: { readonly begin: Position; readonly end: Position | null };
  /** What the last record of it says: argv, decision, changes, exit code and the rest. */
  readonly facts: NonNullable<Body['facts']>;
}

function stateOf(end: Body | undefined): InspectedRun['state'] {
  if (end === undefined) return 'open';
  if (end.facts?.['interrupted'] === true) return 'interrupted';
  return end.facts?.['error'] === undefined ? 'ended' : 'failed';
}

function nameOf({ body }: FoundRecord): string | undefined {
  const run: Json | undefined = body.type === 'exec' ? body.facts?.['run'] : undefined;
  return typeof run === 'string' ? run : undefined;
}

/** A command that was refused before it began. */
function deniedRun({ chain, body }: FoundRecord): InspectedRun | undefined {
  const { type, status, seq, ts, object, agent, session, facts = {} } = body;
  const { argv } = facts;
  if (type !== 'exec' || status !== 'denied' || !Array.isArray(argv) || argv.length === 0) return undefined;
  const at = { chain, seq };
  const record = { begin: at, end: at };
  return { run: `${chain}:${seq}`, state: 'denied', object, agent, session, begunAt: ts, endedAt: ts, record, facts };
}

/** What was denied, in the order of `records`. */
export function deniedIn(records: Iterable<FoundRecord>): readonly InspectedRun[] {
  return [...records].flatMap((record) => deniedRun(record) ?? []);
}

/** Of those that begin in `records`, in that order. */
export function runsOf(records: Iterable<FoundRecord>): readonly InspectedRun[] {
  const found = new Map<string, { begin: FoundRecord; end?: FoundRecord }>();
  for (const record of records) {
    const name = nameOf(record);
    if (name === undefined) continue;
    const known = found.get(name);
    if (record.body.status === 'begin') found.set(name, { begin: record });
    else if (known !== undefined) known.end = record;
  }
  return [...found].map(([run, { begin, end }]) => {
    const { object, agent, session, ts } = begin.body;
    const { run: _run, ...facts } = end?.body.facts ?? begin.body.facts ?? {};
    const at = ({ chain, body }: FoundRecord): Position => ({ chain, seq: body.seq });
    return {
      run,
      state: stateOf(end?.body),
      object,
      agent,
      session,
      begunAt: ts,
      endedAt: end?.body.ts ?? null,
      record: { begin: at(begin), end: end === undefined ? null : at(end) },
      facts,
    };
  });
}
