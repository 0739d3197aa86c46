/**
 * The plain map that the store is held against: paths and what is at them. Everything here is pure and naive on
 * purpose: sets of paths, compared one by one, and not a word of layers.
 */

export type Entry =
  | { readonly type: 'd'; readonly mode: number }
  /** A linked file has another name: what a write through one of them does to the other is not the map's to say. */
  | { readonly type: 'f'; readonly mode: number; readonly text: string; readonly linked: boolean }
  | { readonly type: 'l'; readonly to: string }
  | { readonly type: 'p'; readonly mode: number };
export type Model = ReadonlyMap<string, Entry>;

export function shape(entry: Entry | undefined): string {
  if (entry === undefined) return 'nothing';
  if (entry.type === 'l') return `l ${entry.to}`;
  const mode = entry.mode.toString(8);
  return entry.type === 'f' ? `f ${mode} ${entry.text}` : `${entry.type} ${mode}`;
}

/** For people, and for comparing. */
export function shapes(model: Model): Readonly<Record<string, string>> {
  return Object.fromEntries([...model].map(([path, entry]) => [path, shape(entry)] as const).sort());
}

export const isBelow = (path: string, top: string): boolean => path.startsWith(`${top}/`);
export const isAtOrBelow = (path: string, top: string): boolean => path === top || isBelow(path, top);
const isDirectory = (model: Model, path: string) => path === '' || model.get(path)?.type === 'd';

export function parentOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}

function ancestorsOf(path: string): string[] {
  const parent = parentOf(path);
  return parent === '' ? [] : [...ancestorsOf(parent), parent];
}

/** Paths at which the two differ. */
export function difference(before: Model, later: Model): string[] {
  const all = new Set([...before.keys(), ...later.keys()]);
  return [...all].filter((path) => shape(before.get(path)) !== shape(later.get(path))).sort();
}

/** Paths, and whatever either map has below them. */
export function withBelow(paths: readonly string[], ...models: readonly Model[]): string[] {
  const all = new Set([...paths, ...models.flatMap((model) => [...model.keys()])]);
  return [...all].filter((path) => paths.some((top) => isAtOrBelow(path, top))).sort();
}

/**
 * `view`, with what `source` has at these paths: nothing is below what is not a directory, and what is there has its
 * parents.
 */
export function withPaths(view: Model, source: Model, paths: readonly string[]): Model {
  const next = new Map(view);
  for (const path of [...paths].sort()) {
    const entry = source.get(path);
    if (entry === undefined) next.delete(path);
    else next.set(path, entry);
    if (entry?.type !== 'd') for (const each of [...next.keys()]) if (isBelow(each, path)) next.delete(each);
    for (const parent of entry === undefined ? [] : ancestorsOf(path)) {
      const above = source.get(parent);
      if (!isDirectory(next, parent) && above !== undefined) next.set(parent, above);
    }
  }
  return next;
}

/** What a fork shows on a newer trunk: its own version where it changed something, the person's everywhere else. */
export function adopted(fork: Model, base: Model, trunk: Model): Model {
  return withPaths(trunk, fork, difference(base, fork));
}

/** Whether two changes at these paths meet: at one path, or where one decides whether the other's directory is there. */
function doMeet(one: string, other: string, mine: Model, theirs: Model): boolean {
  const [outer, inner] = one.length < other.length ? [one, other] : [other, one];
  const isFree = isDirectory(mine, outer) && isDirectory(theirs, outer);
  return one === other || (isBelow(inner, outer) && !isFree);
}

/** Of the paths that entered, those that may be called a clash: what the fork changed there or around decides over them. */
export function possibleClashes(entered: readonly string[], view: Model, trunk: Model): string[] {
  const changed = difference(trunk, view);
  return entered.filter((path) => changed.some((other) => doMeet(path, other, view, trunk)));
}

/** Of the paths that entered, those that the fork shows otherwise: no one may write them without having been told. */
export function clashesOf(entered: readonly string[], view: Model, trunk: Model): string[] {
  const changed = new Set(difference(trunk, view));
  return entered.filter((path) => changed.has(path));
}

