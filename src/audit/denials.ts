/**
 * Refusals: counted where they happen, then recorded, and equal ones within a short time as one record with a count, so that
 * a loop of refusals fills no disk. Pure: state and entries in, state and entries out.
 *
 * The state is written before the records it expects (`intents`). After a crash between the two the next writer sees that a
 * record is missing and makes it up, so that what was counted and what is recorded are equal, always. A power cut may leave
 * out several: they stay among the `intents` until they are on the disk.
 */
import { canonicalJson } from '../base/canonical-json.js';
import { denialRepeatMilliseconds, denialsWatched } from '../base/limits/decisions.js';
import { anything, having, integer, list, mapOf, nullable, oneOf, optional, parsedAs, word } from '../base/shape.js';
import { types } from './format.js';
import { layers, type RecordEntry, type RefusalLayer, statuses } from './record.js';

export type Totals = Readonly<Partial<Record<RefusalLayer, number>>>;

/** A refusal that was recorded, and how often it came again since. */
interface Watched {
  readonly key: string;
  readonly since: number;
  readonly count: number;
  readonly entry: RecordEntry;
}

/** A record of refusals that is to be at `seq`, or is there and may not be on the disk yet. */
interface Intent {
  readonly seq: number;
  readonly layer: RefusalLayer;
  readonly count: number;
}

export interface DenialState {
  readonly version: 1;
  readonly totals: Totals;
  readonly watched: readonly Watched[];
  readonly intents: readonly Intent[];
}

export const noDenials: DenialState = { version: 1, totals: {}, watched: [], intents: [] };

function layerOf(entry: RecordEntry): RefusalLayer {
  return entry.layer ?? 'proxy';
}

function countOf(entry: RecordEntry): number {
  return entry.count ?? 1;
}

function sumOf(totals: Totals): number {
  return Object.values(totals).reduce((sum, count) => sum + count, 0);
}

/** Refusals that are counted and not in a record yet, in a chain that ends with record `seq`. */
export function waiting(state: DenialState, seq: number): Totals {
  const totals: Partial<Record<RefusalLayer, number>> = {};
  for (const intent of state.intents) {
    if (intent.seq > seq) totals[intent.layer] = (totals[intent.layer] ?? 0) + intent.count;
  }
  for (const { entry, count } of state.watched) {
    if (count > 0) totals[layerOf(entry)] = (totals[layerOf(entry)] ?? 0) + count;
  }
  return totals;
}

function keyOf(entry: RecordEntry): string {
  const { type, object, session = null, facts = {} } = entry;
  return canonicalJson([type, object, layerOf(entry), session, facts]);
}

/** 10, 100, 1,000 and so on: the largest that was passed between two totals. */
function thresholdPassed(before: number, after: number): number | undefined {
  let passed: number | undefined;
  for (let threshold = 10; threshold <= after; threshold *= 10) if (before < threshold) passed = threshold;
  return passed;
}

/** A parent's chain is told of these. */
export interface Notice {
  readonly parent: string;
  readonly entry: RecordEntry;
  /** Place of the refusal's record among `entries`. */
  readonly index: number;
}

export interface DenialPlan {
  readonly entries: readonly RecordEntry[];
  /** For each entry that was handed in, its place among `entries`; undefined where only its count was raised. */
  readonly places: readonly (number | undefined)[];
  readonly state: DenialState;
  readonly changed: boolean;
  readonly notices: readonly Notice[];
}

export interface DenialRequest {
  readonly state: DenialState;
  readonly entries: readonly RecordEntry[];
  /** The number of the last record. */
  readonly seq: number;
  /** Entries that go before all others, such as a torn end. */
  readonly first?: readonly RecordEntry[];
  readonly now: number;
  /** Record every repeat now, whatever its time. */
  readonly flush?: boolean;
}

export function planDenials({ state, entries, seq, first = [], now, flush = false }: DenialRequest): DenialPlan {
  const isQuiet = state.watched.length === 0 && state.intents.every((intent) => intent.seq <= seq);
  if (isQuiet && first.length === 0 && entries.every(({ status }) => status !== 'denied')) {
    return { entries, places: entries.map((_, index) => index), state, changed: false, notices: [] };
  }
  const out: RecordEntry[] = [...first];
  const intents: Intent[] = [];
  const notices: Notice[] = [];
  const totals: Partial<Record<RefusalLayer, number>> = { ...state.totals };
  let watched = [...state.watched];
  let changed = false;
  const record = (entry: RecordEntry): number => {
    const index = out.push(entry) - 1;
    intents.push({ seq: seq + index + 1, layer: layerOf(entry), count: countOf(entry) });
    if (entry.parent !== undefined) notices.push({ parent: entry.parent, entry, index });
    changed = true;
    return index;
  };
  const recordRepeats = ({ entry, count }: Watched): void => {
    if (count > 0) record({ ...entry, count, facts: { ...entry.facts, repeated: true } });
    changed = true;
  };

  for (const intent of state.intents) {
    const { seq: wanted, layer, count } = intent;
    if (wanted <= seq) intents.push(intent);
    else record({ type: types.recovered, object: `denials/${layer}`, status: 'denied', layer, count });
  }
  const isDue = ({ since }: Watched) => flush || now - since >= denialRepeatMilliseconds || now < since;
  for (const each of watched.filter(isDue)) recordRepeats(each);
  watched = watched.filter((each) => !isDue(each));

  const before = sumOf(totals);
  const places = entries.map((entry) => {
    if (entry.status !== 'denied') return out.push(entry) - 1;
    const layer = layerOf(entry);
    totals[layer] = (totals[layer] ?? 0) + countOf(entry);
    changed = true;
    const key = keyOf(entry);
    const at = watched.findIndex((each) => each.key === key);
    const known = watched[at];
    if (known !== undefined) {
      watched[at] = { ...known, count: known.count + countOf(entry) };
      return undefined;
    }
    const { durable: _durable, makesRoom: _makesRoom, count: _count, ...kept } = entry;
    watched.push({ key, since: now, count: 0, entry: { ...kept, layer } });
    if (watched.length > denialsWatched) {
      const oldest = watched.shift();
      if (oldest !== undefined) recordRepeats(oldest);
    }
    return record({ ...entry, layer });
  });
  const after = sumOf(totals);
  const threshold = thresholdPassed(before, after);
  if (threshold !== undefined) {
    out.push({ type: types.alert, object: 'denials', status: 'ok', facts: { denials: after, threshold } });
  }
  return { entries: out, places, state: { version: 1, totals, watched, intents }, changed, notices };
}

const layer = oneOf(...layers);
const entryShape = having({
  type: word,
  object: word,
  status: oneOf(...statuses),
  facts: optional(mapOf(anything)),
  agent: optional(nullable(word)),
  parent: optional(word),
  session: optional(nullable(word)),
  layer: optional(layer),
  count: optional(integer(1)),
});
const stateShape = having({
  version: integer(1, 1),
  totals: mapOf(integer(0)),
  watched: list(having({ key: word, since: integer(0), count: integer(0), entry: entryShape })),
  intents: list(having({ seq: integer(1), layer, count: integer(1) })),
});

export function parseDenials(text: string): DenialState | undefined {
  return parsedAs<DenialState>(text, stateShape);
}
