/** Which changes of a fork are sensitive: by their names, by their texts, and by what the person's directories are. */
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { gitConfigurationBytes } from '../base/limits.js';
import { encodePath } from '../base/path-bytes.js';
import { readSmallFile } from '../base/small-file.js';
import { readChanges } from './changes.js';
import { obeyedPaths } from './git-configuration.js';
import { workspaceRoot } from './layout.js';
import type { Roots } from './root-paths.js';
import { isDecidedByText, nameInRepository, sensitivity } from './sensitive.js';
import type { Change } from './tree.js';
import type { OpenFork } from './vault.js';

export interface Sensitive {
  readonly path: string;
  readonly why: string;
}

const contains = (outer: string, inner: string) => inner === outer || inner.startsWith(`${outer}/`);

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

/** Absolute paths that the configuration of the person's repositories names. Theirs to trust; what cannot be read names nothing. */
function obeyedIn(roots: Roots): readonly string[] {
  const top = roots[workspaceRoot] ?? '/';
  const repositories = Object.values(roots).flatMap((root) => [posix.join(root, '.git'), root]);
  return repositories.flatMap((repository) => {
    try {
      const text = readSmallFile(posix.join(repository, 'config'), gitConfigurationBytes);
      const { hooks, included } = obeyedPaths(text);
      // As git resolves them: hooks from where they run, files from the one that names them.
      return [
        ...hooks.map((path) => posix.resolve(top, path)),
        ...included.map((path) => posix.resolve(repository, path)),
      ];
    } catch {
      return [];
    }
  });
}

/** Sensitive changes among these, with the reason. Texts are read only where they decide. */
export async function sensitiveChanges(fork: OpenFork, changes: readonly Change[]): Promise<readonly Sensitive[]> {
  const isRepository = repositoriesOf(fork.vault.roots);
  const named = obeyedIn(fork.vault.roots);
  const top = fork.vault.roots[workspaceRoot] ?? '/';
  const obeyed = ({ kind, type, path }: Change): string | undefined => {
    if (kind === 'deleted' || type === 'directory' || named.length === 0) return undefined;
    const whole = posix.resolve(top, path);
    // A link above it leads git elsewhere.
    const isNamed = named.some((each) => contains(each, whole) || (type === 'symlink' && contains(whole, each)));
    return isNamed ? 'your git configuration names it, or the directory it is in' : undefined;
  };
  const names = new Map(changes.map(({ path }) => [path, nameInRepository(path, isRepository)]));
  const nameOf = ({ path }: Change) => names.get(path) ?? path;
  const unclear = changes.filter((change) => isDecidedByText(nameOf(change)) && change.kind !== 'deleted');
  const texts = new Map((await readChanges(fork, unclear)).map((text) => [text.change.path, text]));
  return changes.flatMap((change) => {
    const text = texts.get(change.path);
    const why = sensitivity({ ...change, path: nameOf(change) }, text?.before, text?.after) ?? obeyed(change);
    return why === undefined ? [] : [{ path: change.path, why }];
  });
}
