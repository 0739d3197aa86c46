/** Refs as files: which names come home, and what may be in them. Pure. */

/** Loose files of these, and lines of packed-refs. A stash is a ref as well, and what people expect to find. */
const coming = /^refs\/(?:heads|tags|remotes)\/[\s\S]|^refs\/stash$/;

const forbidden = /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/$|\.$|^@$/;

export function isRefName(name: string): boolean {
  if (forbidden.test(name)) return false;
  return name.split('/').every((part) => part !== '' && !part.startsWith('.') && !/\.lock$/i.test(part));
}

export const isComingRef = (name: string) => coming.test(name) && isRefName(name);

const object = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The object that a line names. */
export function objectId(text: string): string | undefined {
  const line = text.endsWith('\n') ? text.slice(0, -1) : text;
  return object.test(line) ? line : undefined;
}

/** The ref that a symbolic one names. */
export function symbolicTarget(text: string): string | undefined {
  const [, name] = /^ref: ([^\n]+)\n?$/.exec(text) ?? [];
  return name !== undefined && isRefName(name) ? name : undefined;
}

/** Undefined where a line is none that git writes. */
export function parsePackedRefs(text: string): ReadonlyMap<string, string> | undefined {
  const found = new Map<string, string>();
  if (text !== '' && !text.endsWith('\n')) return undefined;
  for (const line of text.split('\n').slice(0, -1)) {
    // What a tag points to is git's to find again.
    if (line.startsWith('#') || /^\^[0-9a-f]{40,64}$/.test(line)) continue;
    const [, id = '', name = ''] = /^([0-9a-f]{40,64}) (.+)$/.exec(line) ?? [];
    if (!object.test(id) || !isRefName(name) || found.has(name)) return undefined;
    found.set(name, id);
  }
  return found;
}

export interface MergedRefs {
  readonly text: string;
  /** Names of the fork's that stay in the fork. */
  readonly leftOut: readonly string[];
  /** Objects that the coming names have now and had not before. */
  readonly ids: readonly (readonly [name: string, id: string])[];
}

/** The person's, with the fork's word for the names that come home. */
export function mergePackedRefs(person: ReadonlyMap<string, string>, fork: ReadonlyMap<string, string>): MergedRefs {
  const kept = [...person].filter(([name]) => !isComingRef(name));
  const taken = [...fork].filter(([name]) => isComingRef(name));
  const leftOut = [...fork].filter(([name, id]) => !isComingRef(name) && person.get(name) !== id).map(([name]) => name);
  const lines = [...kept, ...taken].map(([name, id]) => `${id} ${name}\n`);
  const byName = (line: string) => line.slice(line.indexOf(' ') + 1);
  lines.sort((left, right) => (byName(left) < byName(right) ? -1 : 1));
  return {
    text: `# pack-refs with: sorted \n${lines.join('')}`,
    leftOut,
    ids: taken.filter(([name, id]) => person.get(name) !== id),
  };
}

const logLine = /^[0-9a-f]{40,64} [0-9a-f]{40,64} [^\n<>]*<[^\n<>]*> \d+ [+-]\d{4}(?:\t[^\n]*)?$/;

/** Lines of a reflog as git writes them. */
export function isReflog(text: string): boolean {
  return (
    text === '' ||
    (text.endsWith('\n') &&
      text
        .slice(0, -1)
        .split('\n')
        .every((line) => logLine.test(line)))
  );
}
