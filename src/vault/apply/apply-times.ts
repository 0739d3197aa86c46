/**
 * The times of what is written to a person's directory. There it changes now, whenever the fork wrote it: what was built from
 * the old one meanwhile is out of date. So all of it gets later times, in the order the fork has them (docs/times.md).
 *
 * A product is the other way round: made later than a source, it would count as built from it. Where the person has changed any
 * source since the product was made, it keeps the time it was made at. Where their directory keeps another version of a source
 * than the fork has, a product of the fork comes home older than that.
 */
import { productsIn } from '../git/products.js';
import type { Change, FileTime, Step, Tree, TreeStep } from '../tree/tree.js';
import { inTrees, singleSteps, walkerPath } from './whole-trees.js';

export interface Writing {
  /** The person's directory. */
  readonly root: string;
  /** Trees that the steps put from, topmost first, and what those lie on. */
  readonly uppers: readonly string[];
  readonly lowers: readonly string[];
  readonly steps: readonly Step[];
  /** Files whose time alone differs: given theirs. */
  readonly touched: readonly string[];
  /** Paths whose content is as it was: only modes or owners are written. */
  readonly sameContent?: ReadonlySet<string> | undefined;
  /** Of the same trees, where they were asked before (`countingTimes`). */
  readonly listed?: readonly FileTime[] | undefined;
  /** What stays behind, and is given times in the same order elsewhere. */
  readonly held: readonly string[];
  /** Paths at which the fork has something else than the person will: what is held back, or was decided for their version. */
  readonly left: readonly string[];
}

/** Steps for `Tree.apply`, and its `before`. */
export interface TimedPlan {
  readonly plan: readonly TreeStep[];
  readonly before?: bigint | undefined;
}

/** Files that the fork has as the person does, but for their times. */
export const touchedOf = (times: readonly FileTime[]): readonly string[] =>
  times.filter(({ state, modified, before }) => state === 'same' && modified !== before).map(({ path }) => path);

const isGitData = (path: string) => path === '.git' || path.startsWith('.git/') || path.includes('/.git/');

/** When the person last changed a source that is not written, by the kernel's own clock. */
async function lastEdit(tree: Tree, root: string, isOther: (path: string) => boolean): Promise<bigint> {
  const entries = await tree.diff({ uppers: [root], lowers: [], pastClosed: true });
  let last = 0n;
  for (const { path, type, stamp } of entries) {
    if (type !== 'file' || !isOther(path)) continue;
    const changed = BigInt(stamp.slice(stamp.indexOf('.') + 1));
    if (changed > last) last = changed;
  }
  return last;
}

/** The oldest time of these sources in the person's directory: what was built inside was built from others. */
async function oldestOf(tree: Tree, root: string, sources: ReadonlySet<string>): Promise<bigint | undefined> {
  if (sources.size === 0) return undefined;
  const files = await tree.times({ uppers: [root], lowers: [], pastClosed: true });
  const times = files.filter(({ path }) => sources.has(path)).map(({ modified }) => modified);
  return times.reduce<bigint | undefined>(
    (oldest, time) => (oldest === undefined || time < oldest ? time : oldest),
    undefined,
  );
}

interface DatedProducts {
  readonly paths: ReadonlySet<string>;
  readonly before?: bigint | undefined;
}

/** Products that do not come home as new. */
async function datedProducts(tree: Tree, writing: Writing): Promise<DatedProducts> {
  const { root, uppers, lowers, steps, touched, left } = writing;
  const isProduct = productsIn(root);
  const products = new Set<string>();
  for (const { action, path } of steps) if (action === 'put' && isProduct(path)) products.add(path);
  const made = steps.filter(({ action, tree: whole }) => action === 'put' && whole?.products === true);
  const names = await tree.names(
    uppers,
    made.map(({ path }) => path),
  );
  for (const path of names) if (isProduct(path)) products.add(path);
  for (const path of touched) if (isProduct(path)) products.add(path);
  if (products.size === 0) return { paths: products };
  const isSource = (path: string) => !isGitData(path) && !isProduct(path);
  const before = await oldestOf(tree, root, new Set(left.filter(isSource)));
  if (before !== undefined) return { paths: products, before };
  const written = new Set([...steps.map(({ path }) => path), ...touched]);
  const treeOf = inTrees(steps);
  const isWritten = (path: string) => written.has(path) || treeOf(path) !== undefined;
  const edited = await lastEdit(tree, root, (path) => !isWritten(path) && isSource(path));
  const older = (await tree.times({ uppers, lowers })).filter(({ modified }) => modified <= edited);
  return { paths: new Set(older.flatMap(({ path }) => (products.has(path) ? [path] : []))) };
}

