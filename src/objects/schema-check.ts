/**
 * Values against the part of JSON Schema that tools use: `type properties required additionalProperties items enum const minimum maximum
 * exclusiveMinimum minLength maxLength maxItems`, and `$ref` to a part of the same schema. A schema that asks for more is refused as a
 * whole: what is not checked would be promised. Words that only describe (`description title default examples $schema`) are passed over.
 * Pure.
 */

import { ErrnoError } from '../base/errno.js';
import { parseJson } from '../base/shape.js';
import { isNaming, namedParts, referenceFault, referred } from './schema-references.js';

export type Schema = Readonly<Record<string, unknown>>;

const describing = ['description', 'title', 'default', 'examples', '$schema', '$id', '$comment', 'format'];
const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

export function isRecord(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isCount = (value: unknown) => typeof value === 'number' && Number.isInteger(value) && value >= 0;
const isNumber = (value: unknown) => typeof value === 'number';
const isStrings = (value: unknown) => Array.isArray(value) && value.every((each) => typeof each === 'string');

/** Which values of a schema's words are understood. */
const words: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) => [value].flat().every((each) => typeof each === 'string' && types.includes(each)),
  properties: isRecord,
  required: isStrings,
  additionalProperties: (value) => typeof value === 'boolean' || isRecord(value),
  items: isRecord,
  enum: Array.isArray,
  const: () => true,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  minLength: isCount,
  maxLength: isCount,
  maxItems: isCount,
};

/** What of a schema cannot be checked, with its place; undefined where all of it can. */
export function schemaFault(schema: unknown): string | undefined {
  const fault = partFault(schema, '', isRecord(schema) ? schema : {});
  if (fault !== undefined || !isRecord(schema)) return fault;
  return [...namedParts(schema)].flatMap(([name, part]) => partFault(part, name, schema) ?? [])[0];
}

