/** Which changes of a fork are sensitive: by their names, by their texts, and by what the person's directories are. */
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { encodePath } from '../base/path-bytes.js';
import { readChanges } from './changes.js';
import { workspaceRoot } from './layout.js';
import type { Roots } from './root-paths.js';
import { isDecidedByText, nameInRepository, sensitivity } from './sensitive.js';
import type { Change } from './tree.js';
import type { OpenFork } from './vault.js';

export interface Sensitive {
  readonly path: string;
  readonly why: string;
}

/** Asked of the person's own directories, each once. */
function repositoriesOf(roots: Roots): (directory: string) => boolean {
  const known = new Map<string, boolean>();
  return (directory) => {
    let found = known.get(directory);
    if (found === undefined) {
      found = existsSync(encodePath(posix.resolve(roots[workspaceRoot] ?? '/', directory, 'HEAD')));
      known.set(directory, found);
    }
    return found;
  };
}

/** Sensitive changes among these, with the reason. Texts are read only where they decide. */
export async function sensitiveChanges(fork: OpenFork, changes: readonly Change[]): Promise<readonly Sensitive[]> {
  const isRepository = repositoriesOf(fork.vault.roots);
  const names = new Map(changes.map(({ path }) => [path, nameInRepository(path, isRepository)]));
  const nameOf = ({ path }: Change) => names.get(path) ?? path;
  const unclear = changes.filter((change) => isDecidedByText(nameOf(change)) && change.kind !== 'deleted');
  const texts = new Map((await readChanges(fork, unclear)).map((text) => [text.change.path, text]));
  return changes.flatMap((change) => {
    const text = texts.get(change.path);
    const why = sensitivity({ ...change, path: nameOf(change) }, text?.before, text?.after);
    return why === undefined ? [] : [{ path: change.path, why }];
  });
}