export interface Choices {
  readonly conflicts: 'refuse' | 'ours' | 'theirs';
  readonly ours: readonly string[];
  readonly theirs: readonly string[];
  readonly only?: readonly string[] | undefined;
  readonly allowSensitive: boolean;
}

export interface Outcome {
  readonly done: boolean;
  /** The person's directory afterwards. */
  readonly origin: Model;
  /** What the fork shows afterwards. */
  readonly fork: Model;
  readonly written: readonly string[];
}

/** The one name among those of the model that is sensitive. */
export const sensitiveName = '.envrc';

/**
 * What an apply may not do without what stays: a directory that keeps something cannot go, and nothing can be written
 * into what is not a directory.
 */
function stayingWith(stays: ReadonlySet<string>, changes: readonly string[], tree: Model, origin: Model): Set<string> {
  const all = new Set(stays);
  const holds = (path: string) =>
    !isDirectory(tree, path) && changes.some((other) => isBelow(other, path) && all.has(other));
  const isCutOff = (path: string) =>
    tree.has(path) && changes.some((other) => isBelow(path, other) && all.has(other) && !isDirectory(origin, other));
  for (let size = -1; size !== all.size; ) {
    size = all.size;
    for (const path of changes) if (holds(path) || isCutOff(path)) all.add(path);
  }
  return all;
}

/** `origin` is what the trunk has too: the person's edits have entered. */
export function applyOutcome(tree: Model, origin: Model, clashes: readonly string[], choices: Choices): Outcome {
  const changes = difference(origin, tree);
  const { ours, theirs, only } = choices;
  const among = (path: string, tops: readonly string[]) => tops.some((top) => isAtOrBelow(path, top));
  // A pipe, a file of that name, and a new file in a new directory of that name.
  const isSensitive = (path: string) => {
    const type = tree.get(path)?.type;
    if (type === undefined || type === 'd') return false;
    const isHidden = (each: string) => each.split('/').at(-1) === sensitiveName;
    const isInNew = !origin.has(path) && ancestorsOf(path).some((each) => isHidden(each) && !origin.has(each));
    return type === 'p' || isHidden(path) || isInNew;
  };
  const isWanted = (path: string) =>
    (only === undefined || among(path, only)) && (choices.allowSensitive || !isSensitive(path));
  const isNeeded = (path: string) =>
    isDirectory(tree, path) &&
    !isDirectory(origin, path) &&
    changes.some((other) => isBelow(other, path) && tree.has(other) && isWanted(other));
  const unwanted = new Set(changes.filter((path) => !isWanted(path) && !isNeeded(path)));
  const held = stayingWith(unwanted, changes, tree, origin);
  const open = clashes.filter((path) => shape(tree.get(path)) !== shape(origin.get(path)));
  const met = changes.filter((path) => !held.has(path) && open.some((other) => doMeet(path, other, tree, origin)));
  // From the path up: the first that was named for a side decides. One that was named for both decides nothing.
  const sideOf = (path: string): 'ours' | 'theirs' | undefined => {
    for (const each of [path, ...ancestorsOf(path).reverse()]) {
      if (ours.includes(each) !== theirs.includes(each)) return ours.includes(each) ? 'ours' : 'theirs';
      if (ours.includes(each)) return undefined;
    }
    return undefined;
  };
  const mine = met.filter((path) => (sideOf(path) ?? choices.conflicts) === 'ours');
  const kept = stayingWith(new Set(mine), changes, tree, origin);
  const undecided = met.filter((path) => !kept.has(path) && sideOf(path) === undefined);
  if (choices.conflicts === 'refuse' && undecided.length > 0) return { done: false, origin, fork: tree, written: [] };
  const written = changes.filter((path) => !held.has(path) && !kept.has(path));
  const after = withPaths(origin, tree, written);
  return { done: true, origin: after, fork: withPaths(after, tree, [...held]), written };
}
