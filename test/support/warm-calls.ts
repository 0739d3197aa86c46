/**
 * Calls of a warm stage are run by a keeper, as those of a person are: such a call takes less than half of the
 * processor time of one that starts Node. A keeper costs as much as ten calls before it serves one, so a run of the
 * tests has one for each user: its socket gets a second name in the store of each stage. What a keeper does for a
 * call depends on the request alone, not on where its socket was found.
 */
import { chownSync, existsSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { keeperOf, keeperOn, leaveKeeper, placesIn } from './keeper.js';
import { checkout } from './program.js';
import type { Stage } from './stage.js';
import { isRoot, type TestUser } from './users.js';

/** Made by `scripts/test.mjs`, which ends the keepers; without it every call starts Node. */
const place = process.env['CTX_TEST_KEEPERS'];

function ownDirectory(user: TestUser, path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (isRoot) chownSync(path, user.uid, user.gid);
}

/** The store of the user's keeper, which listens; undefined where it could not be started. */
async function storeOfKeeper(stage: Stage, keepers: string): Promise<string | undefined> {
  const store = join(keepers, String(stage.user.uid));
  const failed = `${store}.failed`;
  ownDirectory(stage.user, store);
  if (keeperOf(store) !== undefined) return store;
  if (existsSync(failed)) return undefined;
  try {
    await leaveKeeper(store, () => stage.ctx(stage.home, ['ps'], { env: { ...keeperOn, CTX_DATA: store } }));
    return store;
  } catch (error) {
    writeFileSync(failed, `${error}\n`);
    return undefined;
  }
}

/** Whether calls of the stage find a keeper from now on. */
export async function findsKeeper(stage: Stage): Promise<boolean> {
  // A copy of the product, for a user who cannot reach the checkout, is another build.
  if (place === undefined || stage.program !== join(checkout, 'bin', 'ctx')) return false;
  const store = await storeOfKeeper(stage, place);
  const found = placesIn(store ?? '').find((each) => existsSync(join(each, 'socket')));
  if (found === undefined) return false;
  const own = join(stage.store, 'keeper');
  ownDirectory(stage.user, own);
  ownDirectory(stage.user, join(own, basename(found)));
  linkSync(join(found, 'socket'), join(own, basename(found), 'socket'));
  return true;
}
