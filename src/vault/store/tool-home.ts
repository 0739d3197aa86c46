/** The home that a tool's server keeps from start to start, for each user that it is inside: STORE/tool/NAME/UID. */
import { join } from 'node:path';
import { fromSystemError } from '../../base/errno.js';
import { makeDirectory } from '../../base/make-directory.js';
import { give, type Owner } from './layer-pool.js';
import { storePaths } from './layout.js';

/** Of every user. */
export function toolHomes(store: string, name: string): string {
  return join(storePaths(store).toolHomes, name);
}

/** Made where it is not there. Several at once may ask: it is never replaced. */
export function toolHome(store: string, name: string, owner: Owner): string {
  const home = join(toolHomes(store, name), String(owner.uid));
  try {
    makeDirectory(home);
    give(home, owner);
  } catch (error) {
    throw fromSystemError(error, 'make the home of a tool', home);
  }
  return home;
}
