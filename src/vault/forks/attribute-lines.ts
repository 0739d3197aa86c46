/** How extended attributes differ between two sides, a line for each: git keeps none, so it has no form for them. Pure. */

/** `NAME=VALUE`, as the walker escapes them: no line breaks, no control characters. */
function byName(attributes: readonly string[] = []): ReadonlyMap<string, string> {
  return new Map(
    attributes.map((each) => {
      const end = each.indexOf('=');
      return [each.slice(0, end), each.slice(end + 1)] as const;
    }),
  );
}

export function attributeLines(
  before: readonly string[] | undefined,
  after: readonly string[] | undefined,
): readonly string[] {
  const [old, now] = [byName(before), byName(after)];
  return [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((name) => {
    const [was, is] = [old.get(name), now.get(name)];
    if (was === is) return [];
    if (is === undefined) return [`attribute ${name} removed, was '${was}'`];
    return [was === undefined ? `attribute ${name} added, '${is}'` : `attribute ${name} '${was}' -> '${is}'`];
  });
}
