/**
 * JSON as text with places: every value knows where it is, so that one part of a file can be changed and the rest stays
 * as it is, byte for byte. Stricter than `JSON.parse`: a key that is there twice and deep nesting are refused, since
 * two readers could take them for different values.
 */
import { ErrnoError } from '../base/errno.js';
import { jsonNesting } from '../base/limits/decisions.js';
import { visible } from '../base/visible-text.js';

interface Placed {
  readonly start: number;
  readonly end: number;
}

export interface JsonMember extends Placed {
  readonly key: string;
  readonly value: JsonNode;
}

export type JsonNode = Placed &
  (
    | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
    | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
    | { readonly kind: 'scalar'; readonly value: string | number | boolean | null }
  );

const blank = /[ \t\n\r]*/y;
const word = /(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)/y;

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonNode {
    const value = this.#value(0);
    this.#skipBlank();
    if (this.#at < this.#text.length) this.#refuse('the end');
    return value;
  }

  #refuse(expected: string): never {
    throw new ErrnoError('EINVAL', {
      operation: 'read JSON',
      reason: `expected ${expected} at character ${this.#at + 1}`,
    });
  }

  #skipBlank(): void {
    blank.lastIndex = this.#at;
    blank.test(this.#text);
    this.#at = blank.lastIndex;
  }

  /** Takes `character` where it is next. */
  #take(character: string): boolean {
    this.#skipBlank();
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #value(depth: number): JsonNode {
    if (depth > jsonNesting) this.#refuse(`at most ${jsonNesting} levels of nesting`);
    this.#skipBlank();
    const start = this.#at;
    if (this.#take('{')) return this.#object(start, depth);
    if (this.#take('[')) return this.#array(start, depth);
    const value = this.#text[start] === '"' ? this.#string() : this.#word();
    return { kind: 'scalar', value, start, end: this.#at };
  }

  #object(start: number, depth: number): JsonNode {
    const members = new Map<string, JsonMember>();
    if (this.#take('}')) return { kind: 'object', members: [], start, end: this.#at };
    do {
      this.#skipBlank();
      const place = this.#at;
      if (this.#text[place] !== '"') this.#refuse('a key');
      const key = this.#string();
      if (members.has(key)) this.#refuse(`each key once, not "${visible(key.slice(0, 80))}" again,`);
      if (!this.#take(':')) this.#refuse('`:`');
      const value = this.#value(depth + 1);
      members.set(key, { key, value, start: place, end: this.#at });
    } while (this.#take(','));
    if (!this.#take('}')) this.#refuse('`,` or `}`');
    return { kind: 'object', members: [...members.values()], start, end: this.#at };
  }

  #array(start: number, depth: number): JsonNode {
    const items: JsonNode[] = [];
    if (this.#take(']')) return { kind: 'array', items, start, end: this.#at };
    do items.push(this.#value(depth + 1));
    while (this.#take(','));
    if (!this.#take(']')) this.#refuse('`,` or `]`');
    return { kind: 'array', items, start, end: this.#at };
  }

  #word(): number | boolean | null {
    word.lastIndex = this.#at;
    const found = word.exec(this.#text)?.[0];
    if (found === undefined) return this.#refuse('a value');
    this.#at += found.length;
    return JSON.parse(found);
  }

  #string(): string {
    const end = this.#endOfString(this.#at + 1);
    try {
      const value: string = JSON.parse(this.#text.slice(this.#at, end));
      this.#at = end;
      return value;
    } catch {
      // Its message quotes the text, which may be hostile.
      return this.#refuse('a string without raw control characters and unknown escapes');
    }
  }

  /** After the first quote from `from` on that is not escaped; not a regular expression, which a long string exhausts. */
  #endOfString(from: number): number {
    for (let at = from; ; ) {
      const quote = this.#text.indexOf('"', at);
      if (quote < 0) return this.#refuse('a string that ends');
      let slashes = 0;
      while (quote - 1 - slashes >= from && this.#text[quote - 1 - slashes] === '\\') slashes += 1;
      if (slashes % 2 === 0) return quote + 1;
      at = quote + 1;
    }
  }
}

export function parseJsonText(text: string): JsonNode {
  return new Reader(text).document();
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonRecord;
export interface JsonRecord {
  readonly [key: string]: JsonValue;
}

/** The plain value. Objects have no prototype, so that a key is there or is not. */
export function plainValue(node: JsonNode): JsonValue {
  switch (node.kind) {
    case 'scalar':
      return node.value;
    case 'array':
      return Object.freeze(node.items.map(plainValue));
    case 'object': {
      const record: Record<string, JsonValue> = Object.create(null);
      for (const { key, value } of node.members) record[key] = plainValue(value);
      return Object.freeze(record);
    }
  }
}

export function isRecord(value: JsonValue | undefined): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function memberOf(node: JsonNode | undefined, key: string): JsonNode | undefined {
  return node?.kind === 'object' ? node.members.find((member) => member.key === key)?.value : undefined;
}
