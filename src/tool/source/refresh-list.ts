/** The tools of a source as its server says them now, on the disk: for two who ask at once, too, and where the source goes meanwhile. */
import { ErrnoError } from '../../base/errno.js';
import { replaceToolList, sourceNow } from '../../objects/source/source-store.js';

/** Calls what is given while no other process changes objects. */
export type WhileChanging = <T>(act: () => T) => Promise<T>;

/** Others that write a list each time that its server is asked. */
const mostTries = 10;

/** `ask` gives the list; undefined where nothing is to be written. */
export async function refreshList(
  directory: string,
  changing: WhileChanging,
  ask: () => Promise<string | undefined>,
): Promise<void> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const before = sourceNow(directory);
    const list = await ask();
    if (list === undefined) return;
    if (await changing(() => replaceToolList(directory, before, list))) return;
  }
  throw new ErrnoError('EAGAIN', {
    operation: 'list the tools',
    path: directory,
    reason: `another process wrote the list each of ${mostTries} times that the server was asked for it`,
  });
}