function partFault(schema: unknown, at: string, root: Schema): string | undefined {
  const place = at === '' ? 'the schema' : at;
  if (!isRecord(schema)) return `${place}: expected an object`;
  for (const [word, value] of Object.entries(schema)) {
    if (describing.includes(word) || (isNaming(word) && schema === root && isRecord(value))) continue;
    if (word === '$ref') {
      const fault = referenceFault(value, root);
      if (fault !== undefined) return `${place}: ${fault}`;
      continue;
    }
    const known = Object.hasOwn(words, word) ? words[word] : undefined;
    if (known === undefined)
      return `${place}: ${word} is not supported; supported are ${Object.keys(words).join(', ')}, $ref`;
    if (!known(value)) return `${place}: the value of ${word} is not valid`;
  }
  const {
    properties = {},
    items,
    additionalProperties,
  } = schema as { properties?: Schema; items?: unknown; additionalProperties?: unknown };
  for (const [name, inner] of Object.entries(properties)) {
    const fault = partFault(inner, `${at}/${name}`, root);
    if (fault !== undefined) return fault;
  }
  const inner = [items, isRecord(additionalProperties) ? additionalProperties : undefined];
  return inner.flatMap((each) => (each === undefined ? [] : (partFault(each, `${at}/*`, root) ?? [])))[0];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function hasType(value: unknown, type: string): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function numberFault(value: number, schema: Schema): string | undefined {
  const { minimum, maximum, exclusiveMinimum } = schema as Readonly<Record<string, number | undefined>>;
  if (minimum !== undefined && value < minimum) return `at least ${minimum}`;
  if (maximum !== undefined && value > maximum) return `at most ${maximum}`;
  return exclusiveMinimum !== undefined && value <= exclusiveMinimum ? `more than ${exclusiveMinimum}` : undefined;
}

function lengthFault(value: string, schema: Schema): string | undefined {
  const { minLength, maxLength } = schema as Readonly<Record<string, number | undefined>>;
  if (minLength !== undefined && value.length < minLength) return `at least ${minLength} characters`;
  return maxLength !== undefined && value.length > maxLength ? `at most ${maxLength} characters` : undefined;
}

function membersFault(value: Schema, schema: Schema, at: string, root: Schema): string | undefined {
  const {
    properties = {},
    required = [],
    additionalProperties = true,
  } = schema as {
    properties?: Readonly<Record<string, Schema>>;
    required?: readonly string[];
    additionalProperties?: boolean | Schema;
  };
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${at}/${missing}: required, but missing`;
  for (const [name, member] of Object.entries(value)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (own === false) return `${at}/${name}: unknown member; valid members: ${Object.keys(properties).join(', ')}`;
    const fault = typeof own === 'object' ? valueFault(member, own, `${at}/${name}`, root) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Where a value is not what its schema says, and what was expected; undefined where it is. */
export function valueFault(value: unknown, schema: Schema, at = '', root = schema): string | undefined {
  const place = at === '' ? 'the input' : at;
  const named = referred(schema, root);
  const unnamed = named === undefined ? undefined : valueFault(value, named, at, root);
  if (unnamed !== undefined) return unnamed;
  const { type, items, maxItems } = schema as { type?: string | string[]; items?: Schema; maxItems?: number };
  const kinds = [type ?? []].flat();
  if (kinds.length > 0 && !kinds.some((kind) => hasType(value, kind))) {
    return `${place}: expected ${kinds.join(' or ')}, got ${typeOf(value)}`;
  }
  if (Array.isArray(schema['enum']) && !schema['enum'].some((each) => isSame(each, value))) {
    return `${place}: expected one of ${JSON.stringify(schema['enum'])}`;
  }
  if ('const' in schema && !isSame(schema['const'], value))
    return `${place}: expected ${JSON.stringify(schema['const'])}`;
  const bound =
    typeof value === 'number'
      ? numberFault(value, schema)
      : typeof value === 'string'
        ? lengthFault(value, schema)
        : undefined;
  if (bound !== undefined) return `${place}: expected ${bound}`;
  if (Array.isArray(value)) {
    if (maxItems !== undefined && value.length > maxItems) return `${place}: expected at most ${maxItems} items`;
    return items === undefined
      ? undefined
      : value.flatMap((each, index) => valueFault(each, items, `${at}/${index}`, root) ?? [])[0];
  }
  return isRecord(value) ? membersFault(value, schema, at, root) : undefined;
}

/** The input of a call as its tool's schema says. EINVAL */
export function checkedInput(tool: string, text: string, schema: Schema): Schema {
  const refuse = (reason: string): never => {
    throw new ErrnoError('EINVAL', {
      operation: tool,
      reason,
      remedy: `its schema says what it takes: cat /ctx/tool/${tool}.d/schema, or outside of a jail ctx tool show ${tool}`,
    });
  };
  let value: unknown;
  try {
    value = text.trim() === '' ? {} : parseJson(text);
  } catch (error) {
    return refuse(`expected JSON: ${error instanceof Error ? error.message : 'not JSON'}`);
  }
  if (!isRecord(value)) return refuse(`expected a JSON object, got ${typeOf(value)}`);
  const fault = valueFault(value, schema);
  return fault === undefined ? value : refuse(fault);
}

/**
 * Of a schema of somebody else's, what is understood here: the rest is its author's to check. Less is asked for by it,
 * never more; where `$ref` is, or other words say which members there may be, nothing is asked for that they could
 * allow.
 */
export function checkablePart(schema: Schema): Schema {
  if ('$ref' in schema || '$dynamicRef' in schema) return {};
  const part: Record<string, unknown> = {};
  for (const [word, value] of Object.entries(schema)) {
    const known = Object.hasOwn(words, word) ? words[word] : undefined;
    if (known?.(value) === true) part[word] = value;
  }
  const { properties, items, additionalProperties } = part as {
    properties?: Schema;
    items?: Schema;
    additionalProperties?: unknown;
  };
  const inner = (value: unknown): Schema => (isRecord(value) ? checkablePart(value) : {});
  if (properties !== undefined) {
    part['properties'] = Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, inner(value)]));
  }
  if (items !== undefined) part['items'] = 'prefixItems' in schema ? {} : inner(items);
  if (isRecord(additionalProperties)) part['additionalProperties'] = inner(additionalProperties);
  if ('patternProperties' in schema) delete part['additionalProperties'];
  return part;
}