interface Unmoved {
  /** Names that the person has already, of files that the fork gave further names. */
  readonly known: readonly string[];
  /** What is written without a change of content or time: another mode, or a further name. */
  readonly kept: ReadonlySet<string>;
}

/** Changes that leave the content as it was. */
export const sameContentOf = (changes: readonly Change[]): ReadonlySet<string> =>
  new Set(changes.filter(({ content }) => !content).map(({ path }) => path));

/** Those that decide whether an entry keeps its time: a list of new files has none. */
export const countingTimes = (times: readonly FileTime[], sameContent: ReadonlySet<string>): readonly FileTime[] =>
  times.filter(({ path, state, links }) => links !== undefined || state === 'same' || sameContent.has(path));

async function unmovedOf(tree: Tree, { uppers, lowers, steps, sameContent, ...known }: Writing): Promise<Unmoved> {
  const ask = () => (lowers.length === 0 ? [] : tree.times({ uppers, lowers, known: true }));
  const listed = known.listed ?? (await ask());
  if (listed.length === 0) return { known: [], kept: new Set() };
  const put = new Set<string>();
  const puts = steps.filter(({ action }) => action === 'put');
  for (const { path } of puts) put.add(path);
  const treeOf = inTrees(puts);
  const isPut = (path: string) => put.has(path) || treeOf(path) !== undefined;
  const times = listed.filter(({ path, state }) => isPut(path) || state === 'same');
  const wanted = new Set(times.flatMap(({ path, links }) => (links !== undefined && isPut(path) ? [links] : [])));
  const isKnown = ({ state, links }: FileTime) => state === 'same' && links !== undefined && wanted.has(links);
  const had = times.filter(isKnown);
  const still = new Set(had.flatMap(({ modified, before, links }) => (modified === before ? [links] : [])));
  const isKept = ({ path, modified, before, links }: FileTime) =>
    links === undefined ? sameContent?.has(path) === true && modified === before : still.has(links);
  const kept = times.filter((each) => isPut(each.path) && isKept(each)).map(({ path }) => path);
  return { known: had.map(({ path }) => path), kept: new Set(kept) };
}

export async function timedPlan(tree: Tree, writing: Writing): Promise<TimedPlan> {
  const dated = await datedProducts(tree, writing);
  const { known, kept } = await unmovedOf(tree, writing);
  const actionOf = ({ action, path }: Step) => (kept.has(path) ? 'keep' : dated.paths.has(path) ? 'age' : action);
  // A tree in which some come with another time is put one by one.
  const treeOf = inTrees(writing.steps);
  const mixed = new Set([...kept, ...dated.paths].map(treeOf));
  const isMixed = ({ action, path }: Step) => action === 'put' && mixed.has(path);
  const steps = await singleSteps(tree, { put: writing.uppers, remove: [] }, writing.steps, isMixed);
  // Of a product of which only the time would come home nothing does: an older one is what it has there.
  const touched = writing.touched.filter((path) => !dated.paths.has(path));
  const plan = [
    ...known.map((path): TreeStep => ({ action: 'know', path })),
    ...steps.map((step): TreeStep => {
      const action = actionOf(step);
      return action === step.action && step.tree === undefined ? step : { action, path: walkerPath(step) };
    }),
    ...touched.map((path): TreeStep => ({ action: 'touch', path })),
    ...writing.held.map((path): TreeStep => ({ action: 'weigh', path })),
  ];
  return { plan, before: dated.before };
}
