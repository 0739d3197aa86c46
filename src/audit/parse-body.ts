/**
 * A body read strictly: canonical JSON, the members that there are, each of its kind. Members are in one order, so one
 * expression takes a body apart, and only `facts` is parsed: a verifier reads millions. Whatever the expression does
 * not take is read the long way, which says what is wrong with it.
 */
import { canonicalJson, type Json } from '../base/canonical-json.js';
import { hasCode } from '../base/errno.js';
import { JsonDepthError } from '../base/json-depth.js';
import { isRecord, parseJson } from '../base/shape.js';
import type { Body } from './format.js';
import { layers, type RecordStatus, type RefusalLayer, statuses } from './record.js';

const string = '"(?:[^"\\\\\\u0000-\\u001f]|\\\\.)*"';
const shape = new RegExp(
  `^\\{"agent":(null|${string})(?:,"count":([1-9]\\d{0,14}))?(?:,"facts":(\\{.*\\}))?(?:,"layer":"(${layers.join('|')})")?` +
    `,"object":(${string}),"seq":([1-9]\\d{0,14}),"session":(null|${string}),"status":"(${statuses.join('|')})"` +
    `,"ts":"(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z)","type":(${string})\\}$`,
  's',
);

export interface BodyFault {
  readonly fault: 'malformed' | 'not canonical' | 'fields';
  readonly text: string;
}

function isSorted(value: object): boolean {
  if (Array.isArray(value)) return value.every((each) => typeof each !== 'object' || each === null || isSorted(each));
  let before: string | undefined;
  for (const key in value) {
    if (before !== undefined && key <= before) return false;
    before = key;
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof member === 'object' && member !== null && !isSorted(member)) return false;
  }
  return true;
}

/** Quick where it is canonical, exact where it looks as if it were not: integer-like keys come in another order from JSON.parse. */
function isCanonical(value: Json, text: string): boolean {
  if (typeof value === 'object' && value !== null && JSON.stringify(value) === text && isSorted(value)) return true;
  return canonicalJson(value) === text;
}

/** The text that a JSON string stands for; undefined where it could be written in another way. */
function stringOf(written: string): string | undefined {
  if (!written.includes('\\')) return written.slice(1, -1);
  const value = parseJson(written);
  return typeof value === 'string' && JSON.stringify(value) === written ? value : undefined;
}

const isFacts = (value: Json): value is NonNullable<Body['facts']> => isRecord(value);

function factsOf(written: string): Body['facts'] {
  const value = parseJson(written);
  return isFacts(value) ? value : undefined;
}

function quickly(text: string): Body | undefined {
  const found = shape.exec(text);
  if (found === null) return undefined;
  const [, agent = '', count, facts, layer, object = '', seq, session = '', status, ts = '', type = ''] = found;
  const agentText = agent === 'null' ? null : stringOf(agent);
  const sessionText = session === 'null' ? null : stringOf(session);
  const objectText = stringOf(object);
  const typeText = stringOf(type);
  if (objectText === undefined || typeText === undefined) return undefined;
  if (agentText === undefined || sessionText === undefined) return undefined;
  const parsed = facts === undefined ? undefined : factsOf(facts);
  if (facts !== undefined && (parsed === undefined || !isCanonical(parsed, facts))) return undefined;
  const rest = {
    object: objectText,
    seq: Number(seq),
    session: sessionText,
    status: status as RecordStatus,
    ts,
    type: typeText,
  };
  if (count === undefined && layer === undefined) {
    return parsed === undefined ? { agent: agentText, ...rest } : { agent: agentText, facts: parsed, ...rest };
  }
  return {
    agent: agentText,
    ...(count === undefined ? {} : { count: Number(count) }),
    ...(parsed === undefined ? {} : { facts: parsed }),
    ...(layer === undefined ? {} : { layer: layer as RefusalLayer }),
    ...rest,
  };
}

const members = new Set(['agent', 'count', 'facts', 'layer', 'object', 'seq', 'session', 'status', 'ts', 'type']);

/** Of a body that the expression did not take. */
function faultOf(value: Json, text: string): BodyFault {
  if (!isCanonical(value, text)) return { fault: 'not canonical', text: 'its body is not canonical JSON' };
  const fields = (reason: string): BodyFault => ({ fault: 'fields', text: reason });
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return fields('expected an object');
  const unknown = Object.keys(value).find((key) => !members.has(key));
  if (unknown !== undefined) return fields(`there is no member ${JSON.stringify(unknown)}`);
  return fields('expected agent, object, seq, session, status, ts and type, each with a value of the right type');
}

/** `bytes` from `from` to `end`. */
export function parseBody(bytes: Buffer, from: number, end: number): Body | BodyFault {
  const text = bytes.toString('utf8', from, end);
  // What is not UTF-8 was read as this character, which a text may hold as well.
  if (text.includes('\ufffd') && !Buffer.from(text).equals(bytes.subarray(from, end))) {
    return { fault: 'malformed', text: 'its body is not UTF-8' };
  }
  try {
    const body = quickly(text);
    if (body === undefined) return faultOf(parseJson(text), text);
    if (body.status === 'denied' && body.layer === undefined) {
      return { fault: 'fields', text: 'expected a refusal to name its layer' };
    }
    return body;
  } catch (error) {
    // A number beyond all numbers, or nested more deeply than we write, or than can be looked at.
    const isStrange = error instanceof JsonDepthError || error instanceof RangeError || hasCode(error, 'EINVAL');
    if (!isStrange && error instanceof SyntaxError) return { fault: 'malformed', text: 'its body is not JSON' };
    if (!isStrange) throw error;
    return { fault: 'not canonical', text: 'its body has a value that canonical JSON does not have' };
  }
}
