/** The workspace's own `.ctx/`: shown read-only, and the file in it that names sibling repositories. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import { parseWorkspace, type WorkspaceFile } from '../../authority/workspace-file.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { fromSystemError, hasCode } from '../../base/errno.js';
import { workspaceFileBytes } from '../../base/limits/store.js';
import { readSmallFile } from '../../base/small-file.js';

export interface WorkspaceMetadata {
  readonly directory: string | undefined;
  readonly workspace: WorkspaceFile | undefined;
}

/** A `.ctx` that is a link is not the workspace's own: it leads wherever whoever made it liked. */
export function workspaceMetadata(origin: string): WorkspaceMetadata {
  const directory = join(origin, '.ctx');
  if (canonicalPath(directory) !== directory || !statSync(directory).isDirectory()) {
    return { directory: undefined, workspace: undefined };
  }
  const file = join(directory, 'workspace.json');
  if (!contains(directory, canonicalPath(file) ?? directory)) return { directory, workspace: undefined };
  try {
    return { directory, workspace: parseWorkspace(readSmallFile(file, workspaceFileBytes), file, origin) };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return { directory, workspace: undefined };
    throw fromSystemError(error, 'read', file);
  }
}

/**
 * Where a listed repository really stands. The list comes with the workspace: what it calls a repository has to be one.
 * A pool of worktrees grants nothing, so a directory is enough.
 */
export function repositoryFinder(workspace: WorkspaceFile | undefined): (path: string) => string | undefined {
  const repositories = new Set(workspace?.repositories.map(({ path }) => path));
  return (path) => {
    const found = canonicalPath(path);
    if (found === undefined || !statSync(found).isDirectory()) return undefined;
    return repositories.has(path) && canonicalPath(join(found, '.git')) === undefined ? undefined : found;
  };
}
