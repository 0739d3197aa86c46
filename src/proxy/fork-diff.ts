/** What a fork changes, chosen by paths, and as much of it as is read at once. */
import { filesDiffedAtOnce } from '../base/limits.js';
import type { TextChange } from '../vault/changes.js';
import { isRepositoryData } from '../vault/repository-data.js';
import type { Change } from '../vault/tree.js';
import { type ForkStatus, type LookRequest, lookAtFork, readFork } from './fork-verbs.js';
import { type Host, placeOf } from './host.js';
import { shownFrom } from './shown-from.js';

export interface DiffRequest extends LookRequest {
  /** Files or directories as somebody in `cwd` means them; without any, everything. */
  readonly paths: readonly string[];
}

export interface ForkDiff {
  readonly status: ForkStatus;
  readonly texts: readonly TextChange[];
  /** Files that differ too, and were not read. */
  readonly left: number;
}

function chosen({ changes }: ForkStatus, roots: readonly string[]): readonly Change[] {
  if (roots.length === 0) return changes;
  return changes.filter(({ path }) =>
    roots.some((root) => root === '.' || path === root || path.startsWith(`${root}/`)),
  );
}

/** What can be read as text. Git's bookkeeping is not for reading; whoever names it gets it. */
function readable(status: ForkStatus, roots: readonly string[]): readonly Change[] {
  return chosen(status, roots).filter(
    (change) => change.type !== 'directory' && (roots.length > 0 || !isRepositoryData(change)),
  );
}

export async function changedPaths(host: Host, { paths, ...request }: DiffRequest): Promise<ForkStatus> {
  const roots = shownFrom(placeOf(host, request.cwd), paths);
  const status = await lookAtFork(host, { ...request, about: roots });
  return { ...status, changes: chosen(status, roots) };
}

export async function diffOfFork(host: Host, { paths, ...request }: DiffRequest): Promise<ForkDiff> {
  const roots = shownFrom(placeOf(host, request.cwd), paths);
  const { status, texts } = await readFork(host, { ...request, about: roots }, (found) =>
    readable(found, roots).slice(0, filesDiffedAtOnce),
  );
  const left = readable(status, roots).length - texts.length;
  return { status: { ...status, changes: chosen(status, roots) }, texts, left };
}
