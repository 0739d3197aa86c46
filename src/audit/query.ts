/** Records by what they say. Reads, and does not verify: `verify` does. Pure over a reader. */
import type { Json } from '../base/canonical-json.js';
import { anything, having, integer, mapOf, nullable, oneOf, optional, parsedAs, text } from '../base/shape.js';
import { type Body, bodyOffset, statedHead } from './format.js';
import { agentOfChain, firstSeqOf, hostChain } from './layout.js';
import type { RecordReader } from './reader.js';
import { layers, statuses } from './record.js';

export interface FoundRecord {
  readonly chain: string;
  readonly head: string;
  readonly body: Body;
}

export interface Query {
  readonly agent?: string | undefined;
  readonly session?: string | undefined;
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  /** A path that the record names, or one below it. */
  readonly path?: string | undefined;
  /** ISO times in UTC. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

const bodyShape = having({
  agent: nullable(text),
  count: optional(integer(1)),
  facts: optional(mapOf(anything)),
  layer: optional(oneOf(...layers)),
  object: text,
  seq: integer(1),
  session: nullable(text),
  status: oneOf(...statuses),
  ts: text,
  type: text,
});

/** Every line that can be read, in order. */
export function* recordsIn(reader: RecordReader, chain: string): Generator<FoundRecord> {
  for (const file of reader.files(chain).filter((name) => firstSeqOf(name) !== undefined)) {
    const bytes = reader.read(chain, file);
    for (let start = 0, end = bytes.indexOf(10); end >= 0; start = end + 1, end = bytes.indexOf(10, start)) {
      const head = statedHead(bytes, start, end);
      if (head === undefined) continue;
      const body = parsedAs<Body>(bytes.toString('utf8', start + bodyOffset, end - 1), bodyShape);
      if (body !== undefined) yield { chain, head, body };
    }
  }
}

/** `put DIRECTORY/`, `remove DIRECTORY/`: it came, or went, with all that is in it. */
function namesTree(value: string, path: string): boolean {
  if (!value.endsWith('/')) return false;
  return path.startsWith(/^(?:put|remove) (.+)$/s.exec(value)?.[1] ?? `${path}/`);
}

/** `changed PATH`, `PATH`, or something below it; or a whole tree that the path is in. */
function namesPath(value: Json | undefined, path: string): boolean {
  if (typeof value === 'string') {
    // Wherever it is: a file named `mod` is in `modified mod` twice.
    for (let at = value.indexOf(path); at >= 0 && at < value.length; at = value.indexOf(path, at + 1)) {
      const before = value[at - 1];
      const after = value[at + path.length];
      const begins = before === undefined || before === ' ' || before === '/';
      if (begins && (after === undefined || after === '/')) return true;
    }
    return namesTree(value, path);
  }
  if (value === null || typeof value !== 'object') return false;
  return Object.values(value).some((each) => namesPath(each as Json, path));
}

export function matches({ body, chain }: FoundRecord, query: Query): boolean {
  if (query.agent !== undefined && agentOfChain(chain) !== query.agent) return false;
  if (query.session !== undefined && body.session !== query.session) return false;
  if (query.type !== undefined && body.type !== query.type && !body.type.startsWith(`${query.type}.`)) return false;
  if (query.status !== undefined && body.status !== query.status) return false;
  if (query.since !== undefined && body.ts < query.since) return false;
  if (query.until !== undefined && body.ts >= query.until) return false;
  return query.path === undefined || namesPath(body.facts, query.path) || namesPath(body.object, query.path);
}

/** With the time that it counts as of: a chain is in order, also where the clock was set back in the middle of it. */
function* timed(records: Iterable<FoundRecord>): Generator<{ readonly record: FoundRecord; readonly at: string }> {
  let at = '';
  for (const record of records) {
    if (record.body.ts > at) at = record.body.ts;
    yield { record, at };
  }
}

/** Of the chains that `mayRead`, in the order of time. */
export function find(
  reader: RecordReader,
  query: Query,
  mayRead: (chain: string) => boolean = () => true,
): readonly FoundRecord[] {
  const wanted =
    query.agent === undefined
      ? reader.chains()
      : reader.chains().filter((chain) => agentOfChain(chain) === query.agent);
  const found = wanted
    .filter(mayRead)
    .flatMap((chain) => [...timed(recordsIn(reader, chain))].filter(({ record }) => matches(record, query)));
  return found.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)).map(({ record }) => record);
}

/** What is about the record itself, and of no use to anyone who asks what happened. */
export function isBookkeeping({ chain, body }: FoundRecord): boolean {
  return chain === hostChain || body.type === 'audit.open' || body.type === 'audit.close';
}
