/** A store of an older format is migrated by the first verb that opens it, whichever that is. */
import { harmlessOutput } from './base/visible-text.js';
import { isOlderStore } from './vault/store/store.js';

/** What `compose` makes, on a store of this format. */
export async function onMigratedStore<T>(compose: () => T): Promise<T> {
  try {
    return compose();
  } catch (error) {
    if (!isOlderStore(error)) throw error;
    const { migrateStore } = await import('./vault/migration/migrate-store.js');
    const done = migrateStore(error.olderStore);
    if (done !== undefined) {
      const again = done.resumed ? 'a migration that was cut off is done: ' : '';
      const undo = 'ctx vault migrate --undo takes that back until a command has run';
      const text = `${again}the store ${error.olderStore} was of format ${done.from} and is now of format ${done.to}; ${undo}`;
      process.stderr.write(harmlessOutput(`ctx: ${text}\n`));
    }
    return compose();
  }
}
