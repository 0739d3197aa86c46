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

export type RecordFault =
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
  readonly fault: RecordFault;
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

export type RecordVisit = (body: Body, head: string, where: Where) => void;

const newline = 0x0a;

type Finding = Pick<ReplayProblem, 'fault' | 'text'>;

/** What a record that follows by its digest has to be besides. */
interface Expected {
  readonly chain: string;
  readonly seq: number;
  /** Of the record before it. */
  readonly ts: string;
  readonly isFirstOfSegment: boolean;
}

function faultOf(body: Body, { chain, seq, ts, isFirstOfSegment }: Expected): Finding | undefined {
  const { type, facts } = body;
  if (body.seq !== seq) return { fault: 'number', text: `expected number ${seq}, found ${body.seq}` };
  const agent = agentOfChain(chain);
  if (body.agent !== agent) return { fault: 'fields', text: `expected agent ${JSON.stringify(agent)}` };
  const opens = type === types.open;
  if (opens !== isFirstOfSegment) {
    return { fault: 'segment', text: `expected ${types.open} as the first record of a segment, and there only` };
  }
  if (opens && (facts?.['chain'] !== chain || facts['format'] !== formatVersion)) {
    const said = `chain ${JSON.stringify(facts?.['chain'])}, format ${facts?.['format']}`;
    return { fault: 'wrong chain', text: `its segment says that it is of ${said}` };
  }
  if (body.ts < ts && type !== types.clock) {
    return { fault: 'clock', text: `its time ${body.ts} is before that of the record before it, ${ts}` };
  }
  return undefined;
}

function notesOf({ type, ts, facts }: Body, before: string): readonly Finding[] {
  const found: Finding[] = [];
  if (ts < before) found.push({ fault: 'clock', text: `the clock was set back from ${before} to ${ts}` });
  if (type === types.torn) {
    found.push({
      fault: 'torn',
      text: `${facts?.['bytes']} bytes of a torn end were set aside as ${facts?.['file']}`,
    });
  }
  return found;
}

/**
 * Plain records, which are not refusals and not about the record itself, are visited only where `wants` says so of
 * their number; without it, all are.
 */
export function replay(
  reader: RecordReader,
  chain: string,
  hasher: Hasher,
  visit: RecordVisit,
  wants: (seq: number) => boolean = () => true,
): Replayed {
  const segments = reader.files(chain).filter((name) => firstSeqOf(name) !== undefined);
  const plain = new PlainBodies(agentOfChain(chain));
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
  const at = (segment: string, line: number, fault: RecordFault, text: string): ReplayProblem => ({
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
      const problem = (fault: RecordFault, text: string) => result(at(segment, line, fault, text));
      if (closed) return problem('segment', 'a record follows the end of its segment');
      if (end < 0) {
        notes.push(
          at(
            segment,
            line,
            'torn',
            `${content.length - start} bytes at the end are not a whole record: a crash, or records were cut off`,
          ),
        );
        break;
      }
      if (!isLine(content, start, end)) return problem('malformed', 'this line is not a record');
      if (!hasher.follows(previous, view, start, end)) {
        return problem(
          'changed',
          'its digest does not match: it was changed, or a record before it was removed or moved',
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
      const found = faultOf(body, { chain, seq: seq + 1, ts, isFirstOfSegment: line === 1 });
      if (found !== undefined) return problem(found.fault, found.text);
      const where: Where = { chain, segment, line, seq: body.seq };
      notes.push(...notesOf(body, ts).map((note) => ({ ...where, ...note })));
      closed = body.type === types.close;
      last = content;
      lastAt = start;
      seq = body.seq;
      ts = body.ts;
      visit(body, headText(), where);
      start = end + 1;
    }
    if (line === 0) notes.push(at(segment, 1, 'torn', 'the segment is empty: a crash, or records were cut off'));
  }
  if (closed && seq > 0) {
    const text = 'the last segment was ended and no other was begun: a crash, a full disk, or records were cut off';
    notes.push(at(segmentName(seq + 1), 1, 'missing', text));
  }
  if (seq === 0) return result(at(segmentName(1), 1, 'missing', 'the chain has no record'));
  return result();
}
