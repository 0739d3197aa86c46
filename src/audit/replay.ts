/**
 * One chain, replayed from its genesis: every line, every head, every number, in order. Stops at the first record that is not what
 * it has to be, since nothing behind it can be trusted. Pure over a reader.
 */
import {
  type Body,
  bodyOffset,
  formatVersion,
  genesisHead,
  type Hasher,
  isLine,
  types,
  viewOf,
  wordsOf,
} from './format.js';
import { agentOfChain, firstSeqOf, segmentName } from './layout.js';
import { parseBody } from './parse-body.js';
import { PlainBodies } from './plain-body.js';
import type { RecordReader } from './reader.js';

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

/**
 * Plain records, which are no refusals and not about the record itself, are visited only where `wants` says so of their
 * number; without it, all are.
 */
export function replay(
  reader: RecordReader,
  chain: string,
  hasher: Hasher,
  visit: Visit,
  wants: (seq: number) => boolean = () => true,
): Replayed {
  const segments = reader.files(chain).filter((name) => firstSeqOf(name) !== undefined);
  const agent = agentOfChain(chain);
  const plain = new PlainBodies(agent);
  const notes: ReplayProblem[] = [];
  const previous = wordsOf(genesisHead);
  // The last record that was good, whose head is made a text where somebody asks.
  let last: Buffer | undefined;
  let lastAt = 0;
  const headText = () => last?.toString('latin1', lastAt + 2, lastAt + 66) ?? genesisHead;
  let seq = 0;
  let ts = '';
  let bytes = 0;
  let closed = true;
  const result = (problem?: ReplayProblem): Replayed => ({
    records: seq,
    bytes,
    head: headText(),
    seq,
    problem,
    notes,
  });
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
    const view = viewOf(content);
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
      if (!hasher.follows(previous, view, start, end)) {
        return problem(
          'changed',
          'its digest does not follow: it was changed, or a record before it was dropped or moved',
        );
      }
      // Whatever is not plain, or not right, is read the long way, which says what it is.
      const isPlain =
        line > 1 && plain.read(content, start + bodyOffset, end - 1) && plain.seq === seq + 1 && plain.ts >= ts;
      if (isPlain && !wants(seq + 1)) {
        last = content;
        lastAt = start;
        seq += 1;
        ts = plain.ts;
        start = end + 1;
        continue;
      }
      const body = parseBody(content, start + bodyOffset, end - 1);
      if ('fault' in body) return problem(body.fault, body.text);
      if (body.seq !== seq + 1) return problem('number', `expected number ${seq + 1}, found ${body.seq}`);
      if (body.agent !== agent) return problem('fields', `expected agent ${JSON.stringify(agent)}`);
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
      last = content;
      lastAt = start;
      seq = body.seq;
      ts = body.ts;
      visit(body, headText(), where);
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
