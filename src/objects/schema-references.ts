/**
 * Parts of a schema that are named once and used in several places: `$defs` at its top, and `$ref` to one of them, as generators of
 * schemas write them. Nothing outside of the schema is referred to. Pure.
 */

type Schema = Readonly<Record<string, unknown>>;

const places = ['$defs', 'definitions'] as const;
const reference = /^#\/(\$defs|definitions)\/([^/~%]+)$/;

/** Named parts of a schema, by what refers to them. A part that is not an object is one too: checking it says so. */
export function namedParts(root: Schema): ReadonlyMap<string, unknown> {
  const named = places.flatMap((place) => {
    const parts = root[place];
    if (typeof parts !== 'object' || parts === null) return [];
    return Object.entries(parts).map(([name, part]) => [`#/${place}/${name}`, part] as const);
  });
  return new Map(named);
}

export function isNaming(word: string): boolean {
  return places.some((place) => place === word);
}

/** Undefined where it refers to a part of this schema, and not to itself in a circle. */
export function referenceFault(ref: unknown, root: Schema): string | undefined {
  if (typeof ref !== 'string' || !reference.test(ref)) {
    return `expected $ref to be #/$defs/NAME, got ${JSON.stringify(ref)}`;
  }
  const parts = namedParts(root);
  const followed = new Set<unknown>();
  for (let at: unknown = ref; at !== undefined; at = (parts.get(at as string) as Schema | undefined)?.['$ref']) {
    if (followed.has(at)) return `${ref} refers to itself`;
    if (typeof at !== 'string' || !parts.has(at)) return `the schema has no ${String(at)}`;
    followed.add(at);
  }
  return undefined;
}

/** What a schema refers to; undefined where it refers to nothing. It has been checked. */
export function referred(schema: Schema, root: Schema): Schema | undefined {
  const ref = schema['$ref'];
  return typeof ref === 'string' ? (namedParts(root).get(ref) as Schema | undefined) : undefined;
}
