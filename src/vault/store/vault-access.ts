/** What every operation on a vault needs to have at hand. */

import type { Tree } from '../tree/tree.js';
import type { Owner } from './layer-pool.js';
import type { VaultPaths } from './layout.js';
import type { Store } from './store.js';

/** A vault by itself: nothing of it is locked. */
export interface VaultAccess {
  readonly id: string;
  readonly paths: VaultPaths;
  readonly store: Store;
  readonly tree: Tree;
  readonly owner: Owner;
}
