/**
 * One chain, replayed from its genesis: every line, every head, every number, in order. Stops at the first record that is not what
 * it has to be, since nothing behind it can be trusted. Pure over a reader.
 */
import { canonicalJson, type Json } from '../base/canonical-json.js';
import { type Body, bodyOffset, formatVersion, genesisHead, type Hasher, isLine, types } from './format.js';
import { agentOfChain, firstSeqOf, segmentName } from './layout.js';
import type { RecordReader } from './reader.js';
import { layers, statuses } from './record.js';

export type Fault =
  | 'missing'
  | 'malformed'
  | 'changed'
  | 'number'
  | 'not canonical'
  | 'fields'
  | 'wrong chain'
  | 'clock'
  | 'segment'
  | 'torn';

export interface Where {
  readonly chain: string;
  readonly segment: string;
  /** From 1. */
  readonly line: number;
  readonly seq: number;
}

export interface ReplayProblem extends Where {
  readonly fault: Fault;
  readonly text: string;
}

export interface Replayed {
  readonly records: number;
  readonly bytes: number;
  readonly head: string;
  readonly seq: number;
  readonly problem: ReplayProblem | undefined;
  /** Things a reader has to know that break nothing: the clock, torn ends. */
  readonly notes: readonly ReplayProblem[];
}

export type Visit = (body: Body, head: string, where: Where) => void;

const newline = 0x0a;
const bodyKeys = new Set(['agent', 'count', 'facts', 'layer', 'object', 'seq', 'session', 'status', 'ts', 'type']);
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function isSorted(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(isSorted);
  let before = '';
  let first = true;
  for (const key in value) {
    if (!first && key <= before) return false;
    first = false;
    before = key;
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof member === 'object' && member !== null && !isSorted(member)) return false;
  }
  return true;
}

/** Quick where it is canonical, exact where it looks as if it were not: integer-like keys come in another order from JSON.parse. */
function isCanonical(value: Json, text: string): boolean {
  if (JSON.stringify(value) === text && isSorted(value)) return true;
  return canonicalJson(value) === text;
}

function fieldFault(body: Body, chain: string): string | undefined {
  for (const key in body) if (!bodyKeys.has(key)) return `there is no member ${JSON.stringify(key)}`;
  if (body.agent !== agentOfChain(chain)) return `expected agent ${JSON.stringify(agentOfChain(chain))}`;
  if (typeof body.object !== 'string' || typeof body.type !== 'string') return 'expected object and type as texts';
  if (body.session !== null && typeof body.session !== 'string') return 'expected session as a text or null';
  if (!statuses.includes(body.status)) return `expected a status of ${statuses.join(', ')}`;
  if (typeof body.ts !== 'string' || !timestamp.test(body.ts)) return 'expected ts as a time in UTC';
  if (body.layer !== undefined && !layers.includes(body.layer)) return `expected a layer of ${layers.join(', ')}`;
  if (body.count !== undefined && !(Number.isSafeInteger(body.count) && body.count > 0))
    return 'expected a count from 1';
  if (
    body.facts !== undefined &&
    (body.facts === null || typeof body.facts !== 'object' || Array.isArray(body.facts))
  ) {
    return 'expected facts as an object';
  }
  if (body.status === 'denied' && body.layer === undefined) return 'expected a refusal to name its layer';
  return undefined;
}

export function replay(reader: RecordReader, chain: string, hasher: Hasher, visit: Visit): Replayed {
  const segments = reader.files(chain).filter((name) => firstSeqOf(name) !== undefined);
  const notes: ReplayProblem[] = [];
  let head = genesisHead;
  const previous = Buffer.from(genesisHead, 'hex');
  let seq = 0;
  let ts = '';
  let bytes = 0;
  let closed = true;
  const result = (problem?: ReplayProblem): Replayed => ({ records: seq, bytes, head, seq, problem, notes });
  const at = (segment: string, line: number, fault: Fault, text: string): ReplayProblem => ({
    chain,
    segment,
    line,
    seq: seq + 1,
    fault,
    text,
  });

  for (const segment of segments) {
    if (!closed)
      return result(at(segment, 1, 'segment', 'the segment before it was not ended: its last records are missing'));
    if (segment !== segmentName(seq + 1)) {
      return result(
        at(segment, 1, 'missing', `expected segment ${segmentName(seq + 1)}: records are missing before this one`),
      );
    }
    closed = false;
    const content = reader.read(chain, segment);
    bytes += content.length;
    let line = 0;
    for (let start = 0; start < content.length; ) {
      line += 1;
      const end = content.indexOf(newline, start);
      const problem = (fault: Fault, text: string) => result(at(segment, line, fault, text));
      if (closed) return problem('segment', 'a record stands behind the end of its segment');
      if (end < 0) {
        notes.push(
          at(
            segment,
            line,
            'torn',
            `${content.length - start} bytes at the end are no whole record: a crash, or a cut`,
          ),
        );
        break;
      }
      if (!isLine(content, start, end)) return problem('malformed', 'this is no line of a record');
      if (!hasher.follows(previous, content, start, end)) {
        return problem(
          'changed',
          'its digest does not follow: it was changed, or a record before it was dropped or moved',
        );
      }
      const text = content.toString('utf8', start + bodyOffset, end - 1);
      let body: Body;
      try {
        body = JSON.parse(text) as Body;
      } catch {
        return problem('malformed', 'its body is not JSON');
      }
      if (!isCanonical(body as unknown as Json, text))
        return problem('not canonical', 'its body is not canonical JSON');
      if (body.seq !== seq + 1) return problem('number', `expected number ${seq + 1}, found ${body.seq}`);
      const fault = fieldFault(body, chain);
      if (fault !== undefined) return problem('fields', fault);
      const opens = body.type === types.open;
      if (opens !== (line === 1))
        return problem('segment', `expected ${types.open} as the first record of a segment, and there only`);
      if (opens && (body.facts?.['chain'] !== chain || body.facts['format'] !== formatVersion)) {
        return problem(
          'wrong chain',
          `its segment says that it is of chain ${JSON.stringify(body.facts?.['chain'])}, format ${body.facts?.['format']}`,
        );
      }
      const where: Where = { chain, segment, line, seq: body.seq };
      if (body.ts < ts) {
        if (body.type !== types.clock)
          return problem('clock', `its time ${body.ts} is before that of the record before it, ${ts}`);
        notes.push({ ...where, fault: 'clock', text: `the clock was set back from ${ts} to ${body.ts}` });
      }
      if (body.type === types.torn) {
        notes.push({
          ...where,
          fault: 'torn',
          text: `${body.facts?.['bytes']} bytes of a torn end were kept aside as ${body.facts?.['file']}`,
        });
      }
      closed = body.type === types.close;
      head = content.toString('latin1', start + 2, start + 66);
      seq = body.seq;
      ts = body.ts;
      visit(body, head, where);
      start = end + 1;
    }
    if (line === 0) notes.push(at(segment, 1, 'torn', 'the segment is empty: a crash, or a cut'));
  }
  if (closed && seq > 0) {
    return result(at(segmentName(seq + 1), 1, 'missing', 'the last segment says that another follows: it is missing'));
  }
  if (seq === 0) return result(at(segmentName(1), 1, 'missing', 'the chain has no record'));
  return result();
}
