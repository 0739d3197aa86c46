/**
 * A layer that, on top of one stack, shows at some paths what another stack shows there. By way of a plain directory: what is
 * wanted is written out, and taken over from there as the person's edits are.
 */
import { mkdirSync } from 'node:fs';
import { addParents } from './clashing.js';
import { copyTop } from './layer-pool.js';
import { topPath } from './root-paths.js';
import { throwAway } from './trash.js';
import type { Problem } from './tree.js';
import type { VaultAccess } from './vault.js';

export interface PathLayer {
  /** Trees of the stack whose content is wanted, topmost first. */
  readonly from: readonly string[];
  /** Trees of the stack it comes to lie on. */
  readonly over: readonly string[];
  /** Where the new layer's tree is made. */
  readonly into: string;
  /** Paths, and whatever is below them on either side. */
  readonly paths: readonly string[];
}

export async function makePathLayer(access: VaultAccess, layer: PathLayer): Promise<readonly Problem[]> {
  const { tree, store } = access;
  const { from, over, into, paths } = layer;
  const changes = await tree.diff({ uppers: from, lowers: over, whole: true });
  const wanted = changes.filter(
    ({ path }) => path !== topPath && paths.some((top) => path === top || path.startsWith(`${top}/`)),
  );
  const put = wanted.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path);
  // A directory that is common to both is made too: it has to be there for what it holds.
  const holding = new Set<string>();
  for (const { path } of wanted) addParents(path, holding);
  const needed = [...holding];
  const present = needed.length === 0 ? [] : await tree.read({ layers: from, paths: needed });
  const parents = needed.filter((_path, index) => present[index]?.type === 'other');
  const all = [...new Set([...parents, ...put])].sort((left, right) =>
    left.split('/').join('\0') < right.split('/').join('\0') ? -1 : 1,
  );
  // In the layer, which this fork's lock keeps: another directory's verbs may empty the trash meanwhile.
  const draft = `${into}.draft`;
  mkdirSync(draft, { mode: 0o700 });
  try {
    await tree.apply({ uppers: from, root: draft, plan: all.map((path) => ({ action: 'put', path })) });
    const problems = await tree.mirror({ root: draft, into, layers: over, paths: wanted.map(({ path }) => path) });
    copyTop(over[0], into);
    return problems;
  } finally {
    throwAway(store, draft);
  }
}
